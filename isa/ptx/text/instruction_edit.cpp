#include "isa/ptx/text/instruction_edit.h"

#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {

Instruction make_instruction(Opcode opcode, const std::vector<std::string_view>& suffixes) {
    Instruction instruction;
    for (const InstructionForm& form : forms_of(opcode)) {
        if (!match_suffixes(form, suffixes, instruction)) continue;
        instruction.opcode = opcode;
        instruction.form = &form;
        break;
    }
    return instruction;
}

Instruction instruction_like(const Instruction& n, Opcode opcode,
                             const std::vector<std::string_view>& suffixes) {
    Instruction other = n;
    other.operands.clear();
    other.modifiers.reset();
    other.types.clear();
    other.space = other.second_space = StateSpace::none;
    const Instruction made = make_instruction(opcode, suffixes);
    other.opcode = opcode;
    other.form = made.form;
    other.modifiers = made.modifiers;
    other.types = made.types;
    other.space = made.space;
    other.second_space = made.second_space;
    return other;
}

Instruction as_local_access(const Instruction& n) {
    std::vector<std::string_view> suffixes = {"local"};
    if (n.has(Modifier::v2)) suffixes.push_back("v2");
    if (n.has(Modifier::v4)) suffixes.push_back("v4");
    suffixes.push_back(name_of(n.type()));
    Instruction access = instruction_like(n, n.opcode, suffixes);
    access.operands = n.operands;
    return access;
}

void rename(Operand& operand, const Frame& frame) {
    for (Operand& element : operand.elements) rename(element, frame);
    const Operand::Kind kind = operand.kind == Operand::Kind::address ? operand.base : operand.kind;
    if (kind == Operand::Kind::reg) operand.index = frame.registers[operand.index];
    if (kind == Operand::Kind::variable) operand.index = frame.variables[operand.index];
}

}  // namespace heddle::ptx
