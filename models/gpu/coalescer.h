// From the addresses of 32 lanes to cache lines, sectors and shared-memory wavefronts.
#pragma once

#include <array>
#include <cstdint>

#include "isa/ptx/execution.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// One cache line of 128 bytes, by number (address / 128), and the 32-byte sectors of it that a warp
/// instruction touches.
struct LineAccess {
    std::uint64_t line = 0;  ///< address / 128
    SectorMask sectors = 0;  ///< bit i: sector i of the line
    bool operator==(const LineAccess&) const = default;
};

/// The lines that one warp instruction touches.
struct CoalescedAccess {
    /// Lines that an access may touch: a texture instruction reads several texels for each lane.
    static constexpr unsigned kMostLines = ptx::kWarpSize * ptx::TexelAddresses::kMost;
    unsigned count = 0;                        ///< valid elements of `lines`
    std::array<LineAccess, kMostLines> lines;  ///< distinct, in order of the first lane that touches each
};

/// Global or local memory, all texels of texture instructions. Addresses are naturally aligned, so a lane
/// never crosses a sector.
void coalesce(const ptx::MemoryAccess& access, CoalescedAccess& result);

/// Atomic operations on the most contended address of each line, at most 32.
void count_conflicts(const ptx::MemoryAccess& access, const CoalescedAccess& lines,
                     std::array<std::uint16_t, ptx::kWarpSize>& conflicts);

/// Passes through the 32 banks of 4 bytes that an access takes. A pass serves lanes whose words lie in
/// different banks, or are the same word; 8-byte accesses go by half warps, 16-byte ones (ldmatrix too) by
/// quarter warps, as CUDA's best-practice guide and the bank-conflict probes of Volta and later describe.
/// When lanes n and n ^ 1 (or n and n ^ 2) share their address throughout the warp, twice as many lanes go in
/// a pass (NVIDIA developer forum, 77228).
unsigned shared_wavefronts(const ptx::MemoryAccess& access);
/// The same for the shared-memory side of cp.async.
unsigned shared_wavefronts_of_copy(const ptx::MemoryAccess& access);
/// Shared atomics: lanes that hit the same word are served one after another.
unsigned shared_atomic_wavefronts(const ptx::MemoryAccess& access);

}  // namespace heddle::models::gpu
