// What a decoded wgmma.mma_async says besides its operands: packed into DecodedInstruction::offset.
//
// DecodedInstruction::operand holds D (index of its registers in Program::elements), A (the same, or the row
// of its descriptor), the descriptor of B, for sparse products the metadata, and scale-d.
#pragma once

#include <cstdint>

#include "isa/numerics/formats.h"

namespace heddle::ptx {

/// All fields together have 64 bits.
struct WarpgroupMultiply {
    std::uint16_t columns = 0;                           ///< N
    numerics::Format a_format = numerics::Format::fp16;  ///< floating point only
    numerics::Format b_format = numerics::Format::fp16;  ///< of B
    bool a_in_registers : 1 = false;                     ///< else in shared memory, by a descriptor
    bool a_mn_major : 1 = false;                         ///< trans-a
    bool b_mn_major : 1 = false;                         ///< trans-b
    bool negative : 1 = false;                           ///< scale-a times scale-b is -1
    bool saturates : 1 = false;                          ///< .satfinite
    std::uint8_t selector = 0;  ///< sparse: which pair of each four lanes gives metadata
    std::uint16_t unused = 0;   ///< keeps all bits defined
};
static_assert(sizeof(WarpgroupMultiply) == 8);

}  // namespace heddle::ptx
