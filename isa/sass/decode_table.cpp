#include "isa/sass/decode_table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle::sass {
namespace {

const char kDecodeRows[] =
#include "isa/sass/encoding/decode_rows.inc"
    ;

/// What of an operand a field says.
enum class Member : std::uint8_t { index, base, uniform_base, descriptor, bank, value, negated, inverted, absolute, reuse };

/// How the bits of a field are read.
enum class Reading : std::uint8_t { plain, uniform, inverted, is_signed, relative };

/// Bits of a number: `width` bits at `position` are added, `shift` bits to the left.
struct Segment {
    std::uint8_t position = 0, width = 0, shift = 0;
};

struct Field {
    std::uint8_t operand = 0;
    Member member = Member::index;
    Reading reading = Reading::plain;
    std::uint8_t width = 0;  ///< of the number
    std::vector<Segment> segments;
};

/// What rows have in common whose words differ in the bits that choose modifiers alone.
struct Form {
    std::array<std::uint64_t, 2> mask{};
    OperandKind guard = OperandKind::none;
    std::string operands;
    std::vector<Field> fields;
};

struct DecodeRow {
    std::shared_ptr<const Form> form;
    std::array<std::uint64_t, 2> value{};
    Instruction sample;
    bool claims(const std::array<std::uint64_t, 2>& code) const {
        return (code[0] & form->mask[0]) == value[0] && (code[1] & form->mask[1]) == value[1];
    }
    /// Rows are asked in this order: those that ask for most bits first.
    std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t> order() const {
        return {-std::popcount(form->mask[0]) - std::popcount(form->mask[1]), form->mask[1], form->mask[0], value[1], value[0]};
    }
};

constexpr std::size_t kOpcodes = 4096;  // bits 0 to 11
using Rows = std::array<std::vector<DecodeRow>, kOpcodes>;

std::string_view take_until(std::string_view& text, char end) {
    const std::size_t size = std::min(text.find(end), text.size());
    const std::string_view head = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    return head;
}

std::int64_t table_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data() + (negative ? 1 : 0), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size())
        throw std::logic_error("the decoder's table has " + std::string(text) + " where a number belongs");
    return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

std::array<std::uint64_t, 2> table_word(std::string_view text) {
    std::array<std::uint64_t, 2> word{};
    const std::size_t low = std::min<std::size_t>(text.size(), 16);
    std::from_chars(text.data() + text.size() - low, text.data() + text.size(), word[0], 16);
    std::from_chars(text.data(), text.data() + text.size() - low, word[1], 16);
    return word;
}

Member member_named(std::string_view name) {
    constexpr std::array<std::string_view, 10> kNames = {"index", "base",    "uniform_base", "descriptor", "bank",
                                                         "value", "negated", "inverted",     "absolute",   "reuse"};
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == name) return static_cast<Member>(i);
    throw std::logic_error("the decoder's table has the unknown member " + std::string(name));
}

void set_member(Operand& operand, Member member, std::int64_t value) {
    switch (member) {
        case Member::index:
            operand.index = static_cast<std::uint16_t>(value);
            break;
        case Member::base:
            operand.base = static_cast<std::uint16_t>(value);
            break;
        case Member::uniform_base:
            operand.uniform_base = static_cast<std::uint16_t>(value);
            break;
        case Member::descriptor:
            operand.descriptor = static_cast<std::uint16_t>(value);
            break;
        case Member::bank:
            operand.bank = static_cast<std::uint8_t>(value);
            break;
        case Member::value:
            operand.value = value;
            break;
        case Member::negated:
            operand.negated = value != 0;
            break;
        case Member::inverted:
            operand.inverted = value != 0;
            break;
        case Member::absolute:
            operand.absolute = value != 0;
            break;
        case Member::reuse:
            operand.reuse = value != 0;
            break;
    }
}

/// Takes "2.negated=" from the front of a field.
std::pair<std::uint8_t, Member> take_place(std::string_view& text) {
    const auto operand = static_cast<std::uint8_t>(table_number(take_until(text, '.')));
    return {operand, member_named(take_until(text, '='))};
}

