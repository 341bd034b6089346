#include "isa/ptx/text/operand_binder.h"

#include <array>
#include <bit>

#include "isa/common/error.h"
#include "isa/ptx/video_instruction.h"

namespace heddle::ptx {
namespace {

// Some have two widths under one name: the one that has `bits`, else the first.
bool find_special(std::string_view name, unsigned bits, SpecialRegister& special) {
    bool found = false;
    for (std::size_t i = 0; i < kSpecialRegisterCount; ++i) {
        const auto candidate = static_cast<SpecialRegister>(i);
        if (name_of(candidate) != name) continue;
        if (!found || bits_of(type_of(candidate)) == bits) special = candidate;
        found = true;
    }
    return found;
}

// The fourth components of %tid and the like are zero (PTX manual, "Special Registers").
bool is_fourth_component(std::string_view name) {
    SpecialRegister first{};
    return name.ends_with(".w") &&
           find_special(std::string(name.substr(0, name.size() - 1)) + "x", 32, first);
}

// "Operand types must agree": same width, and one of them untyped, or both integers, or the same type.
// `wider` is the relaxed rule of ld, st and cvt.
bool agrees(Type wanted, Type given, bool wider) {
    if (wanted == given) return true;
    if (wanted == Type::pred || given == Type::pred) return false;
    const unsigned wanted_bits = bits_of(wanted), given_bits = bits_of(given);
    const bool integral = !is_float(wanted) && !is_float(given);
    if (wider && given_bits > wanted_bits) return integral;
    if (wanted_bits != given_bits) return false;
    return integral || is_untyped(wanted) || is_untyped(given);
}

// Generic addressing of a variable: its address in the window of its space.
bool takes_generic_variable(const Instruction& instruction) {
    return instruction.space == StateSpace::none &&
           (instruction.opcode == Opcode::mbarrier || instruction.has(Modifier::mbarrier));
}

// A generic access to a variable that is named: the variable says which space.
bool names_space_by_variable(const Instruction& instruction, StateSpace space) {
    if (instruction.space != StateSpace::none || instruction.has(Modifier::async)) return false;
    if (space != StateSpace::global && space != StateSpace::shared && space != StateSpace::local)
        return false;
    switch (instruction.opcode) {
        case Opcode::ld:
        case Opcode::st:
        case Opcode::atom:
        case Opcode::red:
        case Opcode::prefetch:
        case Opcode::applypriority:
        case Opcode::discard:
        case Opcode::createpolicy:
            return true;
        default:
            return false;
    }
}

// 32-bit integers, but for textures, which say what coordinates are; the number of a layer comes before them.
Type coordinate_type(const Instruction& instruction, std::size_t index) {
    if (instruction.opcode != Opcode::tex && instruction.opcode != Opcode::tld4) return Type::s32;
    const bool layered = instruction.has(Modifier::array1) || instruction.has(Modifier::array2) ||
                         instruction.has(Modifier::array_cube);
    return layered && index == 0 ? Type::b32 : instruction.type(1);
}

}  // namespace

bool OperandBinder::bind_operands(const InstructionForm& form, const std::vector<RawOperand>& raw,
                                  const Token& end, Instruction& instruction, Complaint& complaint) {
    std::array<OperandPattern, kMaximumOperands> patterns;
    const std::size_t count = operand_patterns(form, instruction, patterns);
    instruction.operands.assign(count, {});
    std::size_t used = 0, written = 0, required = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (patterns[i].carry) continue;
        ++written;
        if (!patterns[i].optional) ++required;
    }
    std::size_t still_required = required;
    for (std::size_t i = 0; i < count; ++i) {
        const OperandPattern& pattern = patterns[i];
        if (pattern.carry) continue;
        bool present = used < raw.size() && raw[used].paired == pattern.paired;
        if (pattern.optional && raw.size() - used <= still_required) present = false;
        if (!pattern.optional) --still_required;
        if (!present) {
            if (pattern.optional) continue;
            complaint = {"operand " + std::to_string(used + 1) + " is missing", "", end};
            if (used < raw.size()) complaint.token = raw[used].token;
            if (!raw.empty() && used == raw.size()) complaint.token = raw.back().token;
            if (raw.empty()) complaint.token.line = instruction.line;
            return false;
        }
        if (!bind(pattern, raw[used], instruction, instruction.operands[i], complaint)) return false;
        ++used;
    }
    if (used == raw.size()) return true;
    complaint = {"too many operands",
                 "this instruction takes " + std::to_string(required) +
                     (required == written ? "" : " to " + std::to_string(written)),
                 raw[used].token};
    return false;
}

