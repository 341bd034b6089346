// The memory side of an SM: address coalescing, shared memory, L1 cache, misses in flight, the port to the
// crossbar.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/gpu/access_pattern.h"
#include "models/gpu/coalescer.h"
#include "models/gpu/crossbar_port.h"
#include "models/gpu/cycle_counter.h"
#include "models/gpu/gpu_config.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/memory_request.h"
#include "models/memory/sectored_cache.h"

namespace heddle::models::gpu {

/// Identifies a memory instruction; the SM gets it back when the data have come.
struct LoadOwner {
    std::uint16_t warp = 0;         ///< slot in the SM
    bool async_copy = false;        ///< it is a cp.async, which writes shared memory and no register
    bool constant = false;          ///< waits for a line of constants
    std::uint32_t instruction = 0;  ///< or the number of the async-copy group
};

/// What an instruction asks of the caches.
struct CacheUse {
    bool bypass_l1 = false;        ///< loads go to L2, as with .cg, and nothing is kept in L1
    ptx::CachePolicy policy = {};  ///< eviction priorities and cache hints of the instruction
    CacheUse() = default;
    explicit CacheUse(const ptx::InstructionInfo& info) : bypass_l1(info.bypass_l1), policy(info.cache) {}
    bool fills_l1() const {
        return !bypass_l1 && policy.allocate_l1;
    }  ///< whether lines that come from L2
       ///< are kept in L1
    bool operator==(const CacheUse&) const = default;
};

/// Counts since reset(). Sectors have 32 bytes.
struct LoadStoreStatistics {
    /// Traffic of L1, as LevelStatistics has it; local stores and spills are parts of the load and store
    /// sectors.
    std::uint64_t l1_requests = 0, l1_load_sectors = 0, l1_hit_sectors = 0, l1_store_sectors = 0;
    std::uint64_t atomic_sectors = 0, local_store_sectors = 0;
    std::uint64_t spill_load_sectors = 0, spill_store_sectors = 0;
    std::uint64_t requested_sectors = 0, received_sectors = 0;  ///< loads and atomics with result, from L2
    std::uint64_t loaded_sectors = 0;                           ///< those of loads
    std::uint64_t shared_accesses = 0, shared_wavefronts = 0;   ///< by warp instructions; cycles of the data
                                                                ///< path that these took
};

/// One in-order unit for the four sub-cores. What it does with an instruction is settled when the instruction
/// issues: the unit's backlog, the tags and the banks are known then, so only misses need a message.
class LoadStoreUnit {
  public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};  ///< no index

    LoadStoreUnit(const GpuConfig& config, CrossbarPort& port);
    /// Back to the state after construction: an empty L1, no misses, zero counters.
    void reset();
    /// Sets the bytes of the unified memory that L1 takes. To be called after reset().
    void begin(std::uint64_t l1_bytes) { l1_.resize(l1_bytes, config_.l1.ways); }

    /// `start`: the cycle in which the instruction leaves its sub-core's queue. `ready`: the cycle in which
    /// its result can be used, kNever when that depends on L2: then completed() will tell.
    struct Outcome {
        Cycle start = 0;  ///< cycle in which the unit takes the instruction out of the sub-core's queue
        Cycle ready = 0;  ///< cycle in which the result can be used
    };
    Outcome shuffle(Cycle now);
    /// `pattern`: of the instruction.
    Outcome access_shared(const ptx::MemoryAccess& access, AccessPattern& pattern, Cycle now);
    /// An mbarrier in shared memory, whose answer takes `latency`.
    Outcome access_barrier(const ptx::MemoryAccess& access, AccessPattern& pattern, Cycle latency, Cycle now);
    /// Others than the sub-cores use the banks of shared memory for `wavefronts` cycles.
    void pass_wavefronts(std::uint32_t wavefronts, Cycle now) {
        unit_.take(now, wavefronts * wavefront_time_);
    }
    /// A bulk copy writes lines: their banks are those that others want for a part of the lines
    /// (bulk_copy.write_conflict).
    void pass_fill(Cycle now, unsigned lines) { unit_.take(now, lines * fill_time_); }
    /// A load waits for one more answer from another SM. `load`: kNone for the first.
    void join_remote(std::uint32_t& load, const LoadOwner& owner, Cycle ready) {
        if (load == kNone) load = new_load(owner, ready);
        ++loads_[load].lines_left;
    }
    Outcome load(const ptx::MemoryAccess& access, AccessPattern& pattern, const CacheUse& use,
                 const LoadOwner& owner, Cycle now);
    /// A texture instruction, for `lanes` lanes: those whose texels are all of a border, or a query, read no
    /// memory and take the time of the texture units.
    Outcome fetch_texels(const ptx::MemoryAccess* access, unsigned lanes, const CacheUse& use,
                         const LoadOwner& owner, Cycle now);
    Outcome store(const ptx::MemoryAccess& access, AccessPattern& pattern, const CacheUse& use, Cycle now);
    Outcome access_atomic(const ptx::MemoryAccess& access, AccessPattern& pattern, const CacheUse& use,
                          bool wants_result, const LoadOwner& owner, Cycle now);
    /// Local memory: L1 is write-back for it, so stores stay there.
    /// `spill`: for a value that found no register.
    Outcome access_local(const ptx::MemoryAccess& access, AccessPattern& pattern, bool spill,
                         const LoadOwner& owner, Cycle now);