/// Reads "2.value=s:34:6:2+64:18:8".
Field read_field(std::string_view text) {
    Field field;
    std::tie(field.operand, field.member) = take_place(text);
    const std::string_view kind = take_until(text, ':');
    field.reading = kind == "u"   ? Reading::uniform
                    : kind == "n" ? Reading::inverted
                    : kind == "s" ? Reading::is_signed
                    : kind == "t" ? Reading::relative
                                  : Reading::plain;
    while (!text.empty()) {
        std::string_view one = take_until(text, '+');
        Segment segment;
        segment.position = static_cast<std::uint8_t>(table_number(take_until(one, ':')));
        segment.width = static_cast<std::uint8_t>(table_number(take_until(one, ':')));
        if (!one.empty()) segment.shift = static_cast<std::uint8_t>(table_number(one));
        field.width = std::max(field.width, static_cast<std::uint8_t>(segment.width + segment.shift));
        field.segments.push_back(segment);
    }
    return field;
}

/// Reads "mask guard operands fields" between tabs.
std::shared_ptr<const Form> read_form(std::string_view line) {
    auto form = std::make_shared<Form>();
    form->mask = table_word(take_until(line, '\t'));
    const std::string_view guard = take_until(line, '\t');
    form->guard = guard == "P" ? OperandKind::predicate : guard == "U" ? OperandKind::uniform_predicate : OperandKind::none;
    form->operands = take_until(line, '\t');
    while (!line.empty()) form->fields.push_back(read_field(take_until(line, ' ')));
    return form;
}

/// Reads "value opcode numbers", where numbers are "2.value=8" for what is no field.
DecodeRow read_row(std::string_view line, const std::shared_ptr<const Form>& form) {
    DecodeRow row;
    row.form = form;
    row.value = table_word(take_until(line, '\t'));
    std::string text(take_until(line, '\t'));
    if (!form->operands.empty()) text += " " + form->operands;
    row.sample = parse_instruction(text);
    const auto operand_of = [&row](std::uint8_t number) -> Operand& {
        if (number >= row.sample.operands.size()) throw std::logic_error("the decoder's table has a field of no operand");
        return row.sample.operands[number];
    };
    for (Operand& operand : row.sample.operands) operand.uniform_base = kZeroUniformRegister;  // but for those that a field names
    for (const Field& field : form->fields) operand_of(field.operand);
    while (!line.empty()) {
        std::string_view one = take_until(line, ' ');
        const auto [operand, member] = take_place(one);
        const std::int64_t value = table_number(one);
        const bool register_number = member != Member::value && member != Member::bank;
        set_member(operand_of(operand), member, register_number && value < 0 ? kZeroUniformRegister : value);
    }
    return row;
}

Rows read_rows(unsigned compute_capability) {
    Rows rows;
    const std::string wanted = std::to_string(compute_capability);
    std::string_view rest(kDecodeRows, sizeof kDecodeRows - 1);
    std::string_view form_text;
    std::shared_ptr<const Form> form;
    while (!rest.empty()) {
        std::string_view line = take_until(rest, '\n');
        if (line.empty()) continue;
        if (line.starts_with('#')) {
            form_text = line.substr(1);
            form = nullptr;
            continue;
        }
        std::string_view architectures = take_until(line, '\t');
        bool mine = false;
        while (!architectures.empty() && !mine) mine = take_until(architectures, ',') == wanted;
        if (!mine) continue;
        if (form == nullptr) form = read_form(form_text);
        DecodeRow row = read_row(line, form);
        rows[row.value[0] & (kOpcodes - 1)].push_back(std::move(row));
    }
    // Those that ask for most bits come first: exceptions before what they are exceptions of.
    for (auto& of_opcode : rows)
        std::sort(of_opcode.begin(), of_opcode.end(), [](const DecodeRow& a, const DecodeRow& b) { return a.order() < b.order(); });
    return rows;
}

const Rows* rows_of(unsigned compute_capability) {
    static std::mutex mutex;
    static std::map<unsigned, std::unique_ptr<const Rows>> tables;
    const std::lock_guard lock(mutex);
    auto [place, is_new] = tables.try_emplace(compute_capability);
    if (is_new) {
        auto rows = std::make_unique<const Rows>(read_rows(compute_capability));
        if (std::any_of(rows->begin(), rows->end(), [](const auto& of_opcode) { return !of_opcode.empty(); })) place->second = std::move(rows);
    }
    return place->second.get();
}

