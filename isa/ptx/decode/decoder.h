// Makes the dense form of a kernel that warps execute, for one mode.
#pragma once

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/decode/steering.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

struct Analysis {
    std::vector<RegisterUse> uses;
    ControlFlow flow;
    Liveness liveness;
    SteeringSlice steering;
};

/// Throws heddle::Error naming `file_name` and the line when an instruction has no handler.
Program decode(const Kernel& kernel, const std::string& file_name, const Analysis& analysis, Mode mode);

/// Register rows by linear scan over live ranges, one pool per width. Registers that `used` leaves out get
/// none.
struct RowAssignment {
    std::vector<std::uint32_t> offset;  ///< of each register and the carry flag; kAbsent without a row
    std::size_t bytes = 0;
    struct Block {
        std::size_t start, narrow, wide, end;  ///< predicates, then narrow rows, then wide ones
    };
    std::vector<Block> functions;  ///< where the rows of each of Kernel::functions are
};
RowAssignment assign_rows(const Kernel& kernel, const Analysis& analysis, const std::vector<bool>& used);

}  // namespace heddle::ptx
