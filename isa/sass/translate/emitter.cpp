#include "isa/sass/translate/emitter.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "isa/common/error.h"
#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

constexpr unsigned kParameterBank = 0, kCompilerBank = 2, kUserBank = 3, kAddressBank = 4;
constexpr std::int64_t kLargestIndexOffset = 512;  // bytes by which an array in the parameters is read before its beginning
constexpr std::uint32_t kReservedShared = 1024;  // of each thread block from sm_90 on
constexpr std::string_view kSharedWindowUpper = "0x7d00";  // the upper half of generic addresses of shared memory: isa/ptx/machine/machine.h

std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
    return text;
}
std::string literal(std::uint64_t value) {
    return hexadecimal(value & 0xFFFFFFFFu);
}
std::string single(std::uint64_t bits) {
    char text[16];
    std::snprintf(text, sizeof(text), "0f%08llX", static_cast<unsigned long long>(bits & 0xFFFFFFFFu));
    return text;
}
/// Names of PTX have no dots, and no at-signs.
std::string symbol_name(const std::string& name) {
    std::string result;
    for (const char c : name) {
        const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        result += word ? std::string(1, c) : "$" + std::to_string(static_cast<unsigned char>(c)) + "$";
    }
    return result;
}
bool has_sign(const Operand& operand) {
    return operand.negated || operand.absolute || operand.inverted;
}
std::string joined(const std::set<std::string>& names) {
    std::string result;
    for (const std::string& name : names) result += (result.empty() ? "" : ", ") + name;
    return result;
}

}  // namespace

Emitter::Emitter(const Cubin& cubin, const MachineFunction& kernel) : cubin_(cubin), kernel_(kernel) {
    body_.function = &kernel;
}

// --- the instruction

void Emitter::refuse(const std::string& problem) const {
    throw Error("machine code of " + body_.function->name + " at " + hexadecimal(instruction_->address) + ": " + text_of(*instruction_) + ": " + problem,
                {cubin_.file_name, 0, kernel_.name});
}

const Operand& Emitter::operand(std::size_t i) const {
    if (i >= instruction_->operands.size()) refuse("operand " + std::to_string(i + 1) + " is missing");
    return instruction_->operands[i];
}

void Emitter::expect_operands(std::size_t count) const {
    expect_operands(count, count);
}

void Emitter::expect_operands(std::size_t least, std::size_t most) const {
    const std::size_t count = instruction_->operands.size();
    if (count < least || count > most) refuse(std::to_string(count) + " operands are not known here");
}

// --- registers

std::string Emitter::number_register(char kind, const char* prefix, unsigned index) {
    std::string name = prefix + std::to_string(index);
    (kind == 'p' ? predicates_ : kind == 'd' ? pairs_ : kind == 'h' ? halves_ : words_).insert(name);
    return name;
}
std::string Emitter::general(unsigned index) {
    return index == kZeroRegister ? "0" : number_register('r', "%R", index);
}
std::string Emitter::uniform(unsigned index) {
    return index == kZeroUniformRegister ? "0" : number_register('r', "%UR", index);
}
std::string Emitter::temporary() {
    return number_register('r', "%T", temporaries_++);
}
std::string Emitter::half_temporary() {
    return number_register('h', "%H", temporaries_++);
}
std::string Emitter::wide_temporary() {
    return number_register('d', "%D", temporaries_++);
}
std::string Emitter::predicate_temporary() {
    return number_register('p', "%Q", temporaries_++);
}

std::string Emitter::barrier_count() {
    words_.insert("%barrier_count");
    return "%barrier_count";
}
std::string Emitter::barrier_predicate() {
    predicates_.insert("%barrier_predicate");
    return "%barrier_predicate";
}

bool Emitter::is_nowhere(const Operand& operand) {
    switch (operand.kind) {
        case OperandKind::general:
            return operand.index == kZeroRegister;
        case OperandKind::uniform:
            return operand.index == kZeroUniformRegister;
        case OperandKind::predicate:
        case OperandKind::uniform_predicate:
            return operand.index == kTruePredicate;
        default:
            return false;
    }
}

// --- sources

std::string Emitter::word(const Operand& operand, unsigned i, bool floating_pair) {
    switch (operand.kind) {
        case OperandKind::general:
            if (operand.index == kZeroRegister) return "0";
            if (operand.index + i >= kZeroRegister) refuse("register R" + std::to_string(operand.index + i) + " does not exist");
            return general(operand.index + i);
        case OperandKind::uniform:
            return operand.index == kZeroUniformRegister ? "0" : uniform(operand.index + i);
        case OperandKind::integer:
            return i == 0 ? literal(static_cast<std::uint64_t>(operand.value)) : operand.value < 0 ? "0xffffffff" : "0";
        case OperandKind::floating:
            if (!floating_pair) return literal(static_cast<std::uint64_t>(operand.value));
            return i == 0 ? "0" : literal(static_cast<std::uint64_t>(operand.value));
        case OperandKind::constant:
            if (operand.base != kZeroRegister || operand.uniform_base != kZeroUniformRegister) return constant_load(operand, i);
            return constant_word(operand.bank, operand.value + 4 * i);
        case OperandKind::target: {
            if (operand.suffixes.size() != 1 || i != 0) refuse("this operand has no value");
            const std::string address = symbol_address(operand.name, operand.value), half = temporary();
            prepare("mov.b64 " + std::string(operand.suffixes[0] == "LO" ? "{" + half + ", _}" : "{_, " + half + "}") + ", " + address + ";");
            return half;
        }
        default:
            refuse("this operand has no value");
    }
}