    /// The end of a load whose result depended on L2, with the cycle in which the result can be used.
    struct Completed {
        LoadOwner owner;  ///< which instruction of which warp
        Cycle ready;      ///< cycle in which the result can be used
    };
    /// Whether a tag is of its requests; others use the upper bits (line_fetch.h, cluster_port.h,
    /// bulk_copy_engine.h).
    static bool owns(std::uint32_t tag) { return tag >> 28 == 0; }
    /// Brings what a response with this tag will need into the caches of the host, in two stages.
    void prefetch(std::uint32_t tag, unsigned stage) const {
        if (tag >= mshrs_.size()) return;
        if (stage == 0)
            __builtin_prefetch(mshrs_.data() + tag);
        else
            __builtin_prefetch(loads_.data() + mshrs_[tag].first.load());
    }
    /// The slot of the warp that it may complete a load of.
    unsigned waiting_warp(std::uint32_t tag) const {
        return tag < mshrs_.size() && mshrs_[tag].first.load() < loads_.size()
                   ? loads_[mshrs_[tag].first.load()].owner.warp
                   : 0;
    }
    /// Takes a response of L2, in its cycle of arrival; what it completes is appended to `completed`.
    void respond(MemoryRequest& response, Cycle now, std::vector<Completed>& completed);

    /// One of the answers that join_remote() announced is there.
    void complete_remote(std::uint32_t load, Cycle ready, std::vector<Completed>& completed) {
        finish_line(load, ready, completed);
    }

    /// The bulk copy engine has sent stores, which acknowledgements count like the others.
    void count_bulk_stores(unsigned lines) { stores_ += lines; }
    /// Stores of so many lines will be performed in cycle `at`.
    void acknowledge(Cycle at, unsigned lines) { acknowledgements_.add(at, lines); }
    /// Takes the acknowledgements up to `now` into account. Returns whether there were any.
    bool drain_acknowledgements(Cycle now) {
        const std::uint32_t count = acknowledgements_.take(now);
        stores_ -= count;
        acknowledged_ += count;
        return count != 0;
    }
    Cycle next_acknowledgement() const { return acknowledgements_.next(); }
    bool stores_outstanding() const { return stores_ != 0; }
    /// Stores acknowledged, and sent, since the reset.
    std::uint64_t stores_acknowledged() const { return acknowledged_; }
    std::uint64_t stores_sent() const { return acknowledged_ + stores_; }
    /// Whether any memory instruction, however scattered, can be taken.
    bool room_for_load() const { return mshrs_in_use_ + ptx::kWarpSize <= config_.l1.mshrs; }
    bool room_for_store() const { return stores_ + ptx::kWarpSize <= config_.l1.stores; }

    /// What is in flight: lines that were asked of L2 (occupied MSHRs), and lines of stores that L2 has not
    /// acknowledged.
    std::uint32_t lines_waited_for() const { return mshrs_in_use_; }
    std::uint32_t stores_under_way() const { return stores_; }

    /// Counts since reset(), and the time for which the unit was occupied, in cycles and in the fine units of
    /// BandwidthServer.
    const LoadStoreStatistics& statistics() const { return statistics_; }
    double busy_cycles() const { return unit_.busy_cycles(); }
    FineCycles busy_time() const { return unit_.busy_time(); }

