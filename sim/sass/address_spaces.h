// From the addresses of a trace to those that the memory system of models/gpu takes.
#pragma once

#include <cstdint>

#include "isa/ptx/execution.h"
#include "workloads/sass_traces/kernel_trace.h"

namespace heddle::sass {

/// Windows of generic addresses: of shared memory (of the thread block itself, then of those of its cluster
/// by rank), and of local memory.
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 24;
/// Local memory: places for so many thread blocks of 32 warps, with so many bytes for each thread. A thread's
/// addresses are taken modulo that; more blocks than places share them.
inline constexpr std::uint64_t kLocalBlocks = 8192, kLocalBytes = 16384;

/// Where texels and elements of surfaces are taken to lie: a trace does not say it.
inline constexpr std::uint64_t kTexturePlace = (std::uint64_t{1} << 38) - (std::uint64_t{1} << 20);

/// Settles the space of a generic access by its first lane, and changes the addresses of its lanes: offsets
/// in shared memory; local memory, which begins at `local` for this warp, interleaved so that lanes at the
/// same place of theirs touch neighbouring words; global memory within what tags of caches tell apart. All
/// are aligned down to the width. Throws heddle::Error for a width that no machine has.
void place_in_space(const KernelHeader& header, std::uint64_t local, ptx::MemoryAccess& access);

/// The space that a generic address lies in.
ptx::StateSpace space_of(const KernelHeader& header, std::uint64_t address);
/// A global address as caches see it.
inline std::uint64_t global_place(std::uint64_t address) {
    return address &
           ((std::uint64_t{1} << 38) - 1);  // the lower half of 512 GiB; local memory has the upper one
}

}  // namespace heddle::sass
