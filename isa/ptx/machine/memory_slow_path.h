// The rare parts of memory accesses, compiled once for all instruction sets of the host.
#pragma once

#include <array>
#include <cstdint>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Decides the state space of a generic access and makes its addresses relative to it. Throws when lanes
/// differ.
StateSpace resolve_generic(Warp::State& warp, std::uint32_t mask, MemoryAccess& access);

struct SmallSpace {
    std::uintptr_t base = 0;
    std::uint64_t bytes = 0;
};
/// Local memory, constant bank, parameters: checks bounds, fills `offset` from the base, and rewrites the
/// addresses of local memory to what the memory system sees. `highest` is the largest address of the lanes in
/// `mask`.
SmallSpace locate_small(Warp::State& warp, std::uint32_t mask, MemoryAccess& access,
                        std::array<std::uint64_t, kWarpSize>& offset, std::uint64_t highest);

/// Lanes in several allocations: throws when one is outside of all.
void check_lanes(Warp::State& warp, std::uint32_t mask, const MemoryAccess& access);

[[noreturn]] void fail_no_values(const Warp::State& warp, const MemoryAccess& access,
                                 const Allocation& allocation);

}  // namespace heddle::ptx