std::string Emitter::source(const Operand& operand) {
    if (has_sign(operand)) refuse("a sign is not known on this operand");
    if (operand.kind != OperandKind::target)
        for (const std::string& suffix : operand.suffixes) refuse("." + suffix + " is not known on this operand");
    return word(operand, 0);
}

std::string Emitter::integer_source(const Operand& operand) {
    if (operand.absolute) refuse("an absolute value is not known on this operand");
    Operand plain = operand;
    plain.negated = plain.inverted = false;
    const std::string value = source(plain);
    if (!operand.negated && !operand.inverted) return value;
    if (value == "0") return operand.inverted ? "0xffffffff" : "0";
    std::string result = temporary();
    prepare((operand.inverted ? "not.b32 " : "neg.s32 ") + result + ", " + value + ";");
    return result;
}

std::string Emitter::unsigned_float_source(const Operand& operand) {
    if (operand.inverted) refuse("an inverted number is not known here");
    for (const std::string& suffix : operand.suffixes) refuse("." + suffix + " is not known on this operand");
    if (operand.kind == OperandKind::floating || operand.kind == OperandKind::integer) {
        const auto bits = static_cast<std::uint64_t>(operand.value);
        return single(operand.absolute ? bits & 0x7FFFFFFFu : bits);
    }
    const std::string value = word(operand, 0);
    if (value == "0" || value.starts_with("0x")) return single(std::stoull(value, nullptr, 16) & (operand.absolute ? 0x7FFFFFFFu : 0xFFFFFFFFu));
    if (!operand.absolute) return value;
    std::string result = temporary();
    prepare("and.b32 " + result + ", " + value + ", 0x7fffffff;");
    return result;
}

std::string Emitter::float_source(const Operand& operand) {
    const std::string value = unsigned_float_source(operand);
    if (!operand.negated) return value;
    if (value.starts_with("0f")) return single(std::stoull(value.substr(2), nullptr, 16) ^ 0x80000000u);
    std::string result = temporary();
    prepare("xor.b32 " + result + ", " + value + ", 0x80000000;");
    return result;
}

std::string Emitter::words(const Operand& operand, unsigned count, bool floating_pair) {
    std::string result = "{";
    for (unsigned i = 0; i < count; ++i) result += (i == 0 ? "" : ", ") + word(operand, i, floating_pair);
    return result + "}";
}

std::string Emitter::pair_source(const Operand& operand, bool floating_pair) {
    std::string result = wide_temporary();
    prepare("mov.b64 " + result + ", " + words(operand, 2, floating_pair) + ";");
    return result;
}

std::string Emitter::plain_predicate(const Operand& operand) {
    if (operand.kind != OperandKind::predicate && operand.kind != OperandKind::uniform_predicate) refuse("a predicate is expected");
    if (operand.index == kTruePredicate) return "1";
    return number_register('p', operand.kind == OperandKind::predicate ? "%P" : "%UP", operand.index);
}

std::string Emitter::predicate_source(const Operand& operand) {
    const std::string plain = plain_predicate(operand);
    if (!operand.negated) return plain;
    return plain == "1" ? "0" : "!" + plain;
}

// --- destinations

std::string Emitter::destination(const Operand& operand) {
    return destination_word(operand, 0);
}

std::string Emitter::destination_word(const Operand& operand, unsigned i) {
    if (has_sign(operand)) refuse("a destination has no sign");
    if (operand.kind != OperandKind::general && operand.kind != OperandKind::uniform) refuse("a register is expected as destination");
    return is_nowhere(operand) ? "_" : word(operand, i);
}

std::string Emitter::destination_words(const Operand& operand, unsigned count) {
    std::string result = "{";
    for (unsigned i = 0; i < count; ++i) result += (i == 0 ? "" : ", ") + destination_word(operand, i);
    return result + "}";
}

std::string Emitter::predicate_destination(const Operand& operand) {
    if (operand.negated) refuse("a destination has no sign");
    const std::string name = plain_predicate(operand);
    return name == "1" ? "_" : name;
}

// --- constants