std::uint64_t bits_of(const std::array<std::uint64_t, 2>& code, unsigned position, unsigned width) {
    std::uint64_t value = position >= 64 ? code[1] >> (position - 64) : code[0] >> position;
    if (position < 64 && position + width > 64) value |= code[1] << (64 - position);
    return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

std::int64_t extended(std::uint64_t value, unsigned width) {
    const unsigned unused = 64 - width;
    return static_cast<std::int64_t>(value << unused) >> unused;
}

std::int64_t field_value(const Field& field, const std::array<std::uint64_t, 2>& code, std::uint64_t address) {
    std::uint64_t raw = 0;
    for (const Segment& segment : field.segments) raw += bits_of(code, segment.position, segment.width) << segment.shift;
    constexpr std::int64_t kInstructionBytes = 16;
    switch (field.reading) {
        case Reading::plain:
            break;
        case Reading::uniform:
            return raw == (std::uint64_t{1} << field.width) - 1 ? kZeroUniformRegister : static_cast<std::int64_t>(raw);
        case Reading::inverted:
            return raw == 0 ? 1 : 0;
        case Reading::is_signed:
            return extended(raw, field.width);
        case Reading::relative:
            return static_cast<std::int64_t>(address) + kInstructionBytes + extended(raw, field.width);
    }
    return static_cast<std::int64_t>(raw);
}

/// Multiplications that do no more than move, add or shift are named so. It follows from the operands, and the rows leave it out.
void name_use_of_multiplication(Instruction& instruction) {
    if (instruction.mnemonic != "IMAD" || instruction.operands.size() != 4 || instruction.has("WIDE") || instruction.has("HI") || instruction.has("X")) return;
    const auto zero = [](const Operand& operand) { return operand.kind == OperandKind::general && operand.index == kZeroRegister; };
    const Operand &a = instruction.operands[1], &b = instruction.operands[2], &c = instruction.operands[3];
    if (b.kind == OperandKind::uniform || c.kind == OperandKind::uniform) return;
    const bool immediate = b.kind == OperandKind::integer;
    constexpr std::int64_t kUpperHalf = 0x10000;  // which is how BF16 becomes FP32, and has no name
    const char* use = nullptr;
    if (zero(a) || zero(b) || (immediate && (b.value == 0 || (b.value == 1 && zero(c)))))
        use = "MOV";
    else if (immediate && b.value == 1)
        use = "IADD";
    else if (immediate && zero(c) && b.value > 0 && b.value != kUpperHalf && std::has_single_bit(static_cast<std::uint64_t>(b.value)))
        use = "SHL";
    if (use != nullptr) instruction.modifiers.insert(instruction.modifiers.begin(), use);
}

}  // namespace

bool has_decode_table(unsigned compute_capability) { return rows_of(compute_capability) != nullptr; }

std::size_t decode_rows(unsigned compute_capability) {
    const Rows* const rows = rows_of(compute_capability);
    std::size_t count = 0;
    if (rows != nullptr)
        for (const auto& of_opcode : *rows) count += of_opcode.size();
    return count;
}

bool decode_by_table(const std::array<std::uint64_t, 2>& code, unsigned compute_capability, std::uint64_t address, Instruction& result) {
    const Rows* const rows = rows_of(compute_capability);
    if (rows == nullptr) return false;
    for (const DecodeRow& row : (*rows)[code[0] & (kOpcodes - 1)]) {
        if (!row.claims(code)) continue;
        const Control control = result.control;
        result = row.sample;
        result.control = control;
        result.address = address;
        const auto guard = static_cast<std::uint16_t>(bits_of(code, 12, 3));
        const bool negated = bits_of(code, 15, 1) != 0;
        if (row.form->guard != OperandKind::none && (guard != kTruePredicate || negated)) {
            result.guard_kind = row.form->guard;
            result.guard = guard;
            result.guard_negated = negated;
        }
        for (const Field& field : row.form->fields) set_member(result.operands[field.operand], field.member, field_value(field, code, address));
        name_use_of_multiplication(result);
        return true;
    }
    return false;
}

}  // namespace heddle::sass