  private:
    static constexpr std::uint64_t kAnswered = ~std::uint64_t{0};
    struct Load {  // a warp instruction that waits for lines
        LoadOwner owner;
        std::uint32_t lines_left = 0;
        std::uint32_t next_free = kNone;
        Cycle earliest = 0;        // that it can be ready in, whenever the lines come
        Cycle ready = 0;           // of the lines that have come
        std::uint64_t serial = 0;  // kAnswered from the first sector on that comes
        std::uint32_t followers = kNone;
    };
    /// Loads of a warp's neighbouring elements, one after the other, miss the same sectors: as long as none
    /// has come, the later ones wait for the first instead of for each line, which makes no difference to
    /// time.
    struct alignas(64) Followers {
        struct Follower {
            std::uint32_t instruction = 0;
            std::uint32_t later = 0;  // than the first one, by which it can be ready
        };
        std::array<Follower, 7> list;
        std::uint32_t count = 0;
        std::uint32_t next_free = kNone;
    };
    /// What the last load of a warp that missed waits for.
    struct RecentMiss {
        static constexpr unsigned kMostLines = 8;
        std::uint64_t serial = 0;
        std::uint32_t load = kNone;
        unsigned lines = 0;
        CacheUse use;
        std::array<LineAccess, kMostLines> line;
    };
    /// A load that waits for sectors of a line, at least one.
    class Waiter {
      public:
        Waiter() = default;
        Waiter(std::uint32_t load, SectorMask sectors) : word_(load << 4 | sectors) {}
        std::uint32_t load() const { return word_ >> 4; }
        SectorMask sectors() const { return static_cast<SectorMask>(word_ & 15); }

      private:
        std::uint32_t word_ = 0;
    };
    /// Waiters of a line beyond the first, one of the host's cache lines full.
    struct alignas(64) WaiterBlock {
        static constexpr std::uint32_t kSize = 15;
        std::array<Waiter, kSize> list;
        std::uint32_t next = kNone;  // block, full; or free
    };
    struct Mshr {
        std::uint64_t line = 0;
        SectorMask pending = 0;
        bool fill_l1 = false;
        EvictionPolicy l1_policy = EvictionPolicy::none;
        std::uint32_t next = kNone;  // in its hash chain, or free
        std::uint32_t waiters = 0;   // the first one among them
        Waiter first;
        std::uint32_t block = kNone;  // of the others; only this one is not full
    };

    Cycle accept(Cycle now, unsigned wavefronts);
    bool follows(const RecentMiss& recent, const CacheUse& use, const LoadOwner& owner, Cycle earliest);
    void remember(RecentMiss& recent, std::uint32_t load, const CacheUse& use) const;
    Outcome load_lines(const CacheUse& use, const LoadOwner& owner, Cycle now, unsigned wavefronts);
    struct Wanted {
        std::uint32_t mshr;
        SectorMask sectors;  // that nobody has asked for
    };
    Wanted wait_for(std::uint64_t line, SectorMask missing, const CacheUse& use, std::uint32_t load);
    void add_mshr();
    std::uint32_t mshr_of(std::uint64_t line);
    void fill(std::uint32_t index, SectorMask sectors, Cycle ready, std::vector<Completed>& completed);
    void finish_line(std::uint32_t load, Cycle ready, std::vector<Completed>& completed);
    std::uint32_t new_load(const LoadOwner& owner, Cycle earliest);
    void add_waiter(Mshr& mshr, Waiter waiter);
    Waiter take_last_waiter(Mshr& mshr);
    template <typename Serve>
    void serve_waiters(Mshr& mshr, const Serve& serve);
    std::uint32_t& chain(std::uint64_t line) { return chains_[mix_bits(line) % chains_.size()]; }

    const GpuConfig& config_;  // of the GPU, which all SMs share
    CrossbarPort& port_;
    const Cycle address_cycles_;
    const unsigned register_bytes_;
    const FineCycles instruction_time_, wavefront_time_, fill_time_;

    SectoredCache l1_;
    BandwidthServer unit_;
    std::vector<Load> loads_;
    std::vector<Followers> followers_;
    std::vector<WaiterBlock> waiters_;
    std::vector<Mshr> mshrs_;
    std::vector<std::uint32_t> chains_;
    std::uint32_t free_load_ = kNone, free_followers_ = kNone, free_waiters_ = kNone, free_mshr_ = kNone;
    std::uint32_t mshrs_in_use_ = 0;
    std::uint32_t stores_ = 0;
    std::uint64_t acknowledged_ = 0;
    CycleCounter acknowledgements_;
    CoalescedAccess lines_, missing_;
    std::vector<RecentMiss> recent_;  // by warp
    std::uint64_t loads_begun_ = 0;
    LoadStoreStatistics statistics_;
};

}  // namespace heddle::models::gpu
