// The rare parts of memory accesses, compiled once for all instruction sets of the host.
#pragma once

#include <array>
#include <cstdint>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Decides the state space of a generic access and makes its addresses relative to it. When lanes differ it
/// returns `generic` and changes nothing: each lane has to be looked at by itself.
StateSpace resolve_generic(Warp::State& warp, std::uint32_t mask, MemoryAccess& access);

/// The CTA of the cluster in whose shared memory [address, address + bytes) lies; nullptr: none that runs.
Cta::Implementation* find_in_cluster(const Warp::State& warp, std::uint64_t address, std::uint64_t bytes);
/// Makes `base` what to add to addresses in shared::cluster to get host addresses. False when lanes reach
/// different CTAs. Addresses of the own CTA become those of shared::cta. Throws when a lane reaches no CTA.
bool locate_in_cluster(Warp::State& warp, std::uint32_t mask, MemoryAccess& access, std::uintptr_t& base);
/// Addresses beyond the CTA's shared memory are an error unless mapa made them for this CTA.
void require_own_shared(Warp::State& warp, std::uint32_t mask, MemoryAccess& access);

/// The bytes of the constant bank, including addresses of variables that are known at launch only.
const std::vector<std::byte>& constant_bank_of(const Cta::Implementation& cta);

/// A piece of memory of the host that stands for a small state space.
struct SmallSpace {
    std::uintptr_t base = 0;  ///< address on the host
    std::uint64_t bytes = 0;  ///< size
};
/// Local memory, constant bank, parameters: checks bounds, fills `offset` from the base, and rewrites the
/// addresses of local memory to what the memory system sees. `highest` is the largest address of the lanes in
/// `mask`.
SmallSpace locate_small(Warp::State& warp, std::uint32_t mask, MemoryAccess& access,
                        std::array<std::uint64_t, kWarpSize>& offset, std::uint64_t highest);

/// Checks an access whose lanes lie in several allocations: throws when one lane is outside of all.
void check_lanes(Warp::State& warp, std::uint32_t mask, const MemoryAccess& access);

/// Ends the run: timing mode has asked for values of memory that has none.
[[noreturn]] void fail_no_values(const Warp::State& warp, const MemoryAccess& access,
                                 const Allocation& allocation);

}  // namespace heddle::ptx