std::string Emitter::constant_word(unsigned bank, std::int64_t offset) {
    const std::string name = "%C" + std::to_string(bank) + "_" + hexadecimal(static_cast<std::uint64_t>(offset)).substr(2);
    if (bank == kParameterBank) {
        const std::int64_t parameter = offset - kernel_.parameter_base;
        if (parameter >= 0 && parameter < kernel_.parameter_bytes) return parameter_word(parameter);
        return launch_word(offset);
    }
    if (bank == kAddressBank) {
        const std::int64_t slot = offset / 8 * 8;
        for (const Relocation& relocation : cubin_.constant4_relocations) {
            if (relocation.offset != static_cast<std::uint64_t>(slot)) continue;
            const std::string address = symbol_address(relocation.symbol, relocation.addend);
            std::string result = temporary();
            prepare("mov.b64 " + std::string(offset % 8 == 0 ? "{" + result + ", _}" : "{_, " + result + "}") + ", " + address + ";");
            return result;
        }
        refuse("word " + hexadecimal(static_cast<std::uint64_t>(offset)) + " of constant bank 4 holds no known address");
    }
    words_.insert(name);
    if (bank == kUserBank) {
        if (cubin_.constant3.empty()) refuse("the module has no constant bank 3");
        entry_words_[name] = "ld.const.b32 " + name + ", [" + kConstantBank + "+" + std::to_string(offset) + "];";
        return name;
    }
    if (bank == kCompilerBank) {
        const std::vector<std::byte>& bytes = body_.function->constant2;
        for (const Relocation& relocation : body_.function->constant2_relocations) {
            if (static_cast<std::int64_t>(relocation.offset) / 4 == offset / 4) return constant_load(*std::find_if(instruction_->operands.begin(), instruction_->operands.end(), [](const Operand& o) { return o.kind == OperandKind::constant; }), 0);
        }
        if (offset < 0 || static_cast<std::size_t>(offset) + 4 > bytes.size()) refuse("beyond the end of constant bank 2");
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + offset, 4);
        return literal(value);
    }
    refuse("constant bank " + std::to_string(bank) + " is not known");
}

std::string Emitter::launch_word(std::int64_t offset) {
    static constexpr const char* kDimensions[] = {"%ntid.x", "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z"};
    const bool blackwell = cubin_.compute_capability >= 100;
    std::string value;
    if (!blackwell && offset >= 0 && offset < 24 && offset % 4 == 0) value = kDimensions[offset / 4];
    if (blackwell && offset >= 0x360 && offset < 0x36C && offset % 4 == 0) value = kDimensions[(offset - 0x360) / 4];
    if (blackwell && offset >= 0x370 && offset < 0x37C && offset % 4 == 0) value = kDimensions[3 + (offset - 0x370) / 4];
    // From sm_90 on: of clusters.
    static constexpr const char* kClusters[] = {"%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z"};
    static constexpr const char* kClusterCounts[] = {"%nclusterid.x", "%nclusterid.y", "%nclusterid.z"};
    const std::string register_name = "%C0_" + hexadecimal(static_cast<std::uint64_t>(offset)).substr(2);
    if (cubin_.compute_capability == 90 && offset % 4 == 0) {
        if (offset >= 0x144 && offset < 0x150) value = kClusters[(offset - 0x144) / 4];
        if (offset >= 0x15C && offset < 0x168) value = kClusterCounts[(offset - 0x15C) / 4];
        if (offset == 0x188) value = "%cluster_nctarank";
        if (offset == 0x140) {
            const std::string is_explicit = predicate_temporary();
            words_.insert(register_name);
            entry_words_[register_name] = "mov.pred " + is_explicit + ", %is_explicit_cluster;\nselp.b32 " + register_name + ", 1, 0, " + is_explicit + ";";
            return register_name;
        }
        if (offset >= 0x150 && offset < 0x15C) {  // reciprocals, as numbers
            const std::string count = temporary();
            words_.insert(register_name);
            entry_words_[register_name] = "mov.u32 " + count + ", " + kClusters[(offset - 0x150) / 4] + ";\ncvt.rn.f32.u32 " + count + ", " + count + ";\nrcp.rn.f32 " + register_name + ", " + count + ";";
            return register_name;
        }
        // The generic address of the parameters: isa/ptx/machine/machine.h.
        if (offset == 0x198 || offset == 0x19C) return offset == 0x198 ? "0" : "0x7b00";
    }
    if (cubin_.compute_capability < 100 && (offset == 0x50 || offset == 0x54) && !cubin_.constant3.empty()) {
        // The generic address of constant bank 3.
        const std::string low = "%C0_50", high = "%C0_54", address = wide_temporary(), generic = wide_temporary();
        words_.insert({low, high});
        entry_words_[low] = "mov.u64 " + address + ", " + kConstantBank + ";\ncvta.const.u64 " + generic + ", " + address + ";\nmov.b64 {" + low + ", " + high + "}, " + generic + ";";
        return offset == 0x50 ? low : high;
    }
    if (cubin_.compute_capability < 100 && offset == 0x2C) value = "%dynamic_smem_size";
    // Where the barrier of a cooperative launch is kept.
    const std::int64_t workspace = cubin_.compute_capability >= 90 ? 0x44 : 0x8C;
    if (!blackwell && (offset == workspace || offset == workspace + 4)) value = offset == workspace ? "%envreg1" : "%envreg2";
    if (value.empty()) {
        const std::int64_t stack = blackwell ? 0x37C : 0x28, local = blackwell ? 0x2F8 : 0x20;
        const std::int64_t descriptor = blackwell ? 0x358 : cubin_.compute_capability >= 90 ? 0x208 : 0x118;
        // The windows of generic addresses: see isa/ptx/machine/machine.h.
        if (offset == stack) {
            words_.insert("%stack_top");
            return "%stack_top";
        }
        if (!blackwell && (offset == 0x18 || offset == 0x1C)) return offset == 0x18 ? "0" : std::string(kSharedWindowUpper);
        if (offset == local || offset == local + 4) return offset == local ? "0" : "0x7e00";
        if (cubin_.compute_capability >= 80 && (offset == descriptor || offset == descriptor + 4)) return "0";
        refuse("word " + hexadecimal(static_cast<std::uint64_t>(offset)) + " of constant bank 0 is not known");
    }
    std::string name = "%C0_" + hexadecimal(static_cast<std::uint64_t>(offset)).substr(2);
    words_.insert(name);
    entry_words_[name] = "mov.u32 " + name + ", " + value + ";";
    return name;
}

