// What must stay before what within a basic block.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/schedule/definitions.h"

namespace heddle::ptx {

/// One instruction of a block must stay before another.
struct Dependence {
    std::uint32_t before = 0;   ///< place in the block, from 0
    std::uint32_t latency = 0;  ///< cycles from the issue of the one to that of the other
};

/// For each instruction of block `block`, what it must wait for.
std::vector<std::vector<Dependence>> find_dependences(const Kernel& kernel, const Definitions& definitions,
                                                      std::uint32_t block);

/// Cycles that the assembler expects a result to take, and issue slots. Of an Ampere or Hopper SM: fixed
/// latencies as measured (Jia et al. 2018, Luo et al. 2024), memory as a hit in L2. They order instructions
/// and are no part of the timing model.
std::uint32_t expected_latency(const Instruction& instruction);
std::uint32_t issue_slots(const Instruction& instruction);

}  // namespace heddle::ptx
