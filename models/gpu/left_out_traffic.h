// The global memory that warps would have used in turns that are left out: so that L2 holds afterwards what
// it would hold, and memory's traffic is known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/leap.h"
#include "models/gpu/bulk_copy_engine.h"
#include "models/gpu/coalescer.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// Sectors of one cache line that one warp instruction or bulk copy would have used. `line` is the address
/// divided by 128; `sm` is the SM's index in the GPU.
struct LeftOutAccess {
    std::uint32_t line = 0;  ///< address / 128
    std::uint16_t sm = 0;    ///< index in the GPU
    SectorMask sectors = 0;  ///< 32 bytes each
    bool write = false;      ///< stores and atomics
};

/// Sectors that memory would have been asked for, and sent.
struct LeftOutMemory {
    std::uint64_t read = 0, written = 0;  ///< sectors of 32 bytes
    bool used = true;                     ///< there were accesses
};

/// Warps leap one after another; what they do in the same turn belongs together.
class LeftOutTraffic : public ptx::LeapObserver {
  public:
    /// A leap of `turns` turns begins; only the accesses of turns from `first` on are remembered.
    void begin(std::uint64_t turns, std::uint64_t first);
    /// The warp that leaps next is one of this SM, and makes `turns` turns of its own.
    void begin_warp(std::uint32_t sm, std::uint64_t turns);
    /// Whether the next turn of the warp, number `own`, is to be remembered.
    bool begin_turn(std::uint64_t own);
    /// Nothing was left out before what is remembered.
    bool complete() const { return first_ == 0; }
    /// Number of accesses in all turns, those that are not remembered included.
    std::uint64_t accesses() const { return accesses_; }
    /// The remembered accesses, a list for each turn.
    const std::vector<std::vector<LeftOutAccess>>& turns() const { return turns_; }

    void access(const ptx::MemoryAccess& access) override;
    void copy(const ptx::AsyncOperation& operation) override;

  private:
    void add(std::uint64_t line, SectorMask sectors, bool write);

    std::vector<std::vector<LeftOutAccess>> turns_;  // from first_ on
    std::vector<LeftOutAccess>* present_ = nullptr;
    std::uint64_t first_ = 0, count_ = 0, own_turns_ = 1, accesses_ = 0;
    std::uint16_t sm_ = 0;
    CoalescedAccess coalesced_;
    std::vector<BulkCopyEngine::Line> lines_;
};

}  // namespace heddle::models::gpu
