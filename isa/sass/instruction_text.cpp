// Machine instructions as text, the way nvdisasm prints them, and back.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "isa/sass/instruction.h"

namespace heddle::sass {
namespace {

/// The format of floating-point immediates.
enum class Immediate : std::uint8_t { single, half, bfloat, upper_double };

Immediate immediate_format(const Instruction& n) {
    const std::string& name = n.mnemonic;
    if (name[0] == 'D') return Immediate::upper_double;
    const bool of_halves = name[0] == 'H' || name == "VHMNMX";
    if (of_halves) return n.has("BF16_V2") || n.has("BF16") ? Immediate::bfloat : Immediate::half;
    if (name == "F2F" || name == "F2I" || name == "FRND" || name == "MUFU") {
        if (n.has("F64") || n.has("RCP64H") || n.has("RSQ64H")) return Immediate::upper_double;
        if (n.has("F16")) return Immediate::half;
    }
    return Immediate::single;
}

std::uint64_t bits_of_number(double value, Immediate format) {
    switch (format) {
        case Immediate::single:
            return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        case Immediate::half:
            return numerics::fp32_to_fp16(static_cast<float>(value));
        case Immediate::bfloat:
            return numerics::fp32_to_bf16(static_cast<float>(value));
        case Immediate::upper_double:
            break;
    }
    return std::bit_cast<std::uint64_t>(value) >> 32;
}

std::uint64_t bits_of_special(std::string_view word, Immediate format) {
    const bool negative = word[0] == '-';
    const bool infinite = word.find("INF") != std::string_view::npos;
    const bool quiet = word.find("QNAN") != std::string_view::npos;
    std::uint64_t bits = 0;
    switch (format) {
        case Immediate::single:
            bits = infinite ? 0x7F800000u : quiet ? 0x7FFFFFFFu : 0x7FBFFFFFu;
            return negative ? bits | 0x80000000u : bits;
        case Immediate::half:
            bits = infinite ? 0x7C00u : quiet ? 0x7FFFu : 0x7DFFu;
            return negative ? bits | 0x8000u : bits;
        case Immediate::bfloat:
            bits = infinite ? 0x7F80u : quiet ? 0x7FFFu : 0x7FBFu;
            return negative ? bits | 0x8000u : bits;
        case Immediate::upper_double:
            bits = infinite ? 0x7FF00000u : quiet ? 0x7FFFFFFFu : 0x7FF7FFFFu;
            return negative ? bits | 0x80000000u : bits;
    }
    return bits;
}

double number_of_bits(std::uint64_t bits, Immediate format) {
    switch (format) {
        case Immediate::single:
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        case Immediate::half:
            return numerics::fp16_to_fp32(static_cast<std::uint16_t>(bits));
        case Immediate::bfloat:
            return numerics::bf16_to_fp32(static_cast<std::uint16_t>(bits));
        case Immediate::upper_double:
            break;
    }
    return std::bit_cast<double>(bits << 32);
}

std::string text_of_number(std::uint64_t bits, Immediate format) {
    const double value = number_of_bits(bits, format);
    if (std::isnan(value)) {
        const unsigned quiet_bit = format == Immediate::single ? 22 : format == Immediate::half ? 9 : format == Immediate::bfloat ? 6 : 19;
        return std::string(std::signbit(value) ? "-" : "+") + ((bits >> quiet_bit & 1u) != 0 ? "QNAN" : "SNAN");
    }
    if (std::isinf(value)) return value < 0 ? "-INF" : "+INF";
    if (value == 0) return std::signbit(value) ? "-0.0" : "0";
    char text[64];
    // Large numbers are written with an exponent and with 20 digits behind the point.
    constexpr double kPlain = 1e9;
    std::snprintf(text, sizeof text, std::fabs(value) >= kPlain ? "%.20e" : "%.20g", value);
    return text;
}

[[noreturn]] void fail(std::string_view text, std::string_view token, const std::string& problem) {
    throw Error(problem, {"", 0, std::string(token) + " in `" + std::string(text) + "`"});
}

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Reads one operand.
class OperandText {
  public:
    OperandText(std::string_view whole, std::string_view text, const Instruction& instruction)
        : whole_(whole), text_(text), instruction_(instruction) {}

