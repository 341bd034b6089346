#include "isa/ptx/schedule/edit.h"

#include <array>

#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {

std::uint64_t cut(std::uint64_t value, unsigned bits) {
    return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

Operand make_immediate(std::uint64_t value, Type type) {
    Operand operand;
    operand.kind = Operand::Kind::immediate;
    operand.type = type;
    operand.bits = cut(value, bits_of(type));
    return operand;
}

bool respell(Instruction& instruction, Opcode opcode, const std::vector<std::string_view>& suffixes) {
    Instruction spelt = instruction;
    spelt.opcode = opcode;
    for (const InstructionForm& form : forms_of(opcode)) {
        if (!match_suffixes(form, suffixes, spelt)) continue;
        spelt.form = &form;
        instruction = std::move(spelt);
        return true;
    }
    return false;
}

void turn_into_move(Instruction& instruction, const Operand& dest, const Operand& source) {
    const unsigned bits = bits_of(dest.type);
    const std::string_view type = bits == 1 ? "pred" : bits == 16 ? "b16" : bits == 64 ? "b64" : "b32";
    const Operand to = dest;  // the arguments may lie in the instruction
    Operand from = source;
    if (from.kind == Operand::Kind::immediate) from = make_immediate(from.bits, type_named(type));
    if (!respell(instruction, Opcode::mov, {type})) return;
    instruction.operands = {to, from};
    instruction.operations = -1;
}

void remove_instructions(Kernel& kernel, const std::vector<bool>& removed) {
    std::vector<std::uint32_t> place;
    std::vector<Instruction> kept;
    for (std::size_t i = 0; i < removed.size(); ++i) {
        place.push_back(static_cast<std::uint32_t>(kept.size()));
        if (!removed[i]) kept.push_back(std::move(kernel.instructions[i]));
    }
    place.push_back(static_cast<std::uint32_t>(kept.size()));
    for (Instruction& n : kept) {
        for (Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::label) operand.index = place[operand.index];
        }
    }
    kernel.instructions = std::move(kept);
}

namespace {

void visit_operand(Operand& operand, bool written, const std::function<void(Operand&, bool)>& visit) {
    if (operand.kind == Operand::Kind::reg)
        visit(operand, written);
    else if (operand.kind == Operand::Kind::address && operand.base == Operand::Kind::reg)
        visit(operand, false);
    const bool address = operand.kind == Operand::Kind::address;
    for (Operand& element : operand.elements) visit_operand(element, written && !address, visit);
}

}  // namespace

void for_each_register(Instruction& instruction, const std::function<void(Operand&, bool)>& visit) {
    if (instruction.opcode == Opcode::call) return;  // they are named elsewhere
    std::array<OperandPattern, kMaximumOperands> patterns;
    const std::size_t count = operand_patterns(*instruction.form, instruction, patterns);
    for (std::size_t o = 0; o < count && o < instruction.operands.size(); ++o)
        visit_operand(instruction.operands[o], patterns[o].written, visit);
}

}  // namespace heddle::ptx
