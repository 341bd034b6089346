// Access to the inside of loaded kernels and running thread blocks, for code that records a kernel in another
// form than PTX.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

/// The parsed instruction that LoadedKernel::instructions()[index] describes, in the order after scheduling.
const Instruction& instruction_of(const LoadedKernel& kernel, std::size_t index);

/// An mbarrier between two steps.
struct MemoryBarrierState {
    bool phase = false;             ///< parity of the phase that is going on
    std::uint32_t pending = 0;      ///< arrivals that it still needs
    std::uint32_t expected = 0;     ///< arrivals that each phase needs
    std::int32_t transactions = 0;  ///< bytes that are under way
};
/// Whether lanes of the warp wait for an mbarrier at this instruction, which they will perform again.
bool will_perform_again(const Warp& warp, std::uint32_t instruction);

/// For each of the block's 16 barriers a number that stands for the warps that have arrived and wait. Every
/// arrival changes it, except one that completes the barrier.
std::array<std::uint64_t, 16> barrier_states(const Cta& block);

/// The mbarrier at an address of MemoryAccess, in the block's own shared memory or in that of its cluster;
/// nothing when there is none.
std::optional<MemoryBarrierState> memory_barrier_state(const Cta& block, std::uint64_t address);

}  // namespace heddle::ptx
