// A PTX kernel as the machine instructions that stand for it in a trace: names and operands as ptxas would
// use them, registers from Heddle's own allocation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::sass {

/// Of a barrier whose number stands in a register.
inline constexpr std::int64_t kInRegister = -1;

struct MachineLine {
    std::string opcode;
    bool writes = false;
    std::uint8_t destination = 255;
    std::vector<std::uint8_t> sources = {};  ///< at most four
    std::uint8_t bytes_per_lane = 0;         ///< of its memory access; 0: none
    std::int64_t immediate = 0;              ///< kInRegister: it is not known before the instruction runs
};

/// The lines that stand for instruction `index` of the kernel, one for each machine operation, the one that
/// touches memory first; none for what costs no issue slot.
std::vector<MachineLine> machine_code(const ptx::LoadedKernel& kernel, std::size_t index);

}  // namespace heddle::sass