bool OperandBinder::bind(const OperandPattern& pattern, const RawOperand& raw, Instruction& instruction,
                         Operand& operand, Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    if (raw.negated && !pattern.may_negate) return reject("this operand cannot be negated with '!'");
    if (raw.minus && !pattern.may_have_minus) return reject("this operand cannot have a minus sign");
    if (pattern.label) {
        if (raw.kind != RawOperand::Kind::name) return reject("expected a label");
        operand.kind = Operand::Kind::label;
        return true;
    }
    if (pattern.address) {
        if (raw.kind != RawOperand::Kind::address && !raw.indexed)
            return reject("expected an address", "write it as [register+offset]");
        return bind_address(pattern, raw, instruction, operand, complaint);
    }
    if (raw.kind == RawOperand::Kind::address) return reject("an address is not possible here");
    if (pattern.constant) {
        if (raw.kind != RawOperand::Kind::integer) return reject("expected an integer constant");
        operand = {.kind = Operand::Kind::immediate, .type = Type::u64, .bits = raw.bits, .elements = {}};
        return true;
    }
    const Type type = pattern_type(pattern, instruction);
    if (pattern.vector && !(pattern.elements == 1 && raw.kind != RawOperand::Kind::vector))
        return bind_vector(pattern, type, raw, operand, complaint);
    // Braces around one register are as if they were not there: "ld.global.b32 {%r1}, [%rd1]".
    const bool braced = raw.kind == RawOperand::Kind::vector && raw.elements.size() == 1 && raw.elements[0].kind != RawOperand::Kind::vector;
    if (raw.kind == RawOperand::Kind::vector && !braced) return reject("a vector is not possible here");
    if (!bind_scalar(pattern, type, braced ? raw.elements[0] : raw, operand, complaint)) return false;
    if (pattern.vector) {  // a vector of one, written without braces
        Operand scalar = std::move(operand);
        operand = {};
        operand.kind = Operand::Kind::vector;
        operand.elements.push_back(std::move(scalar));
    }
    return true;
}

// Vector registers stand for their components, and '_' for as many as are wanted.
RawOperand OperandBinder::expand(const OperandPattern& pattern, const RawOperand& raw) {
    RawOperand vector = raw;
    vector.kind = RawOperand::Kind::vector;
    if (raw.kind == RawOperand::Kind::sink) {
        vector.elements.assign(pattern.elements, raw);
        return vector;
    }
    for (std::string& component : symbols_.find_vector(raw.name)) {
        RawOperand& element = vector.elements.emplace_back();
        element.token = raw.token;
        element.name = std::move(component);
    }
    return vector.elements.empty() ? raw : vector;
}

bool OperandBinder::bind_vector(const OperandPattern& pattern, Type type, const RawOperand& written,
                                Operand& operand, Complaint& complaint) {
    const bool name = written.kind == RawOperand::Kind::name || written.kind == RawOperand::Kind::sink;
    const RawOperand raw = name ? expand(pattern, written) : written;
    if (raw.kind != RawOperand::Kind::vector || raw.elements.size() != pattern.elements) {
        complaint = {"expected a vector of " + std::to_string(pattern.elements) + " operands",
                     "write {a, b, ...}", raw.token};
        return false;
    }
    operand.kind = Operand::Kind::vector;
    for (const RawOperand& element : raw.elements) {
        if (!bind_scalar(pattern, type, element, operand.elements.emplace_back(), complaint)) return false;
    }
    return true;
}

bool OperandBinder::bind_scalar(const OperandPattern& pattern, Type type, const RawOperand& raw,
                                Operand& operand, Complaint& complaint) {
    if (raw.kind == RawOperand::Kind::sink) {
        if (!pattern.written) {
            complaint = {"'_' can only stand for a destination", "", raw.token};
            return false;
        }
        operand.kind = Operand::Kind::sink;
        return true;
    }
    if (raw.kind == RawOperand::Kind::name) return bind_name(pattern, type, raw, operand, complaint);
    if (pattern.written) {
        complaint = {"a destination must be a register", "", raw.token};
        return false;
    }
    return bind_literal(type, raw, operand, complaint);
}

