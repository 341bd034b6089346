// What accesses of one instruction have in common: mostly the distances between the addresses of a warp's
// lanes are those of the last warp that came by, and so are lines, sectors and bank conflicts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/coalescer.h"

namespace heddle::models::gpu {

/// Remembers accesses of whole warps that have the same distances, and begin at a few places in a line: rows
/// of an odd number of elements begin elsewhere for each warp of a thread block. Everything it returns is
/// what the functions of coalescer.h return for the same access.
class AccessPattern {
  public:
    /// Like coalesce() and shared_wavefronts() of coalescer.h, which compute what is not remembered. The
    /// functions change what is remembered and never the result.
    void coalesce(const ptx::MemoryAccess& access, CoalescedAccess& result);
    unsigned shared_wavefronts(const ptx::MemoryAccess& access);
    /// The same when `access` was the last one that coalesce() saw.
    unsigned wavefronts_of_coalesced(const ptx::MemoryAccess& access);
    unsigned shared_wavefronts_of_copy(const ptx::MemoryAccess& access);

  private:
    /// What follows from the first address's offset in its line.
    struct Place {
        std::uint8_t offset = 0;
        std::uint8_t wavefronts = 0;  // 0: not known yet
        std::uint8_t lines = 0;       // 0: not known yet
        std::array<SectorMask, ptx::kWarpSize> sectors{};
        std::array<std::int32_t, ptx::kWarpSize> line{};  // distance from the first address's line
    };
    static constexpr unsigned kPlaces = 4, kPlaceBytes = 8;  // how the warps of odd rows differ

    Place* recall(const ptx::MemoryAccess& access);
    bool recall_copy(const ptx::MemoryAccess& access);
    unsigned wavefronts_at(Place* place, const ptx::MemoryAccess& access);

    std::array<std::uint64_t, ptx::kWarpSize> distance_{};  // of each lane's address from the first one
    std::uint8_t bytes_ = 0;                                // per lane; 0: nothing is remembered
    std::uint8_t copy_bytes_ = 0, copy_wavefronts_ = 0;     // of the shared side of cp.async
    std::uint32_t copy_offset_ = 0;
    std::array<std::uint32_t, ptx::kWarpSize> copy_distance_{};
    std::array<Place, kPlaces> places_;
};

/// Those of a launch, by TimedInstruction::pattern: all SMs share them.
class AccessPatterns {
  public:
    /// The pattern of instruction pattern `number`; made when it is first asked for. References are valid
    /// until a higher number is asked for.
    AccessPattern& of(std::uint32_t number) {
        if (number >= patterns_.size()) patterns_.resize(number + 1);
        return patterns_[number];
    }

  private:
    std::vector<AccessPattern> patterns_;
};

}  // namespace heddle::models::gpu
