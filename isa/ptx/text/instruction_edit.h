// Instructions made of others, while functions are copied into a kernel. Internal to the parser.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// An instruction with these suffixes, of the first row that they match.
Instruction make_instruction(Opcode opcode, const std::vector<std::string_view>& suffixes);
/// Another instruction in the place of `n`, under its guard, without operands.
Instruction instruction_like(const Instruction& n, Opcode opcode,
                             const std::vector<std::string_view>& suffixes);
/// The same load or store, of local memory.
Instruction as_local_access(const Instruction& n);

/// Where the registers and variables of a body are in the kernel.
struct Frame {
    std::vector<std::uint32_t> registers, variables;  ///< index in the kernel, by index in the body
};
void rename(Operand& operand, const Frame& frame);

}  // namespace heddle::ptx