    Operand read() {
        Operand result;
        std::string_view rest = text_;
        while (!rest.empty() && (rest[0] == '-' || rest[0] == '~' || rest[0] == '!' || rest[0] == '+')) {
            if (is_number(rest)) break;
            (rest[0] == '-' ? result.negated : rest[0] == '~' ? result.inverted : rest[0] == '!' ? result.negated : plus_) = true;
            rest.remove_prefix(1);
        }
        if (plus_) fail(whole_, text_, "a plus sign before what is no number");
        if (!rest.empty() && rest[0] == '|') {
            const std::size_t end = rest.find('|', 1);
            if (end == std::string_view::npos) fail(whole_, text_, "an absolute value has no end");
            result.absolute = true;
            body(rest.substr(1, end - 1), result);
            suffixes(rest.substr(end + 1), result);
            return result;
        }
        body(rest, result);
        return result;
    }

  private:
    static bool is_number(std::string_view text) {
        const std::size_t sign = text[0] == '-' || text[0] == '+' ? 1 : 0;
        const std::string_view rest = text.substr(sign);
        if (rest.starts_with("INF") || rest.starts_with("QNAN") || rest.starts_with("SNAN")) return true;
        return !rest.empty() && rest[0] >= '0' && rest[0] <= '9' && rest.back() != 'D';  // 2D is a texture's geometry
    }

    void suffixes(std::string_view text, Operand& result) const {
        while (!text.empty()) {
            if (text[0] != '.') fail(whole_, text_, "expected a suffix");
            const std::size_t end = std::min(text.find('.', 1), text.size());
            const std::string_view one = text.substr(1, end - 1);
            if (one == "reuse")
                result.reuse = true;
            else
                result.suffixes.emplace_back(one);
            text.remove_prefix(end);
        }
    }

    void body(std::string_view text, Operand& result) const {
        if (text.empty()) fail(whole_, text_, "an operand is missing");
        if (is_number(text)) return number(text, result);
        if (text.starts_with("c[") || text.starts_with("cx[")) return constant(text, result);
        if (text[0] == '[' || text.starts_with("desc[") || text.starts_with("gdesc[") || text.starts_with("idesc[") || text.starts_with("tmem[")) return address(text, result);
        if (text.front() == '`' || text.starts_with("(.L")) {
            result.kind = OperandKind::target;
            result.name = text;
            return;
        }
        if (text.starts_with("SR_") || text == "SRZ") {
            result.kind = OperandKind::special;
            result.name = text;
            return;
        }
        const std::size_t dot = std::min(text.find('.'), text.size());
        if (!named_register(text.substr(0, dot), result)) {
            result.kind = OperandKind::word;
            result.name = text;
            return;
        }
        suffixes(text.substr(dot), result);
    }

    static bool named_register(std::string_view name, Operand& result) {
        const auto take = [&](std::string_view prefix, std::string_view last, OperandKind kind, std::uint16_t last_index) {
            if (name == last) {
                result.index = last_index;
            } else if (name.starts_with(prefix) && all_digits(name.substr(prefix.size()))) {
                std::from_chars(name.data() + prefix.size(), name.data() + name.size(), result.index);
            } else {
                return false;
            }
            result.kind = kind;
            return true;
        };
        return take("R", "RZ", OperandKind::general, kZeroRegister) || take("UR", "URZ", OperandKind::uniform, kZeroUniformRegister) ||
               take("P", "PT", OperandKind::predicate, kTruePredicate) || take("UP", "UPT", OperandKind::uniform_predicate, kTruePredicate) ||
               take("SB", "SBZ", OperandKind::scoreboard, 0) || take("B", "BZ", OperandKind::convergence, 0);
    }

