// What accesses of one instruction have in common: mostly the distances between the addresses of a warp's
// lanes are those of the last warp that came by, and so are lines, sectors and bank conflicts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/coalescer.h"

namespace heddle::models::gpu {

/// Remembers one access of a whole warp. Everything it returns is what the functions of coalescer.h return
/// for the same access.
class AccessPattern {
  public:
    void coalesce(const ptx::MemoryAccess& access, CoalescedAccess& result);
    unsigned shared_wavefronts(const ptx::MemoryAccess& access);
    /// The same when `access` was the last one that coalesce() saw.
    unsigned wavefronts_of_coalesced(const ptx::MemoryAccess& access);
    unsigned shared_wavefronts_of_copy(const ptx::MemoryAccess& access);

  private:
    bool recall(const ptx::MemoryAccess& access);
    bool recall_copy(const ptx::MemoryAccess& access);

    std::array<std::uint64_t, ptx::kWarpSize> distance_{};  // of each lane's address from the first one
    std::uint32_t offset_ = 0;                              // of the first address in its line
    std::uint8_t bytes_ = 0;                                // per lane; 0: nothing is remembered
    std::uint8_t wavefronts_ = 0;                           // 0: not known yet
    std::uint8_t lines_ = 0;                                // 0: not known yet
    std::uint8_t copy_bytes_ = 0, copy_wavefronts_ = 0;     // of the shared side of cp.async
    std::uint32_t copy_offset_ = 0;
    std::array<std::uint32_t, ptx::kWarpSize> copy_distance_{};
    std::array<std::uint64_t, ptx::kWarpSize> line_{};  // distance from the first address's line
    std::array<SectorMask, ptx::kWarpSize> sectors_{};
};

/// Those of a launch, by TimedInstruction::pattern: all SMs share them.
class AccessPatterns {
  public:
    AccessPattern& of(std::uint32_t number) {
        if (number >= patterns_.size()) patterns_.resize(number + 1);
        return patterns_[number];
    }

  private:
    std::vector<AccessPattern> patterns_;
};

}  // namespace heddle::models::gpu