bool OperandBinder::bind_name(const OperandPattern& pattern, Type type, const RawOperand& raw,
                              Operand& operand, Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    operand.negated = raw.negated || raw.minus;
    if (pattern.may_select && symbols_.find_register(raw.name) < 0) {
        const std::size_t dot = std::min(raw.name.rfind('.'), raw.name.size());
        const PartSelector selector =
            PartSelector::parse(std::string_view(raw.name).substr(std::min(dot + 1, raw.name.size())));
        if (selector.present()) {
            RawOperand whole = raw;
            whole.name.resize(dot);
            operand.selector = selector.code();
            return bind_name(pattern, type, whole, operand, complaint);
        }
    }
    if (const std::int64_t found = symbols_.find_register(raw.name); found >= 0) {
        if (raw.bits != 0 || raw.indexed) return reject("a register plus a constant is no operand");
        operand.kind = Operand::Kind::reg;
        operand.index = static_cast<std::uint32_t>(found);
        operand.type = kernel_.registers[operand.index].type;
        if (agrees(type, operand.type, pattern.wider)) return true;
        return reject("this operand must be ." + std::string(name_of(type)) + ", the register is ." +
                      std::string(name_of(operand.type)));
    }
    SpecialRegister special{};
    if (!pattern.written && is_fourth_component(raw.name)) {
        operand = {.kind = Operand::Kind::immediate, .type = type, .bits = 0, .elements = {}};
        return true;
    }
    if (find_special(raw.name, bits_of(type), special)) {
        if (pattern.written) return reject("a special register cannot be written");
        operand.kind = Operand::Kind::special;
        operand.index = static_cast<std::uint32_t>(special);
        operand.type = type_of(special);
        const bool low_half = bits_of(type) == 16 && !is_float(type);  // mov.u16 of %tid.x
        if (agrees(type, operand.type, pattern.wider || low_half)) return true;
        return reject("this operand must be ." + std::string(name_of(type)) + ", the special register is ." +
                      std::string(name_of(operand.type)));
    }
    if (bind_reserved(pattern, type, raw, operand)) return true;
    const std::int64_t variable = find_variable(raw.name), parameter = find_parameter(raw.name);
    if (variable >= 0 || parameter >= 0) {
        if (!pattern.may_be_variable)
            return reject("the address of a variable is not possible here", "use mov first");
        if (is_float(type)) return reject("the address of a variable is not a floating-point number");
        operand.bits = raw.bits;
        if (raw.indexed) {
            if (variable < 0) return reject("only the address of a variable can be indexed");
            operand.bits += raw.index * kernel_.variables[static_cast<std::size_t>(variable)].element_bytes();
        }
        operand.kind = variable >= 0 ? Operand::Kind::variable : Operand::Kind::parameter;
        operand.index = static_cast<std::uint32_t>(variable >= 0 ? variable : parameter);
        operand.type = type;
        return true;
    }
    if (!symbols_.find_vector(raw.name).empty())
        return reject("a vector register is not possible here", "write one component: " + raw.name + ".x");
    const std::string near = nearest_name(raw.name);
    return reject("unknown register or variable " + raw.name,
                  near.empty() ? "declare it with .reg" : "did you mean " + near + "?");
}

bool OperandBinder::bind_reserved(const OperandPattern& pattern, Type type, const RawOperand& raw,
                                  Operand& operand) {
    const std::int64_t variable = find_variable(kReservedShared);
    const std::string_view prefix = "%reserved_smem_offset_";
    if (variable < 0 || bits_of(type) != 32 || !pattern.may_be_variable || !raw.name.starts_with(prefix))
        return false;
    const std::string_view which = std::string_view(raw.name).substr(prefix.size());
    operand.type = type;
    if (which == "cap") {
        operand.kind = Operand::Kind::immediate;
        operand.bits = kReservedSharedBytes;
        return true;
    }
    operand.kind = Operand::Kind::variable;
    operand.index = static_cast<std::uint32_t>(variable);
    operand.bits = which == "end" ? kReservedSharedBytes : 0;
    return which == "begin" || which == "end" || which == "0" || which == "1";
}

bool OperandBinder::bind_address(const OperandPattern& pattern, const RawOperand& raw,
                                 Instruction& instruction, Operand& operand, Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    operand.kind = Operand::Kind::address;
    operand.bits = raw.bits;
    if (raw.indexed && find_variable(raw.name) < 0) return reject("only a variable can be indexed");
    if (!bind_coordinates(pattern, raw, instruction, operand, complaint)) return false;
    if (raw.name.empty()) {
        operand.base = Operand::Kind::immediate;
        return true;
    }
    if (const std::int64_t found = symbols_.find_register(raw.name); found >= 0) {
        operand.base = Operand::Kind::reg;
        operand.index = static_cast<std::uint32_t>(found);
        operand.type = kernel_.registers[operand.index].type;
        const bool integral = !is_float(operand.type) && operand.type != Type::pred;
        if (integral && (bits_of(operand.type) == 32 || bits_of(operand.type) == 64)) return true;
        return reject("an address needs a 32-bit or 64-bit integer register, this one is ." +
                      std::string(name_of(operand.type)));
    }
    if (const std::int64_t found = find_variable(raw.name); found >= 0) {
        operand.base = Operand::Kind::variable;
        operand.index = static_cast<std::uint32_t>(found);
        const StateSpace space = kernel_.variables[operand.index].space;
        operand.bits += raw.index * kernel_.variables[operand.index].element_bytes();
        if (names_space_by_variable(instruction, space)) instruction.space = space;
        if (space == instruction.space || space == instruction.second_space) return true;
        const bool cluster = instruction.space == StateSpace::shared_cluster ||
                             instruction.second_space == StateSpace::shared_cluster;
        if (space == StateSpace::shared && (cluster || takes_generic_variable(instruction))) return true;
        return reject("variable " + raw.name + " lies in ." + std::string(name_of(space)) +
                      ", the instruction does not access that space");
    }
    if (const std::int64_t found = find_parameter(raw.name); found >= 0) {
        if (instruction.space != StateSpace::parameter) return reject("a parameter is read with ld.param");
        operand.base = Operand::Kind::parameter;
        operand.index = static_cast<std::uint32_t>(found);
        return true;
    }
    const std::string near = nearest_name(raw.name);
    return reject("unknown register or variable " + raw.name,
                  near.empty() ? "declare it first" : "did you mean " + near + "?");
}