    std::int64_t integer(std::string_view text) const {
        bool negative = false;
        while (!text.empty() && (text[0] == '+' || text[0] == '-')) {
            negative = negative != (text[0] == '-');
            text.remove_prefix(1);
        }
        std::uint64_t value = 0;
        const bool hexadecimal = text.starts_with("0x");
        if (hexadecimal) text.remove_prefix(2);
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
        if (problem != std::errc{} || end != text.data() + text.size()) fail(whole_, text_, "expected a number");
        return static_cast<std::int64_t>(negative ? ~value + 1 : value);
    }

    void number(std::string_view text, Operand& result) const {
        if (text.find("0x") != std::string_view::npos) {
            result.kind = OperandKind::integer;
            result.value = integer(text);
            return;
        }
        result.kind = OperandKind::floating;
        const Immediate format = immediate_format(instruction_);
        if (text.find('N') != std::string_view::npos) {
            result.value = static_cast<std::int64_t>(bits_of_special(text, format));
            return;
        }
        if (text[0] == '+') text.remove_prefix(1);
        double value = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool tiny = problem == std::errc::result_out_of_range;
        if ((problem != std::errc{} && !tiny) || end != text.data() + text.size()) fail(whole_, text_, "expected a number");
        result.value = static_cast<std::int64_t>(bits_of_number(value, format));
    }

    /// What stands between brackets: registers and a number, added.
    void sum(std::string_view text, Operand& result) const {
        while (!text.empty()) {
            std::size_t end = text.find('+', 1);
            end = std::min(end, text.size());
            std::string_view term = text.substr(0, end);
            text.remove_prefix(end);
            if (term[0] == '+') term.remove_prefix(1);
            if (term.empty()) fail(whole_, text_, "a term of an address is missing");
            Operand one;
            const std::size_t dot = std::min(term.find('.'), term.size());
            if (named_register(term.substr(0, dot), one)) {
                suffixes(term.substr(dot), one);
                if (one.kind == OperandKind::general && result.base == kZeroRegister) {
                    result.base = one.index;
                    // RZ leaves no trace but its suffixes.
                    result.suffixes.insert(result.suffixes.end(), one.suffixes.begin(), one.suffixes.end());
                } else if (one.kind == OperandKind::uniform) {
                    result.uniform_base = one.index;
                } else {
                    fail(whole_, text_, "an address of two general registers");
                }
            } else {
                result.value += integer(term);
            }
        }
    }

    void constant(std::string_view text, Operand& result) const {
        result.kind = OperandKind::constant;
        const std::size_t open = text.find('['), close = text.find(']');
        const std::size_t second = text.find('[', open + 1), end = second == std::string_view::npos ? second : text.find(']', second);
        if (close == std::string_view::npos || end == std::string_view::npos) fail(whole_, text_, "expected c[bank][offset]");
        const std::string_view bank = text.substr(open + 1, close - open - 1);
        if (text[1] == 'x') {
            Operand descriptor;
            if (!named_register(bank, descriptor)) fail(whole_, text_, "expected a uniform register");
            result.bank = 0xFF;
            result.descriptor = descriptor.index;
        } else {
            result.bank = static_cast<std::uint8_t>(integer(bank));
        }
        sum(text.substr(second + 1, end - second - 1), result);
        suffixes(text.substr(end + 1), result);
    }

    void address(std::string_view text, Operand& result) const {
        result.kind = OperandKind::address;
        if (text[0] == 't') {
            result.name = "tmem";
            text.remove_prefix(4);
        }
        if (text[0] == 'd' || text[0] == 'g' || text[0] == 'i') {
            const bool matrix = text[0] != 'd';
            const std::size_t open = text.find('['), close = text.find(']');
            if (close == std::string_view::npos) fail(whole_, text_, "a bracket is not closed");
            Operand descriptor;
            if (!named_register(text.substr(open + 1, close - open - 1), descriptor)) fail(whole_, text_, "expected a uniform register");
            result.descriptor = descriptor.index;
            text.remove_prefix(close + 1);
            if (matrix) {
                result.name = text_[0] == 'i' ? "idesc" : "gdesc";
                return suffixes(text, result);
            }
            if (text.empty()) return;
        }
        const std::size_t close = text.find(']');
        if (text[0] != '[' || close == std::string_view::npos) fail(whole_, text_, "expected an address in brackets");
        sum(text.substr(1, close - 1), result);
        suffixes(text.substr(close + 1), result);
    }

