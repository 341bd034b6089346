// Converts the addresses of a trace to those of the memory system of models/gpu.
#pragma once

#include <cstdint>

#include "isa/ptx/execution.h"
#include "workloads/sass_traces/kernel_trace.h"

namespace heddle::sass {

/// Size of a window of generic addresses. There is a window for the shared memory of each thread block (first
/// the block's own, then those of its cluster by rank) and one for local memory.
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 24;
/// Local memory has room for this many thread blocks of 32 warps, with this many bytes for each thread. A
/// thread's addresses are taken modulo that size; further blocks share the places.
inline constexpr std::uint64_t kLocalBlocks = 8192, kLocalBytes = 16384;

/// The assumed address of texels and surface elements, which a trace does not contain.
inline constexpr std::uint64_t kTexturePlace = (std::uint64_t{1} << 38) - (std::uint64_t{1} << 20);

/// Determines the space of a generic access from its first lane, and converts the addresses of its lanes:
/// offsets in shared memory; addresses in local memory, which begins at `local` for this warp and is
/// interleaved so that equal offsets of neighbouring lanes are neighbouring words; and global addresses
/// within the range of the caches' tags. All are aligned down to the access's width. Throws heddle::Error for
/// a width that no GPU has.
void place_in_space(const KernelHeader& header, std::uint64_t local, ptx::MemoryAccess& access);

/// Returns the space in which a generic address lies.
ptx::StateSpace space_of(const KernelHeader& header, std::uint64_t address);
/// Returns a global address as the caches see it.
inline std::uint64_t global_place(std::uint64_t address) {
    return address &
           ((std::uint64_t{1} << 38) - 1);  // the lower half of 512 GiB; local memory has the upper one
}

}  // namespace heddle::sass