// [base, {x, y}], and [base, x] where there is one.
bool OperandBinder::bind_coordinates(const OperandPattern& pattern, const RawOperand& raw,
                                     const Instruction& instruction, Operand& operand, Complaint& complaint) {
    if (!pattern.coordinates) {
        if (raw.elements.empty()) return true;
        complaint = {"this address takes no coordinates", "", raw.elements[0].token};
        return false;
    }
    const bool bare = pattern.elements == 1 && raw.elements.size() == 1 && raw.elements[0].kind != RawOperand::Kind::vector;
    if (!bare && (raw.elements.size() != 1 || raw.elements[0].kind != RawOperand::Kind::vector)) {
        complaint = {"expected an address with coordinates", "write it as [register, {x, y}]", raw.token};
        return false;
    }
    const std::vector<RawOperand>& coordinates = bare ? raw.elements : raw.elements[0].elements;
    if (pattern.elements != 0 && coordinates.size() != pattern.elements) {
        complaint = {"expected " + std::to_string(pattern.elements) + " coordinates", "",
                     raw.elements[0].token};
        return false;
    }
    OperandPattern scalar;
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
        const Type type = coordinate_type(instruction, i);
        if (!bind_scalar(scalar, type, coordinates[i], operand.elements.emplace_back(), complaint)) return false;
    }
    return true;
}

bool OperandBinder::bind_literal(Type type, const RawOperand& raw, Operand& operand, Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    operand.kind = Operand::Kind::immediate;
    operand.type = type;
    const unsigned bits = bits_of(type);
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    if (raw.kind == RawOperand::Kind::integer) {
        if (is_float(type) && bits != 16 && type != Type::f16x2 && type != Type::bf16x2) {
            return reject("an integer constant for ." + std::string(name_of(type)),
                          type == Type::f64 ? "write 1.0 or 0d3FF0000000000000" : "write 1.0 or 0f3F800000");
        }
        operand.bits = type == Type::pred ? raw.bits != 0 : raw.bits & mask;  // true is 1 or -1
        return true;
    }
    const bool single = raw.kind == RawOperand::Kind::single;
    if (bits == 32 && (type == Type::f32 || is_untyped(type))) {
        operand.bits =
            single ? raw.bits
                   : std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(raw.bits)));
        return true;
    }
    if (bits == 64 && (type == Type::f64 || is_untyped(type))) {
        operand.bits = single ? std::bit_cast<std::uint64_t>(static_cast<double>(
                                    std::bit_cast<float>(static_cast<std::uint32_t>(raw.bits))))
                              : raw.bits;
        return true;
    }
    return reject("a floating-point constant for ." + std::string(name_of(type)));
}

std::int64_t OperandBinder::find_variable(std::string_view name) const {
    const std::int64_t found = symbols_.find_variable(name);
    // A parameter hides a variable of the module.
    if (found >= 0 && found < kernel_.module_variables && find_parameter(name) >= 0) return -1;
    return found;
}

std::int64_t OperandBinder::find_parameter(std::string_view name) const {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
        if (kernel_.parameters[i].name == name) return static_cast<std::int64_t>(i);
    }
    return -1;
}

std::string OperandBinder::nearest_name(const std::string& name) const {
    std::vector<std::string> names = symbols_.register_names();
    for (const Variable& variable : kernel_.variables) names.push_back(variable.name);
    for (const Parameter& parameter : kernel_.parameters) names.push_back(parameter.name);
    return nearest_word(name, names.data(), names.size());
}

}  // namespace heddle::ptx