    std::string_view whole_, text_;
    const Instruction& instruction_;
    bool plus_ = false;
};

std::string_view trimmed_view(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

/// Operands end at commas and spaces outside of brackets; an address may follow another one without either.
std::vector<std::string_view> split_operands(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '[' || text[i] == '{' || text[i] == '(') ++depth;
        if (text[i] == ']' || text[i] == '}' || text[i] == ')') --depth;
        if (depth != 0 || (text[i] != ',' && text[i] != ' ')) continue;
        if (const std::string_view part = trimmed_view(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
        begin = i + 1;
    }
    if (const std::string_view last = trimmed_view(text.substr(begin)); !last.empty()) parts.push_back(last);
    return parts;
}

/// The length of the operand at the beginning of `part` when another follows it without a comma: [R4][R2.64].
std::size_t first_of_two(std::string_view part) {
    if (part[0] != '[') return part.size();
    const std::size_t close = part.find(']');
    if (close == std::string_view::npos || close + 1 >= part.size()) return part.size();
    const std::string_view rest = part.substr(close + 1);
    const std::string_view next = trimmed_view(rest);
    return next[0] == '[' || next.starts_with("desc[") ? close + 1 : part.size();
}

std::string register_text(OperandKind kind, std::uint16_t index) {
    switch (kind) {
        case OperandKind::general:
            return index == kZeroRegister ? "RZ" : "R" + std::to_string(index);
        case OperandKind::uniform:
            return index == kZeroUniformRegister ? "URZ" : "UR" + std::to_string(index);
        case OperandKind::predicate:
            return index == kTruePredicate ? "PT" : "P" + std::to_string(index);
        case OperandKind::uniform_predicate:
            return index == kTruePredicate ? "UPT" : "UP" + std::to_string(index);
        case OperandKind::convergence:
            return "B" + std::to_string(index);
        default:
            return "SB" + std::to_string(index);
    }
}

std::string hexadecimal(std::int64_t value) {
    char text[32];
    const bool negative = value < 0;
    const std::uint64_t size = negative ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
    std::snprintf(text, sizeof text, "%s0x%llx", negative ? "-" : "", static_cast<unsigned long long>(size));
    return text;
}

std::string sum_text(const Operand& operand) {
    std::string text;
    const auto add = [&](const std::string& term) { text += (text.empty() ? "" : "+") + term; };
    const bool bare = operand.base == kZeroRegister && operand.uniform_base == kZeroUniformRegister;
    if (operand.base != kZeroRegister || (bare && operand.kind == OperandKind::address && operand.value == 0)) {
        std::string base = register_text(OperandKind::general, operand.base);
        if (operand.kind == OperandKind::address)
            for (const std::string& one : operand.suffixes) base += "." + one;
        add(base);
    }
    if (operand.uniform_base != kZeroUniformRegister) add(register_text(OperandKind::uniform, operand.uniform_base));
    if (operand.value != 0 || text.empty()) add(hexadecimal(operand.value));
    return text;
}

std::string operand_text(const Operand& operand, const Instruction& instruction) {
    std::string body;
    bool suffixes = true;
    switch (operand.kind) {
        case OperandKind::integer:
            return (operand.negated ? "-" : "") + hexadecimal(operand.value);
        case OperandKind::floating:
            return (operand.negated ? "-" : "") + text_of_number(static_cast<std::uint64_t>(operand.value), immediate_format(instruction));
        case OperandKind::constant:
            body = operand.bank == 0xFF ? "cx[" + register_text(OperandKind::uniform, operand.descriptor) + "]"
                                        : "c[" + hexadecimal(operand.bank) + "]";
            body += "[" + sum_text(operand) + "]";
            break;
        case OperandKind::address:
            if (operand.name == "gdesc" || operand.name == "idesc") {
                body = operand.name + "[" + register_text(OperandKind::uniform, operand.descriptor) + "]";
                break;
            }
            if (operand.descriptor != kZeroUniformRegister) body = "desc[" + register_text(OperandKind::uniform, operand.descriptor) + "]";
            body += operand.name + "[" + sum_text(operand) + "]";
            suffixes = false;
            break;
        case OperandKind::target:
            if (operand.name.empty()) return hexadecimal(operand.value);
            return operand.suffixes.empty() ? operand.name : operand.suffixes[0] + "(" + operand.name + ")";
        case OperandKind::special:
        case OperandKind::word:
        case OperandKind::none:
            body = operand.name;
            break;
        default:
            body = register_text(operand.kind, operand.index);
            break;
    }
    if (operand.absolute) body = "|" + body + "|";
    if (operand.reuse) body += ".reuse";
    if (suffixes)
        for (const std::string& one : operand.suffixes) body += "." + one;
    const bool predicate = operand.kind == OperandKind::predicate || operand.kind == OperandKind::uniform_predicate;
    if (operand.inverted) body = "~" + body;
    if (operand.negated) body = (predicate ? "!" : "-") + body;
    return body;
}

}  // namespace

std::string text_of(const Instruction& instruction) {
    std::string text;
    if (instruction.guard_kind != OperandKind::none)
        text = std::string("@") + (instruction.guard_negated ? "!" : "") + register_text(instruction.guard_kind, instruction.guard) + " ";
    text += instruction.mnemonic;
    for (const std::string& one : instruction.modifiers) text += "." + one;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i)
        text += (i == 0 ? " " : ", ") + operand_text(instruction.operands[i], instruction);
    return text;
}

Instruction parse_instruction(std::string_view text) {
    // Some instructions have a space within a constant: c[0x0] [0x160].
    if (const std::size_t gap = text.find("] ["); gap != std::string_view::npos) {
        std::string joined(text);
        joined.erase(gap + 1, 1);
        return parse_instruction(joined);
    }
    const std::string_view whole = trimmed_view(text);
    std::string_view rest = whole;
    Instruction result;
    if (rest.starts_with("@")) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        std::string_view guard = rest.substr(1, end - 1);
        if (guard.starts_with("!")) {
            result.guard_negated = true;
            guard.remove_prefix(1);
        }
        const Operand named = OperandText(whole, guard, result).read();
        if (named.kind != OperandKind::predicate && named.kind != OperandKind::uniform_predicate) fail(whole, guard, "expected a predicate");
        result.guard_kind = named.kind;
        result.guard = named.index;
        rest = trimmed_view(rest.substr(end));
    }
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string_view opcode = rest.substr(0, end);
    if (opcode.empty()) fail(whole, whole, "expected an opcode");
    for (bool first = true; !opcode.empty(); first = false) {
        const std::size_t dot = std::min(opcode.find('.'), opcode.size());
        if (first)
            result.mnemonic = opcode.substr(0, dot);
        else
            result.modifiers.emplace_back(opcode.substr(0, dot));
        opcode.remove_prefix(std::min(dot + 1, opcode.size()));
    }
    for (std::string_view part : split_operands(rest.substr(end))) {
        while (!part.empty()) {
            const std::size_t length = first_of_two(part);
            result.operands.push_back(OperandText(whole, trimmed_view(part.substr(0, length)), result).read());
            part = trimmed_view(part.substr(length));
        }
    }
    static constexpr std::string_view kJumps[] = {"BRA", "BSSY", "CALL", "RET", "JMP", "WARPSYNC"};
    for (const std::string_view jump : kJumps) {
        if (result.mnemonic != jump || result.operands.empty()) continue;
        Operand& last = result.operands.back();
        if (last.kind == OperandKind::integer || last.kind == OperandKind::word) last.kind = OperandKind::target;
    }
    return result;
}

}  // namespace heddle::sass
