#include "isa/ptx/text/instruction_parser.h"

#include <algorithm>
#include <array>
#include <bit>

#include "isa/common/error.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumOperands = 8;

bool find_opcode(std::string_view word, Opcode& opcode) {
    for (std::size_t i = 0; i < kOpcodeCount; ++i) {
        if (name_of(static_cast<Opcode>(i)) != word) continue;
        opcode = static_cast<Opcode>(i);
        return true;
    }
    return false;
}

bool find_special(std::string_view name, SpecialRegister& special) {
    for (std::size_t i = 0; i < kSpecialRegisterCount; ++i) {
        if (name_of(static_cast<SpecialRegister>(i)) != name) continue;
        special = static_cast<SpecialRegister>(i);
        return true;
    }
    return false;
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

std::string join(const std::vector<std::string_view>& suffixes) {
    std::string text;
    for (const std::string_view suffix : suffixes) text += "." + std::string(suffix);
    return text;
}

}  // namespace

void InstructionParser::parse() {
    Instruction instruction;
    parse_guard(instruction);
    const Token opcode = cursor_.expect_word("an instruction");
    instruction.line = opcode.line;
    if (!find_opcode(opcode.text, instruction.opcode)) fail_unknown_opcode(opcode);
    std::vector<std::string_view> suffixes;
    while (cursor_.peek().kind == TokenKind::suffix) suffixes.push_back(cursor_.next().text);
    if (instruction.opcode == Opcode::call) return parse_call(instruction);
    const std::vector<RawOperand> raw = parse_operands();
    match(instruction, opcode, suffixes, raw);
    if (instruction.opcode == Opcode::brx) return add_branch_targets(instruction, raw[1].token);
    const auto position = static_cast<std::uint32_t>(kernel_.instructions.size());
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        if (instruction.operands[i].kind == Operand::Kind::label) {
            symbols_.refer_to_label(raw[i].token, position, static_cast<std::uint32_t>(i));
        }
    }
    kernel_.instructions.push_back(std::move(instruction));
}

// call (results), name, (arguments); every argument is a .param variable.
void InstructionParser::parse_call(Instruction& instruction) {
    Operand results, arguments, callee;
    results.kind = arguments.kind = Operand::Kind::vector;
    callee.kind = Operand::Kind::immediate;
    if (cursor_.peek().is('(')) {
        results.elements = parse_call_arguments();
        cursor_.expect(',', "after the results of a call");
    }
    const Token name = cursor_.expect_word("the name of a function");
    if (symbols_.find_register(name.text) >= 0)
        cursor_.fail("calls through a register are not supported", name);
    callee.bits = kernel_.callees.size();
    kernel_.callees.emplace_back(name.text);
    if (cursor_.accept(',')) arguments.elements = parse_call_arguments();
    cursor_.expect(';', "after a call");
    instruction.operands = {results, arguments, callee};
    kernel_.instructions.push_back(std::move(instruction));
}

std::vector<Operand> InstructionParser::parse_call_arguments() {
    std::vector<Operand> arguments;
    cursor_.expect('(', "before the arguments of a call");
    if (cursor_.accept(')')) return arguments;
    do {
        const Token name = cursor_.expect_word("a .param variable");
        const std::int64_t found = find_variable(name.text);
        if (found < 0 || kernel_.variables[static_cast<std::size_t>(found)].space != StateSpace::parameter) {
            cursor_.fail("an argument of a call must be a .param variable", name);
        }
        Operand& argument = arguments.emplace_back();
        argument.kind = Operand::Kind::variable;
        argument.index = static_cast<std::uint32_t>(found);
    } while (cursor_.accept(','));
    cursor_.expect(')', "after the arguments of a call");
    return arguments;
}

void InstructionParser::parse_branch_targets(const Token& label) {
    if (label.kind != TokenKind::word) cursor_.fail_expected("a label before .branchtargets", cursor_.peek());
    std::vector<Token>& targets = branch_targets_[std::string(label.text)];
    targets.clear();
    do targets.push_back(cursor_.expect_word("a label"));
    while (cursor_.accept(','));
    cursor_.expect(';', "after .branchtargets");
}

