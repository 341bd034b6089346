// Whether a decoded instruction is the one that a text of nvdisasm says, in all its operands.
#pragma once

#include <string>

#include "isa/sass/instruction.h"

namespace heddle::sass::test {

/// Whether the operand is a NaN, whose text does not say its bits.
inline bool is_nan(const Operand& operand, const Instruction& instruction) {
    if (operand.kind != OperandKind::floating) return false;
    Instruction alone = instruction;
    alone.operands = {operand};
    return text_of(alone).find("NAN") != std::string::npos;
}

/// Compares all but the address and the control word, which the text does not show. Throws heddle::Error for text that cannot be read.
inline bool same_instruction(const Instruction& decoded, const std::string& text) {
    Instruction said = parse_instruction(text);
    said.address = decoded.address;
    said.control = decoded.control;
    if (said.operands.size() != decoded.operands.size()) return false;
    for (std::size_t i = 0; i < said.operands.size(); ++i)
        if (is_nan(said.operands[i], said) && is_nan(decoded.operands[i], decoded)) said.operands[i].value = decoded.operands[i].value;
    return said == decoded;
}

}  // namespace heddle::sass::test
