// Products of warpgroups (wgmma) on an SM's tensor cores: when they begin and end, and what their operands
// take of the shared memory's bandwidth.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/common/cycle.h"
#include "models/common/parameter.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// Times of wgmma in cycles; the defaults describe an H100.
struct WarpgroupConfig {
    std::uint32_t issue_latency = 17;     ///< from issue to the first multiplication
    std::uint32_t shared_tail = 66;       ///< from the last one to the end of a wait, A from shared memory
    std::uint32_t register_tail = 64;     ///< ... A from registers
    std::uint32_t minimum_interval = 13;  ///< of the products of a warpgroup, however small
    std::uint32_t queue = 8;              ///< products that a warpgroup may have waiting
};
/// Lists the fields for hardware files.
void describe(WarpgroupConfig& config, ParameterList& list);

/// What a product asks of the machine; made once per instruction.
struct WarpgroupProduct {
    FineCycles multiply = 0;  ///< at the rate of the tensor cores
    FineCycles fetch = 0;     ///< of A and B from shared memory, at its full width
    std::uint32_t tail = 0;   ///< cycles from the last multiplication to the end of a wait
};

/// Each of the four warps of a warpgroup has its quarter of a product done by the tensor core of its
/// sub-core, in order of issue. The quarters' operands pass through one shared memory: A each for itself, B
/// once for all, 128 bytes per cycle. A tensor core works on a product for as long as multiplying or fetching
/// takes, whichever is longer:
///
///     cycles = max(64 N K / rate, (bytes of A in shared memory + bytes of B) / 128, minimum_interval)
///
/// which are the cycles that Luo et al. measure for every N from 8 to 256 (arXiv 2402.13499, table of dense
/// wgmma). That sparse products follow the same rule is an assumption; it gives 144 cycles for m64n256k32
/// with A in shared memory and 128 with A in registers. All canonical layouts, swizzled or not, are free of
/// bank conflicts: the eight rows of 16 bytes that are read together lie in 32 different banks.
///
/// Other accesses to shared memory go first, and the cycles that they take come on top of the fetch. As long
/// as products have cycles to spare (multiplying takes longer than fetching) these are made up for.
class WarpgroupUnit {
  public:
    static constexpr unsigned kSubCores = 4;  ///< tensor cores of an SM

    WarpgroupUnit(const WarpgroupConfig& config) : config_(config) {}
    /// Forgets products and debts; the configuration stays.
    void reset() {
        cores_ = {};
        fetched_ = 0;
    }

    /// Times of one warp's quarter of a product.
    struct Outcome {
        Cycle begin;  ///< it has left the warpgroup's queue
        Cycle end;    ///< a wait for it may pass
    };
    /// One warp's quarter of a product issues in cycle `now`. `shared_busy`: for how long other accesses have
    /// kept the shared memory busy since the reset.
    Outcome start(unsigned sub_core, const WarpgroupProduct& product, FineCycles shared_busy, Cycle now);

    /// Cycles for which tensor cores were occupied, summed over the sub-cores.
    double busy_cycles() const;
    /// Cycles for which operands occupied the shared memory.
    double fetch_cycles() const { return static_cast<double>(fetched_) / kSubCores / fine(1); }

  private:
    struct Core {
        BandwidthServer products;
        FineCycles seen = 0;  // of shared_busy
        FineCycles debt = 0;  // cycles of other accesses that no product has made up for
    };
    const WarpgroupConfig config_;
    std::array<Core, kSubCores> cores_{};
    FineCycles fetched_ = 0;
};

}  // namespace heddle::models::gpu
