// What the registers of a basic block hold from one write to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/schedule/definitions.h"

namespace heddle::ptx {

/// Values of one block, numbered from 0: a register that is written twice holds two, unless the second write
/// has a guard and so keeps the first value in some lanes. In any order that keeps the dependences a value is
/// live from its write (or the start of the block) to its last reader (or the end).
struct BlockValues {
    std::vector<unsigned> weights;       ///< [value] 32-bit registers
    std::vector<std::uint32_t> readers;  ///< [value] instructions, plus one where it is live at the end
    std::vector<std::vector<std::uint32_t>> read;   ///< [instruction of the block] values, each once
    std::vector<std::vector<std::uint32_t>> begun;  ///< [instruction of the block] values that it starts
    unsigned live_at_start = 0;                     ///< registers of the values that the block finds
};

/// `current`: scratch, kNoInstruction for each register before and after.
BlockValues find_block_values(const Kernel& kernel, const Definitions& definitions,
                              const std::vector<unsigned>& weights, std::uint32_t block,
                              std::vector<std::uint32_t>& current);

}  // namespace heddle::ptx
