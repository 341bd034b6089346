#include "isa/ptx/text/instruction_parser.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/ptx/machine/texture_instructions.h"

namespace heddle::ptx {
namespace {

bool find_opcode(std::string_view word, Opcode& opcode) {
    for (std::size_t i = 0; i < kOpcodeCount; ++i) {
        if (name_of(static_cast<Opcode>(i)) != word) continue;
        opcode = static_cast<Opcode>(i);
        return true;
    }
    return false;
}

std::string join(const std::vector<std::string_view>& suffixes) {
    std::string text;
    for (const std::string_view suffix : suffixes) text += "." + std::string(suffix);
    return text;
}

// Whole families that are not simulated.
std::string_view explain_unsupported(Opcode opcode) {
    switch (opcode) {
        case Opcode::istypep:
            return "references to textures and surfaces are not supported";
        case Opcode::multimem:
            return "multimem needs several devices, which are not simulated";
        case Opcode::clusterlaunchcontrol:
            return "this instruction is for compute capability 10 and later";
        default:
            return "this instruction is not supported";
    }
}

}  // namespace

void InstructionParser::parse() {
    Instruction instruction;
    parse_guard(instruction);
    const Token opcode = cursor_.expect_word("an instruction");
    instruction.line = opcode.line;
    if (!find_opcode(opcode.text, instruction.opcode) || (is_machine_form(instruction.opcode) && dialect_ != Dialect::machine_code))
        fail_unknown_opcode(opcode);
    std::vector<std::string_view> suffixes;
    while (cursor_.peek().kind == TokenKind::suffix) suffixes.push_back(cursor_.next().text);
    if (instruction.opcode == Opcode::call) return parse_call(instruction);
    const std::vector<RawOperand> raw = operands_.parse_all();
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

// call (results), name, (arguments), prototype; every argument is a .param variable. The third operand is the
// register with the function's address, or an index in Kernel::callees.
void InstructionParser::parse_call(Instruction& instruction) {
    Operand results, arguments, callee;
    results.kind = arguments.kind = Operand::Kind::vector;
    callee.kind = Operand::Kind::immediate;
    if (cursor_.peek().is('(')) {
        results.elements = parse_call_arguments();
        cursor_.expect(',', "after the results of a call");
    }
    const Token name = cursor_.expect_word("the name of a function");
    const std::int64_t pointer = symbols_.find_register(name.text);
    if (pointer >= 0) {
        callee.kind = Operand::Kind::reg;
        callee.index = static_cast<std::uint32_t>(pointer);
        callee.type = kernel_.registers[callee.index].type;
        if (bits_of(callee.type) != 64 || is_float(callee.type))
            cursor_.fail("the address of a function needs a 64-bit integer register", name);
    } else {
        callee.bits = kernel_.callees.size();
        kernel_.callees.emplace_back(name.text);
    }
    bool prototype = false;
    while (cursor_.accept(',')) {
        if (cursor_.peek().is('(')) {
            arguments.elements = parse_call_arguments();
            continue;
        }
        const Token list = cursor_.expect_word("the arguments of a call, or its prototype");
        if (pointer < 0 || call_prototypes_.find(list.text) == call_prototypes_.end())
            cursor_.fail("no .callprototype or .calltargets of this name before its use", list);
        prototype = true;
    }
    if (pointer >= 0 && !prototype)
        cursor_.fail("a call through a register needs the name of a .callprototype", name);
    cursor_.expect(';', "after a call");
    instruction.operands = {results, arguments, callee};
    kernel_.instructions.push_back(std::move(instruction));
}

// The sizes of the arguments say the same as a prototype.
void InstructionParser::parse_call_prototype(const Token& label) {
    if (label.kind != TokenKind::word) cursor_.fail_expected("a label before .callprototype", cursor_.peek());
    call_prototypes_.insert(std::string(label.text));
    while (!cursor_.at_end() && !cursor_.peek().is(';') && !cursor_.peek().is('{')) cursor_.next();
    cursor_.expect(';', "after .callprototype");
}

std::vector<Operand> InstructionParser::parse_call_arguments() {
    std::vector<Operand> arguments;
    cursor_.expect('(', "before the arguments of a call");
    if (cursor_.accept(')')) return arguments;
    do {
        const Token name = cursor_.expect_word("a .param variable");
        const std::int64_t found = binder_.find_variable(name.text);
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
        const std::string near = binder_.nearest_name(std::string(token.text));
        cursor_.fail("unknown register", token,
                     near.empty() ? "declare it with .reg .pred" : "did you mean " + near + "?");
    }
    const Type type = kernel_.registers[static_cast<std::size_t>(instruction.guard)].type;
    if (type != Type::pred) {
        cursor_.fail("a guard must be a predicate, this register is ." + std::string(name_of(type)), token);
    }
}

void InstructionParser::match(Instruction& instruction, const Token& opcode,
                              const std::vector<std::string_view>& suffixes,
                              const std::vector<RawOperand>& raw) {
    // Several rows may have these suffixes. The complaint of the row that got furthest is the most helpful.
    // The manual's order comes first: it is what nearly all texts have, and quicker to compare.
    bool matched = false;
    OperandBinder::Complaint complaint;
    for (const auto match_form : {match_suffixes, match_reordered}) {
        for (const InstructionForm& form : forms_of(instruction.opcode)) {
            if (!match_form(form, suffixes, instruction)) continue;
            OperandBinder::Complaint own;
            if (binder_.bind_operands(form, raw, cursor_.peek(), instruction, own)) {
                instruction.form = &form;
                return;
            }
            if (!matched || own.token.text.data() > complaint.token.text.data()) complaint = own;
            matched = true;
        }
    }
    if (!matched) return replace_unsupported(instruction, opcode, suffixes);
    if (is_texture_instruction(instruction) && names_no_register(raw)) {
        return replace_unsupported(instruction, opcode, suffixes,
                                   "references to textures and surfaces are not supported: pass objects to the kernel");
    }
    cursor_.fail("in " + std::string(opcode.text) + join(suffixes) + ": " + complaint.problem,
                 complaint.token, complaint.remedy);
}

// A texture that the module declares, in place of a register that holds an object.
bool InstructionParser::names_no_register(const std::vector<RawOperand>& raw) const {
    return std::any_of(raw.begin(), raw.end(), [&](const RawOperand& operand) {
        return operand.kind == RawOperand::Kind::address && !operand.name.empty() && symbols_.find_register(operand.name) < 0;
    });
}

void InstructionParser::fail_unknown_opcode(const Token& opcode) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kOpcodeCount; ++i) {
        if (!is_machine_form(static_cast<Opcode>(i))) names.emplace_back(name_of(static_cast<Opcode>(i)));
    }
    const std::string near = nearest_word(std::string(opcode.text), names.data(), names.size());
    cursor_.fail("unknown or unsupported instruction", opcode,
                 near.empty() ? "" : "did you mean " + near + "?");
}

// The kernel is refused when it is loaded; the module may have others.
void InstructionParser::replace_unsupported(Instruction& instruction, const Token& opcode,
                                            const std::vector<std::string_view>& suffixes, const std::string& remedy) {
    std::string forms;
    for (const InstructionForm& form : forms_of(instruction.opcode)) {
        if (forms.size() > 600) {
            forms += ", ...";
            break;
        }
        if (!forms.empty()) forms += ", ";
        forms += "\"" + std::string(opcode.text) + (form.suffixes.empty() ? "" : " ") +
                 std::string(form.suffixes) + "\"";
    }
    unsupported_.push_back(
        {"unsupported form " + std::string(opcode.text) + join(suffixes), std::string(opcode.text),
         !remedy.empty()  ? remedy
         : forms.empty() ? std::string(explain_unsupported(instruction.opcode)) : "supported forms: " + forms,
         opcode.line});
    instruction.unsupported = static_cast<std::uint32_t>(unsupported_.size());
    instruction.opcode = Opcode::trap;
    instruction.form = &forms_of(Opcode::trap).front();
    match_suffixes(*instruction.form, {}, instruction);
    instruction.operands.clear();
}

}  // namespace heddle::ptx