// brx.idx index, list: the operands become the index and all labels of the list.
void InstructionParser::add_branch_targets(Instruction& instruction, const Token& list) {
    const auto found = branch_targets_.find(list.text);
    if (found == branch_targets_.end()) cursor_.fail("no .branchtargets of this name before its use", list);
    instruction.operands.resize(1);
    const auto position = static_cast<std::uint32_t>(kernel_.instructions.size());
    for (const Token& target : found->second) {
        Operand& operand = instruction.operands.emplace_back();
        operand.kind = Operand::Kind::label;
        symbols_.refer_to_label(target, position,
                                static_cast<std::uint32_t>(instruction.operands.size() - 1));
    }
    kernel_.instructions.push_back(std::move(instruction));
}

void InstructionParser::parse_guard(Instruction& instruction) {
    if (!cursor_.accept('@')) return;
    instruction.guard_negated = cursor_.accept('!');
    const Token token = cursor_.expect_word("a predicate register after '@'");
    instruction.guard = static_cast<std::int32_t>(symbols_.find_register(token.text));
    if (instruction.guard < 0) {
        const std::string near = nearest_name(std::string(token.text));
        cursor_.fail("unknown register", token,
                     near.empty() ? "declare it with .reg .pred" : "did you mean " + near + "?");
    }
    const Type type = kernel_.registers[static_cast<std::size_t>(instruction.guard)].type;
    if (type != Type::pred) {
        cursor_.fail("a guard must be a predicate, this register is ." + std::string(name_of(type)), token);
    }
}

std::vector<InstructionParser::RawOperand> InstructionParser::parse_operands() {
    std::vector<RawOperand> raw;
    if (cursor_.accept(';')) return raw;
    for (;;) {
        raw.push_back(parse_operand());
        if (raw.size() > kMaximumOperands) cursor_.fail("too many operands", raw.back().token);
        while (cursor_.accept('|')) {
            raw.push_back(parse_operand());
            raw.back().paired = true;
        }
        if (cursor_.accept(';')) return raw;
        cursor_.expect(',', "or ';' after an operand");
    }
}

std::string InstructionParser::parse_name() {
    const Token token = cursor_.next();
    std::string name(token.text);
    // Special registers have a dot in their name.
    if (cursor_.peek().kind == TokenKind::suffix && name.starts_with('%')) {
        name += "." + std::string(cursor_.next().text);
    }
    return name;
}

InstructionParser::RawOperand InstructionParser::parse_literal() {
    RawOperand raw;
    raw.token = cursor_.peek();
    bool minus = false;
    while (cursor_.peek().is('-') || cursor_.peek().is('+')) minus ^= cursor_.next().is('-');
    const Token token = cursor_.next();
    raw.bits = token.bits;
    switch (token.kind) {
        case TokenKind::integer:
            raw.kind = RawOperand::Kind::integer;
            if (minus) raw.bits = ~raw.bits + 1;
            break;
        case TokenKind::single:
            raw.kind = RawOperand::Kind::single;
            if (minus) raw.bits ^= 0x80000000u;
            break;
        case TokenKind::real:
            raw.kind = RawOperand::Kind::real;
            if (minus) raw.bits ^= std::uint64_t{1} << 63;
            break;
        default:
            cursor_.fail_expected("an operand", token);
    }
    return raw;
}

InstructionParser::RawOperand InstructionParser::parse_address() {
    RawOperand raw;
    raw.kind = RawOperand::Kind::address;
    raw.token = cursor_.peek();
    if (cursor_.peek().kind == TokenKind::word) {
        raw.name = parse_name();
    } else {
        raw.bits = cursor_.expect_integer("a register, a variable or an integer in an address");
    }
    while (cursor_.peek().is('+') || cursor_.peek().is('-')) {
        const bool minus = cursor_.next().is('-');
        const std::uint64_t offset = cursor_.expect_integer("an integer offset");
        raw.bits += minus ? ~offset + 1 : offset;
    }
    cursor_.expect(']', "after an address");
    return raw;
}

InstructionParser::RawOperand InstructionParser::parse_operand() {
    RawOperand raw;
    raw.token = cursor_.peek();
    if (cursor_.accept('[')) return parse_address();
    if (cursor_.accept('{')) {
        raw.kind = RawOperand::Kind::vector;
        do {
            if (cursor_.peek().is('{') || raw.elements.size() == 16) {
                cursor_.fail("a vector operand holds up to 16 scalars", cursor_.peek());
            }
            raw.elements.push_back(parse_operand());
        } while (cursor_.accept(','));
        cursor_.expect('}', "after a vector operand");
        return raw;
    }
    raw.negated = cursor_.accept('!');
    if (cursor_.peek().kind != TokenKind::word) return parse_literal();
    raw.token = cursor_.peek();
    raw.name = parse_name();
    raw.kind = raw.name == "_" ? RawOperand::Kind::sink : RawOperand::Kind::name;
    return raw;
}

