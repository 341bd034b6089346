// A PTX kernel as the machine instructions that represent it in a trace: names and operands as ptxas would
// use them, registers from Heddle's own allocation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::sass {

/// The immediate of a barrier whose number is in a register.
inline constexpr std::int64_t kInRegister = -1;

/// One machine instruction.
struct MachineLine {
    std::string opcode;
    bool writes = false;
    std::uint8_t destination = 255;
    std::vector<std::uint8_t> sources = {};  ///< at most four
    std::uint8_t bytes_per_lane = 0;         ///< width of its memory access; 0: none
    std::int64_t immediate = 0;              ///< kInRegister: it is known only when the instruction runs
};

/// Returns the lines that represent instruction `index` of the kernel, one for each machine operation, with
/// the one that accesses memory first; none for an instruction that takes no issue slot.
std::vector<MachineLine> machine_code(const ptx::LoadedKernel& kernel, std::size_t index);

}  // namespace heddle::sass
