// What those ask who write a kernel down in another form than PTX.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

/// The text's instruction behind LoadedKernel::instructions()[index], as it stands after scheduling.
const Instruction& instruction_of(const LoadedKernel& kernel, std::size_t index);

/// An mbarrier between two steps.
struct MemoryBarrierState {
    bool phase = false;             ///< parity of the phase that is going on
    std::uint32_t pending = 0;      ///< arrivals that it still needs
    std::uint32_t expected = 0;     ///< arrivals that each phase needs
    std::int32_t transactions = 0;  ///< bytes that are under way
};
/// Lanes of the warp wait for an mbarrier at this instruction, which they will perform again.
bool will_perform_again(const Warp& warp, std::uint32_t instruction);

/// Of each of the block's 16 barriers, who has arrived and waits, as a number that an arrival changes: but
/// for one that opens at once.
std::array<std::uint64_t, 16> barrier_states(const Cta& block);

/// That at an address of MemoryAccess, in the block's own shared memory or that of its cluster. Nothing:
/// there is none.
std::optional<MemoryBarrierState> memory_barrier_state(const Cta& block, std::uint64_t address);

}  // namespace heddle::ptx