// Pointers are loaded whole, so that analyses of where they point see parameters.
std::string Emitter::parameter_word(std::int64_t offset) {
    const auto name_of_word = [](std::int64_t at) { return "%C0_" + hexadecimal(static_cast<std::uint64_t>(at)).substr(2) + "p"; };
    if (offset % 4 != 0) refuse("a word of constant bank 0 must be aligned");
    std::string name = name_of_word(offset);
    if (words_.contains(name)) return name;
    if (offset < 0 || offset >= kernel_.parameter_bytes) refuse("no parameter lies at byte " + std::to_string(offset) + " of the parameters");
    const std::int64_t start = offset / 8 * 8;
    const auto within = [&](std::int64_t at) { return "[%p0+" + std::to_string(at) + "];"; };
    if (start + 8 <= kernel_.parameter_bytes) {
        const std::string low = name_of_word(start), high = name_of_word(start + 4), whole = "%D" + std::to_string(temporaries_++);
        words_.insert({low, high});
        pairs_.insert(whole);
        entry_words_[low] = "ld.param.b64 " + whole + ", " + within(start) + "\nmov.b64 {" + low + ", " + high + "}, " + whole + ";";
        return name;
    }
    words_.insert(name);
    entry_words_[name] = "ld.param.b32 " + name + ", " + within(offset);
    return name;
}