void InstructionParser::match(Instruction& instruction, const Token& opcode,
                              const std::vector<std::string_view>& suffixes,
                              const std::vector<RawOperand>& raw) {
    // Several rows may have these suffixes. The complaint of the row that got furthest is the most helpful.
    bool matched = false;
    Complaint complaint;
    for (const InstructionForm& form : forms_of(instruction.opcode)) {
        if (!match_suffixes(form, suffixes, instruction)) continue;
        Complaint own;
        if (bind_operands(form, raw, instruction, own)) {
            instruction.form = &form;
            return;
        }
        if (!matched || own.token.text.data() > complaint.token.text.data()) complaint = own;
        matched = true;
    }
    if (!matched) fail_unknown_suffixes(opcode, instruction.opcode, suffixes);
    cursor_.fail("in " + std::string(opcode.text) + join(suffixes) + ": " + complaint.problem,
                 complaint.token, complaint.remedy);
}

bool InstructionParser::bind_operands(const InstructionForm& form, const std::vector<RawOperand>& raw,
                                      Instruction& instruction, Complaint& complaint) {
    std::array<OperandPattern, kMaximumOperands> patterns;
    const std::size_t count = operand_patterns(form, instruction, patterns);
    instruction.operands.assign(count, {});
    std::size_t used = 0, written = 0, required = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const OperandPattern& pattern = patterns[i];
        if (pattern.carry) continue;
        ++written;
        if (!pattern.optional) ++required;
        const bool present = used < raw.size() && raw[used].paired == pattern.paired;
        if (!present) {
            if (pattern.optional) continue;
            complaint = {"operand " + std::to_string(used + 1) + " is missing", "", cursor_.peek()};
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

bool InstructionParser::bind(const OperandPattern& pattern, const RawOperand& raw, Instruction& instruction,
                             Operand& operand, Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    if (raw.negated && !pattern.may_negate) return reject("this operand cannot be negated with '!'");
    if (pattern.label) {
        if (raw.kind != RawOperand::Kind::name) return reject("expected a label");
        operand.kind = Operand::Kind::label;
        return true;
    }
    if (pattern.address) {
        if (raw.kind != RawOperand::Kind::address)
            return reject("expected an address", "write it as [register+offset]");
        return bind_address(raw, instruction, operand, complaint);
    }
    if (raw.kind == RawOperand::Kind::address) return reject("an address is not possible here");
    if (pattern.constant) {
        if (raw.kind != RawOperand::Kind::integer) return reject("expected an integer constant");
        operand = {.kind = Operand::Kind::immediate, .type = Type::u64, .bits = raw.bits, .elements = {}};
        return true;
    }
    const Type type = pattern_type(pattern, instruction);
    if (pattern.vector && !(pattern.elements == 1 && raw.kind != RawOperand::Kind::vector)) {
        if (raw.kind != RawOperand::Kind::vector || raw.elements.size() != pattern.elements) {
            return reject("expected a vector of " + std::to_string(pattern.elements) + " operands",
                          "write {a, b, ...}");
        }
        operand.kind = Operand::Kind::vector;
        for (const RawOperand& element : raw.elements) {
            if (!bind_scalar(pattern, type, element, operand.elements.emplace_back(), complaint))
                return false;
        }
        return true;
    }
    if (raw.kind == RawOperand::Kind::vector) return reject("a vector is not possible here");
    if (!bind_scalar(pattern, type, raw, operand, complaint)) return false;
    if (pattern.vector) {  // a vector of one, written without braces
        Operand scalar = std::move(operand);
        operand = {};
        operand.kind = Operand::Kind::vector;
        operand.elements.push_back(std::move(scalar));
    }
    return true;
}

bool InstructionParser::bind_scalar(const OperandPattern& pattern, Type type, const RawOperand& raw,
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

bool InstructionParser::bind_name(const OperandPattern& pattern, Type type, const RawOperand& raw,
                                  Operand& operand, Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    operand.negated = raw.negated;
    if (const std::int64_t found = symbols_.find_register(raw.name); found >= 0) {
        operand.kind = Operand::Kind::reg;
        operand.index = static_cast<std::uint32_t>(found);
        operand.type = kernel_.registers[operand.index].type;
        if (agrees(type, operand.type, pattern.wider)) return true;
        return reject("this operand must be ." + std::string(name_of(type)) + ", the register is ." +
                      std::string(name_of(operand.type)));
    }
    SpecialRegister special{};
    if (find_special(raw.name, special)) {
        if (pattern.written) return reject("a special register cannot be written");
        operand.kind = Operand::Kind::special;
        operand.index = static_cast<std::uint32_t>(special);
        operand.type = type_of(special);
        if (agrees(type, operand.type, pattern.wider)) return true;
        return reject("this operand must be ." + std::string(name_of(type)) + ", the special register is ." +
                      std::string(name_of(operand.type)));
    }
    const std::int64_t variable = find_variable(raw.name), parameter = find_parameter(raw.name);
    if (variable >= 0 || parameter >= 0) {
        if (!pattern.may_be_variable)
            return reject("the address of a variable is not possible here", "use mov first");
        if (is_float(type)) return reject("the address of a variable is not a floating-point number");
        operand.kind = variable >= 0 ? Operand::Kind::variable : Operand::Kind::parameter;
        operand.index = static_cast<std::uint32_t>(variable >= 0 ? variable : parameter);
        operand.type = type;
        return true;
    }
    const std::string near = nearest_name(raw.name);
    return reject("unknown register or variable " + raw.name,
                  near.empty() ? "declare it with .reg" : "did you mean " + near + "?");
}

bool InstructionParser::bind_address(const RawOperand& raw, const Instruction& instruction, Operand& operand,
                                     Complaint& complaint) {
    const auto reject = [&](std::string problem, std::string remedy = "") {
        complaint = {std::move(problem), std::move(remedy), raw.token};
        return false;
    };
    operand.kind = Operand::Kind::address;
    operand.bits = raw.bits;
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
        if (space == instruction.space || space == instruction.second_space) return true;
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

bool InstructionParser::bind_literal(Type type, const RawOperand& raw, Operand& operand,
                                     Complaint& complaint) {
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
        if (type == Type::pred && raw.bits > 1) return reject("a predicate constant is 0 or 1");
        operand.bits = raw.bits & mask;
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

std::int64_t InstructionParser::find_variable(std::string_view name) const {
    for (std::size_t i = kernel_.variables.size();
         i-- > 0;) {  // the innermost, latest declaration hides others
        if (kernel_.variables[i].name == name) return static_cast<std::int64_t>(i);
    }
    return -1;
}

std::int64_t InstructionParser::find_parameter(std::string_view name) const {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
        if (kernel_.parameters[i].name == name) return static_cast<std::int64_t>(i);
    }
    return -1;
}

std::string InstructionParser::nearest_name(const std::string& name) const {
    std::vector<std::string> names = symbols_.register_names();
    for (const Variable& variable : kernel_.variables) names.push_back(variable.name);
    for (const Parameter& parameter : kernel_.parameters) names.push_back(parameter.name);
    return nearest_word(name, names.data(), names.size());
}

void InstructionParser::fail_unknown_opcode(const Token& opcode) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kOpcodeCount; ++i) names.emplace_back(name_of(static_cast<Opcode>(i)));
    const std::string near = nearest_word(std::string(opcode.text), names.data(), names.size());
    cursor_.fail("unknown or unsupported instruction", opcode,
                 near.empty() ? "" : "did you mean " + near + "?");
}

void InstructionParser::fail_unknown_suffixes(const Token& opcode, Opcode code,
                                              const std::vector<std::string_view>& suffixes) const {
    std::string forms;
    for (const InstructionForm& form : forms_of(code)) {
        if (forms.size() > 600) {
            forms += ", ...";
            break;
        }
        if (!forms.empty()) forms += ", ";
        forms += "\"" + std::string(opcode.text) + (form.suffixes.empty() ? "" : " ") +
                 std::string(form.suffixes) + "\"";
    }
    cursor_.fail("unsupported form " + std::string(opcode.text) + join(suffixes), opcode,
                 forms.empty() ? "this instruction is not supported" : "supported forms: " + forms);
}

}  // namespace heddle::ptx
