// Which thread blocks of a launch stand for all of them, when a part of the device runs a part of the grid.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/ptx/leap.h"
#include "models/gpu/bulk_copy_engine.h"
#include "models/gpu/coalescer.h"

namespace heddle::models::gpu {

/// Lines of global memory that thread blocks touch.
class Footprint : public ptx::LeapObserver {
  public:
    /// Accesses from now on are those of this thread block; numbers begin at 1.
    void begin_block(std::uint32_t block) { block_ = block; }
    void access(const ptx::MemoryAccess& access) override;
    void copy(const ptx::AsyncOperation& operation) override;
    /// Whether any block has touched the line (address / 128).
    bool holds(std::uint64_t line) const;
    /// Distinct lines touched.
    std::uint64_t lines() const { return lines_; }
    /// Whether any access was an atomic operation.
    bool atomics() const { return atomics_; }
    /// The sum of the lines of each thread block: a line counts once for each block that touches it.
    std::uint64_t lines_of_blocks() const { return touches_; }
    template <class Visit>
    void visit(Visit&& visit) const {  // visit(line, thread blocks that touch it, about)
        for (const auto& [number, page] : pages_)
            for (std::uint64_t i = 0; i < kPage; ++i)
                if (page->last[i] != 0) visit(number * kPage + i, page->count[i]);
    }

  private:
    static constexpr std::uint64_t kPage = 4096;  // lines
    struct Page {
        std::array<std::uint32_t, kPage> last{}, count{};  // block that came last, blocks
    };
    void add(std::uint64_t line);

    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    Page* present_ = nullptr;
    std::uint64_t present_number_ = ~std::uint64_t{0};
    std::uint32_t block_ = 1;
    bool atomics_ = false;
    std::uint64_t lines_ = 0, touches_ = 0;
    CoalescedAccess coalesced_;
    std::vector<BulkCopyEngine::Line> copied_;
};

/// The thread blocks that choose_blocks() has drawn, and what running them without time has shown.
struct BlockSample {
    std::vector<std::uint64_t> blocks;  ///< linear indices, rising
    Footprint footprint;                ///< of these blocks
    double blocks_per_line = 1;         ///< mean number of blocks that touch a line
    std::uint64_t steps = 0;            ///< warp instructions of the whole launch, about
    bool atomics = false;               ///< they perform some in global memory
    std::string obstacle;               ///< why these blocks do not stand for all; empty: they do
};

/// Of each wave of `wave` thread blocks as many neighbours as are its `share`, at a place that is drawn: what
/// neighbours have in common they still have, and the sample goes through memory as the whole grid does. Runs
/// them in timing mode without time. They stand for all thread blocks if others do as much work and touch
/// other memory, but for a little that all have in common.
BlockSample choose_blocks(const ptx::LaunchContext& launch, std::uint64_t wave, double share);

}  // namespace heddle::models::gpu