std::string Emitter::compiler_constants() {
    const MachineFunction& function = *body_.function;
    std::string name = "$constants_of_" + symbol_name(function.name);
    if (!declared_.insert(name).second) return name;
    std::vector<std::byte> bytes = function.constant2;
    for (const Relocation& relocation : function.constant2_relocations) {
        std::uint64_t value = static_cast<std::uint64_t>(relocation.addend);
        bool known = relocation.symbol == function.name;
        for (const auto& [offset, label] : function.labels) {
            if (label != relocation.symbol) continue;
            known = true;
            value += offset;
        }
        if (!known) refuse("the compiler's constants hold the address of " + relocation.symbol + ", which is not known");
        for (unsigned b = 0; b < 4 && relocation.offset + b < bytes.size(); ++b) bytes[relocation.offset + b] = static_cast<std::byte>(value >> (8 * b));
    }
    std::string text = ".const .align 16 .b8 " + name + "[" + std::to_string(std::max<std::size_t>(bytes.size(), 1)) + "] = {";
    for (std::size_t i = 0; i < bytes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(std::to_integer<unsigned>(bytes[i]));
    declarations_.push_back(text + "};");
    return name;
}

// A constant whose address is known at run time only.
std::string Emitter::constant_load(const Operand& operand, unsigned word, const std::string& type) {
    std::string index = general(operand.base);
    if (operand.uniform_base != kZeroUniformRegister) {
        if (index == "0") {
            index = uniform(operand.uniform_base);
        } else {
            const std::string sum = temporary();
            prepare("add.s32 " + sum + ", " + index + ", " + uniform(operand.uniform_base) + ";");
            index = sum;
        }
    }
    const std::int64_t offset = operand.value + 4 * word;
    std::string result = temporary();
    if (operand.bank == kParameterBank) {
        // An array that is counted from one begins before the parameters; launch values themselves are not read by index.
        if (operand.value + kLargestIndexOffset < kernel_.parameter_base) refuse("an indexed read of launch values is not known");
        prepare("ld.param." + type + " " + result + ", [" + index + "+" + std::to_string(offset - kernel_.parameter_base) + "];");
        return result;
    }
    if (operand.bank == kAddressBank) {
        const std::string symbol = symbol_read(operand);
        if (symbol.empty() || operand.value % 8 != 0) refuse("which address of constant bank 4 is read is not known");
        prepare("mov.b64 " + std::string(word % 2 == 0 ? "{" + result + ", _}" : "{_, " + result + "}") + ", " + symbol_address(symbol, 0) + ";");
        return result;
    }
    if (operand.bank != kUserBank && operand.bank != kCompilerBank) refuse("an indexed read of constant bank " + std::to_string(operand.bank) + " is not known");
    if (operand.bank == kUserBank && cubin_.constant3.empty()) refuse("the module has no constant bank 3");
    const std::string array = operand.bank == kUserBank ? kConstantBank : compiler_constants();
    const std::string base = temporary(), sum = temporary();
    prepare("mov.u32 " + base + ", " + array + ";");
    prepare("add.s32 " + sum + ", " + base + ", " + index + ";");
    helper("ld.const." + type + " " + result + ", [" + sum + "+" + std::to_string(offset) + "];");
    return result;
}

std::string Emitter::symbol_address(const std::string& symbol, std::int64_t addend) {
    for (const MachineVariable& variable : cubin_.variables) {
        if (variable.name != symbol) continue;
        std::string result = wide_temporary();
        const std::string place = variable.constant ? kConstantBank : symbol_name(symbol);
        const std::int64_t offset = addend + (variable.constant ? static_cast<std::int64_t>(variable.offset) : 0);
        prepare("mov.u64 " + result + ", " + place + "+" + std::to_string(offset) + ";");
        if (!variable.constant) return result;
        std::string generic = wide_temporary();
        prepare("cvta.const.u64 " + generic + ", " + result + ";");
        return generic;
    }
    // Functions have no address: calls look for the name.
    const bool function = cubin_.find(symbol) != nullptr || std::find(cubin_.external.begin(), cubin_.external.end(), symbol) != cubin_.external.end();
    if (!function) refuse("the address of " + symbol + " is not known");
    std::string result = wide_temporary();
    prepare("mov.b64 " + result + ", 0;");
    return result;
}

// --- addresses

std::string Emitter::shared_address(const Operand& operand) {
    std::string raw = raw_shared_address(operand);
    if (!names_rank_ || raw[0] != '%') return raw;
    const std::size_t plus = raw.find('+');
    std::string own = temporary();
    prepare("and.b32 " + own + ", " + raw.substr(0, plus) + ", 0xffffff;");
    return plus == std::string::npos ? own : own + raw.substr(plus);
}

std::string Emitter::raw_shared_address(const Operand& operand) {
    if (operand.kind != OperandKind::address) refuse("an address is expected");
    std::string base = general(operand.base);
    unsigned scale = 1;
    for (const std::string& suffix : operand.suffixes) {
        if (suffix == "X4" || suffix == "X8" || suffix == "X16")
            scale = static_cast<unsigned>(std::stoul(suffix.substr(1)));
        else
            refuse("." + suffix + " is not known in this address");
    }
    if (scale != 1 && base != "0") {
        const std::string scaled = temporary();
        prepare("mul.lo.u32 " + scaled + ", " + base + ", " + std::to_string(scale) + ";");
        base = scaled;
    }
    if (operand.uniform_base != kZeroUniformRegister) {
        if (base == "0") {
            base = uniform(operand.uniform_base);
        } else {
            const std::string sum = temporary();
            prepare("add.s32 " + sum + ", " + base + ", " + uniform(operand.uniform_base) + ";");
            base = sum;
        }
    }
    if (base == "0") return std::to_string(operand.value);
    return operand.value == 0 ? base : base + "+" + std::to_string(operand.value);
}

std::string Emitter::address(const Operand& operand) {
    if (operand.kind != OperandKind::address) refuse("an address is expected");
    bool narrow = false;
    for (const std::string& suffix : operand.suffixes) {
        if (suffix == "U32")
            narrow = true;
        else if (suffix != "64")
            refuse("." + suffix + " is not known in this address");
    }
    std::string base;
    if (operand.base != kZeroRegister) {
        base = wide_temporary();
        prepare("mov.b64 " + base + ", {" + general(operand.base) + ", " + (narrow ? "0" : general(operand.base + 1u)) + "};");
    }
    if (operand.uniform_base != kZeroUniformRegister) {
        std::string other = wide_temporary();
        prepare("mov.b64 " + other + ", {" + uniform(operand.uniform_base) + ", " + uniform(operand.uniform_base + 1u) + "};");
        if (base.empty()) {
            base = other;
        } else {
            if (!narrow) refuse("a register pair and a uniform register in one address are not known");
            const std::string sum = wide_temporary();
            prepare("add.s64 " + sum + ", " + base + ", " + other + ";");
            base = sum;
        }
    }
    if (base.empty()) return "[" + std::to_string(operand.value) + "]";
    return "[" + base + (operand.value == 0 ? "" : "+" + std::to_string(operand.value)) + "]";
}

std::string Emitter::generic_address(const Operand& operand) {
    const std::string text = address(operand);
    if (!names_rank_ || text[1] != '%') return text;
    const std::size_t plus = text.find('+');
    std::string whole = text.substr(1, (plus == std::string::npos ? text.size() - 1 : plus) - 1);
    if (plus != std::string::npos) {
        const std::string sum = wide_temporary();
        prepare("add.s64 " + sum + ", " + whole + ", " + text.substr(plus + 1, text.size() - plus - 2) + ";");
        whole = sum;
    }
    const std::string low = temporary(), high = temporary(), rank = temporary(), is_shared = predicate_temporary(), result = wide_temporary();
    prepare("mov.b64 {" + low + ", " + high + "}, " + whole + ";");
    prepare("setp.eq.u32 " + is_shared + ", " + high + ", " + std::string(kSharedWindowUpper) + ";");
    prepare("selp.b32 " + rank + ", 0x1000000, 0, " + is_shared + ";");
    prepare("add.u32 " + low + ", " + low + ", " + rank + ";");
    prepare("mov.b64 " + result + ", {" + low + ", " + high + "};");
    return "[" + result + "]";
}

// --- lines

void Emitter::line(const std::string& text, bool principal) {
    if (never_) return;
    lines_.push_back({text, {body_.function, index_, principal}});
}
void Emitter::prepare(const std::string& text) {
    line(text, false);
}
void Emitter::helper(const std::string& text) {
    line(guard_ + text, false);
}
void Emitter::principal(const std::string& text) {
    unguarded_principal(guard_ + text);
}
void Emitter::unguarded_principal(const std::string& text) {
    if (principal_written_) refuse("two lines have the time of one instruction");
    principal_written_ = true;
    line(text, true);
}

void Emitter::begin(const Instruction& instruction, std::uint32_t index) {
    instruction_ = &instruction;
    index_ = index;
    guard_.clear();
    principal_written_ = never_ = false;
    place_label(label(instruction.address));
    if (instruction.guard_kind == OperandKind::none) return;
    if (instruction.guard == kTruePredicate) {
        never_ = instruction.guard_negated;
        return;
    }
    guard_ = std::string("@") + (instruction.guard_negated ? "!" : "") +
             number_register('p', instruction.guard_kind == OperandKind::uniform_predicate ? "%UP" : "%P", instruction.guard) + " ";
}

void Emitter::end() {
    if (never_) {
        never_ = false;
        principal_written_ = false;
    }
    if (!principal_written_) unguarded_principal("$nop;");
}

// --- control

std::string Emitter::label(std::uint64_t address) const {
    return "$L" + std::to_string(body_.clone) + "_" + hexadecimal(address).substr(2);
}
std::string Emitter::fresh_label() {
    return "$M" + std::to_string(labels_++);
}
void Emitter::place_label(const std::string& label) {
    lines_.push_back({label + ":", {body_.function, index_, false}});
}

std::string Emitter::call_body(const MachineFunction& function, std::uint64_t entry) {
    const std::uint64_t address = instruction_->address + 16;
    const auto label_of = [&](unsigned clone) { return "$L" + std::to_string(clone) + "_" + hexadecimal(entry).substr(2); };
    for (const BodyContext::Caller& caller : body_.callers) {
        if (caller.function != &function || caller.entry != entry) continue;
        for (const auto& [known, place] : returns_[caller.clone]) {
            if (known == address) refuse("two calls of a recursion have the same return address");
        }
        recursive_ = true;
        returns_[caller.clone].emplace_back(address, label(address));
        return label_of(caller.clone);
    }
    PendingBody pending;
    pending.entry = entry;
    pending.context.function = &function;
    pending.context.code = code_of(function);
    pending.context.clone = ++clones_;
    pending.context.callers = body_.callers;
    pending.context.callers.push_back({&function, entry, clones_});
    pending_.push_back(pending);
    returns_[clones_] = {{address, label(address)}};
    return label_of(clones_);
}

std::string Emitter::return_block(const std::string& address) {
    if (body_.clone == 0) refuse("a return outside of a subroutine");
    return_blocks_.insert({body_.clone, address});
    return "$return" + std::to_string(body_.clone) + "_" + address.substr(1);
}

void Emitter::write_return_blocks() {
    index_ = LineOrigin::kNone;
    never_ = false;
    for (const auto& [clone, address] : return_blocks_) {
        place_label("$return" + std::to_string(clone) + "_" + address.substr(1));
        const auto& places = returns_[clone];
        for (std::size_t i = 1; i < places.size(); ++i) {
            const std::string here = predicate_temporary();
            prepare("setp.eq.u32 " + here + ", " + address + ", " + hexadecimal(places[i].first) + ";");
            prepare("@" + here + " bra " + places[i].second + ";");
        }
        prepare("bra " + places[0].second + ";");
    }
}

// --- addresses of functions

std::string Emitter::symbol_in_address_bank(std::int64_t offset) const {
    for (const Relocation& relocation : cubin_.constant4_relocations) {
        if (static_cast<std::int64_t>(relocation.offset) == offset) return relocation.symbol;
    }
    return "";
}

const Instruction* Emitter::last_writer(unsigned index, std::size_t before, std::size_t& place) const {
    for (std::size_t i = before; i-- > 0 && before - i < 256;) {
        const Instruction& n = body_.code[i];
        if (n.operands.empty() || n.operands[0].kind != OperandKind::general) continue;
        if (n.mnemonic.starts_with("ST") || n.mnemonic == "RED") continue;
        const unsigned width = n.has("128") ? 4 : n.has("64") || n.has("WIDE") ? 2 : 1;
        if (index < n.operands[0].index || index >= n.operands[0].index + width) continue;
        place = i;
        return &n;
    }
    return nullptr;
}

std::string Emitter::symbol_read(const Operand& operand) const {
    if (operand.kind != OperandKind::constant || operand.bank != kAddressBank || operand.uniform_base != kZeroUniformRegister) return "";
    if (operand.base == kZeroRegister) return symbol_in_address_bank(operand.value);
    std::size_t place = 0;
    const Instruction* const writer = last_writer(operand.base, index_, place);
    if (writer == nullptr || writer->guard_kind != OperandKind::none) return "";
    const Operand& last = writer->operands.back();
    if ((writer->mnemonic == "MOV" && writer->operands.size() == 2) || (writer->mnemonic == "IMAD" && writer->has("MOV"))) {
        if (last.kind == OperandKind::integer) return symbol_in_address_bank(operand.value + last.value);
        if (last.kind == OperandKind::general && last.index == kZeroRegister) return symbol_in_address_bank(operand.value);
    }
    if (writer->mnemonic == "HFMA2" && writer->operands.size() == 5 && writer->operands[3].kind == OperandKind::floating && last.kind == OperandKind::floating)
        return symbol_in_address_bank(operand.value + ((writer->operands[3].value & 0xFFFF) << 16 | (last.value & 0xFFFF)));
    return "";
}

std::string Emitter::symbol_in_register(unsigned index) const {
    std::size_t place = index_;
    const Instruction* const writer = last_writer(index, place, place);
    if (writer == nullptr || writer->mnemonic != "LDC" || writer->operands.size() != 2) return "";
    // Looks for the register of the address before that instruction.
    Emitter there(cubin_, kernel_);
    there.body_ = body_;
    there.index_ = static_cast<std::uint32_t>(place);
    return there.symbol_read(writer->operands[1]);
}

void Emitter::call_runtime(const std::string& name) {
    struct Runtime {
        std::string_view name;
        unsigned result;                 // bytes
        std::vector<unsigned> arguments;  // bytes
    };
    static const Runtime kRuntime[] = {
        {"vprintf", 4, {8, 8}}, {"malloc", 8, {8}}, {"free", 0, {8}}, {"__assertfail", 0, {8, 8, 4, 8, 8}}};
    const auto found = std::find_if(std::begin(kRuntime), std::end(kRuntime), [&](const Runtime& one) { return one.name == name; });
    if (found == std::end(kRuntime)) refuse("function " + name + " is not defined in this file");
    const auto parameters = [&](const char* separator, bool types) {
        std::string text;
        for (std::size_t i = 0; i < found->arguments.size(); ++i)
            text += (i == 0 ? "" : separator) + std::string(types ? ".param .b" + std::to_string(8 * found->arguments[i]) + " " : "") + "$a" + std::to_string(i);
        return text;
    };
    const std::string result_type = ".param .b" + std::to_string(8 * found->result) + " $r";
    declare(".extern .func " + (found->result != 0 ? "(" + result_type + ") " : std::string()) + name + " (" + parameters(", ", true) + ");");
    std::string over;
    if (is_guarded()) {
        over = fresh_label();
        std::string condition = guard_.substr(1);
        prepare(std::string("@") + (condition[0] == '!' ? condition.substr(1) : "!" + condition) + "bra " + over + ";");
    }
    prepare("{");
    for (std::size_t i = 0; i < found->arguments.size(); ++i) prepare(".param .b" + std::to_string(8 * found->arguments[i]) + " $a" + std::to_string(i) + ";");
    if (found->result != 0) prepare(result_type + ";");
    // Each argument has registers of its own, pairs from an even one on.
    unsigned next = 4;
    for (std::size_t i = 0; i < found->arguments.size(); ++i) {
        std::string value;
        if (found->arguments[i] == 8) {
            next = (next + 1) / 2 * 2;
            value = wide_temporary();
            prepare("mov.b64 " + value + ", {" + general(next) + ", " + general(next + 1) + "};");
            next += 2;
        } else {
            value = general(next++);
        }
        prepare("st.param.b" + std::to_string(8 * found->arguments[i]) + " [$a" + std::to_string(i) + "], " + value + ";");
    }
    unguarded_principal("call.uni " + std::string(found->result != 0 ? "($r), " : "") + name + ", (" + parameters(", ", false) + ");");
    if (found->result == 4) prepare("ld.param.b32 " + general(4) + ", [$r];");
    if (found->result == 8) {
        const std::string value = wide_temporary();
        prepare("ld.param.b64 " + value + ", [$r];");
        prepare("mov.b64 {" + general(4) + ", " + general(5) + "}, " + value + ";");
    }
    prepare("}");
    if (!over.empty()) place_label(over);
}

bool Emitter::take_pending(PendingBody& body) {
    if (pending_.empty()) return false;
    body = pending_.back();
    pending_.pop_back();
    return true;
}

void Emitter::declare(const std::string& text) {
    if (declared_.insert(text).second) declarations_.push_back(text);
}

void Emitter::keep_code(const MachineFunction& function, std::span<const Instruction> code) {
    code_[&function] = code;
    for (const Instruction& one : code)
        for (const Operand& operand : one.operands)
            names_rank_ = names_rank_ || (operand.kind == OperandKind::special && operand.name == "SR_CgaCtaId");
}

std::span<const Instruction> Emitter::code_of(const MachineFunction& function) {
    const auto known = code_.find(&function);
    if (known != code_.end()) return known->second;
    decoded_.push_back(decode(cubin_, function));
    keep_code(function, decoded_.back());
    return code_[&function];
}

// --- the text

void Emitter::write_header(std::vector<std::string>& out) const {
    out.emplace_back(".version 9.0");
    out.push_back(".target sm_" + std::to_string(cubin_.compute_capability) + (cubin_.compute_capability >= 90 ? "a" : ""));
    out.emplace_back(".address_size 64");
    if (!cubin_.constant3.empty()) {
        std::string text = ".const .align 64 .b8 " + std::string(kConstantBank) + "[" + std::to_string(cubin_.constant3.size()) + "] = {";
        for (std::size_t i = 0; i < cubin_.constant3.size(); ++i)
            text += (i == 0 ? "" : ", ") + std::to_string(std::to_integer<unsigned>(cubin_.constant3[i]));
        out.push_back(text + "};");
    }
    for (const MachineVariable& variable : cubin_.variables) {
        if (variable.constant) continue;
        if (!variable.relocations.empty()) continue;  // its initial value holds addresses
        std::string text = ".visible .global .align " + std::to_string(std::max<std::uint64_t>(variable.alignment, 1)) + " .b8 " + symbol_name(variable.name) + "[" +
                           std::to_string(std::max<std::uint64_t>(variable.bytes, 1)) + "]";
        std::size_t given = variable.initial.size();
        while (given > 0 && variable.initial[given - 1] == std::byte{0}) --given;
        for (std::size_t i = 0; i < given; ++i)
            text += (i == 0 ? " = {" : ", ") + std::to_string(std::to_integer<unsigned>(variable.initial[i]));
        out.push_back(text + (given == 0 ? ";" : "};"));
    }
    out.insert(out.end(), declarations_.begin(), declarations_.end());
}

Translation Emitter::finish() {
    std::vector<std::string> head;
    write_header(head);
    head.push_back(".visible .entry " + symbol_name(kernel_.name) + "(");
    // One block: ptxas aligns parameters to their place in the constant bank, so that the first need not lie at its start.
    if (kernel_.parameter_bytes != 0) head.push_back(".param .align 8 .b8 %p0[" + std::to_string(kernel_.parameter_bytes) + "]");
    head.emplace_back(")");
    const auto three = [](const std::array<std::uint32_t, 3>& sizes) {
        return std::to_string(sizes[0]) + ", " + std::to_string(std::max(sizes[1], 1u)) + ", " + std::to_string(std::max(sizes[2], 1u));
    };
    if (kernel_.required_threads[0] != 0)
        head.push_back(".reqntid " + three(kernel_.required_threads));
    else if (kernel_.maximum_threads != 0)
        head.push_back(".maxntid " + std::to_string(kernel_.maximum_threads) + ", 1, 1");
    if (kernel_.cluster[0] != 0) head.push_back(".reqnctapercluster " + three(kernel_.cluster));
    head.emplace_back("{");
    Translation result;
    // A kernel with shared memory of its own counts the reserved bytes, which lie before it, among its own.
    result.reserved_shared_bytes = cubin_.compute_capability >= 90 ? kReservedShared : 0;
    result.shared_base = result.reserved_shared_bytes - std::min(result.reserved_shared_bytes, kernel_.shared_bytes);
    const bool shared = kernel_.shared_bytes + result.shared_base != 0;
    if (shared) {
        head.push_back(".shared .align 128 .b8 %shared[" + std::to_string(kernel_.shared_bytes + result.shared_base) + "];");
        head.emplace_back(".reg .b32 %shared_use;");
    }
    // How deep a recursion goes nobody knows.
    constexpr std::uint32_t kRecursionStack = 16384;
    const std::uint32_t stack = ((recursive_ ? std::max(kernel_.frame_bytes, kRecursionStack) : kernel_.frame_bytes) + 15) / 16 * 16;
    if (stack != 0) {
        head.push_back(".local .align 16 .b8 %stack[" + std::to_string(stack) + "];");
        head.emplace_back(".reg .b32 %stack_use;");
    }
    if (!words_.empty()) head.push_back(".reg .b32 " + joined(words_) + ";");
    if (!halves_.empty()) head.push_back(".reg .b16 " + joined(halves_) + ";");
    if (!pairs_.empty()) head.push_back(".reg .b64 " + joined(pairs_) + ";");
    if (!predicates_.empty()) head.push_back(".reg .pred " + joined(predicates_) + ";");
    if (shared) head.emplace_back("mov.u32 %shared_use, %shared;");  // only memory that is named is laid out
    if (stack != 0) head.emplace_back("mov.u32 %stack_use, %stack;");
    if (words_.contains("%stack_top")) head.push_back("mov.u32 %stack_top, " + std::to_string(stack) + ";");
    for (const auto& [name, text] : entry_words_) {
        std::size_t start = 0;
        while (start < text.size()) {
            const std::size_t end = std::min(text.find('\n', start), text.size());
            head.push_back(text.substr(start, end - start));
            start = end + 1;
        }
    }
    result.lines.emplace_back();
    for (const std::string& text : head) {
        result.ptx += text + "\n";
        result.lines.emplace_back();
    }
    for (const Line& line : lines_) {
        result.ptx += line.text + "\n";
        result.lines.push_back(line.origin);
    }
    result.ptx += "}\n";
    return result;
}

// --- modifiers

bool Modifiers::take(std::string_view name) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        if (taken_[i] || instruction_.modifiers[i] != name) continue;
        taken_[i] = true;
        return true;
    }
    return false;
}

std::string_view Modifiers::take_one_of(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        if (take(name)) return name;
    }
    return "";
}

std::string_view Modifiers::require_one_of(std::initializer_list<std::string_view> names) {
    const std::string_view found = take_one_of(names);
    if (!found.empty()) return found;
    std::string list;
    for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
    emitter_.refuse("one of " + list + " is expected");
}

void Modifiers::finish() const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        if (!taken_[i]) emitter_.refuse("modifier ." + instruction_.modifiers[i] + " is not known");
    }
}

}  // namespace heddle::sass
