// What an instruction does besides writing registers: whether it may be moved, merged or left out.
#pragma once

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// How freely a pass may treat an instruction.
enum class Effect : std::uint8_t {
    none,        ///< a function of its operands: may be moved, merged with its like, left out
    lanes,       ///< exchanges values between lanes: keeps its order among its like
    load,        ///< an ordinary read of memory
    store,       ///< an ordinary write of memory
    async_copy,  ///< cp.async and its groups: orders other memory accesses, not arithmetic
    everything,  ///< nothing moves across it
};

/// Follows from opcode, suffixes and operands: reading a register that changes by itself, such as %clock, is
/// `everything`.
Effect effect_of(const Instruction& instruction);

/// Reads a kernel parameter: an operand from the constant bank on the machine.
bool loads_parameter(const Instruction& instruction);

}  // namespace heddle::ptx
