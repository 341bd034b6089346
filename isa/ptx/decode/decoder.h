// Makes the dense form of a kernel that warps execute, for one mode.
#pragma once

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/decode/steering.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// What is known of a kernel before it is decoded; both modes share it.
struct Analysis {
    std::vector<RegisterUse> uses;  ///< by instruction
    ControlFlow flow;               ///< blocks and reconvergence
    Liveness liveness;              ///< registers that are live at the borders of blocks
    SteeringSlice steering;         ///< what timing mode evaluates
};

/// Throws heddle::Error naming `file_name` and the line when an instruction has no handler.
Program decode(const Kernel& kernel, const std::string& file_name, const Analysis& analysis, Mode mode);

/// Register rows by linear scan over live ranges, one pool per width. Registers that `used` leaves out get
/// none.
struct RowAssignment {
    std::vector<std::uint32_t> offset;  ///< of each register and the carry flag; kAbsent without a row
    std::size_t bytes = 0;              ///< of one warp
    /// Byte offsets that divide the rows of one function.
    struct Block {
        std::size_t start, narrow, wide, end;  ///< predicates, then narrow rows, then wide ones
    };
    std::vector<Block> functions;  ///< where the rows of each of Kernel::functions are
};
RowAssignment assign_rows(const Kernel& kernel, const Analysis& analysis, const std::vector<bool>& used);

}  // namespace heddle::ptx
