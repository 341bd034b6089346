// When does a line arrive? The way of one core to memory: its L1 and L2, its part of the L3, its part of the memory's bandwidth.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/cpu/cache_tags.h"
#include "models/cpu/cpu_config.h"

namespace heddle::models {

/// What a core asked of the levels.
struct CoreMemoryCounts {
    std::uint64_t accesses = 0;  ///< lines touched by instructions
    std::uint64_t l1_misses = 0, l2_misses = 0, l3_misses = 0;  ///< by instructions and the prefetcher
    double memory_bytes = 0;     ///< that this core moves from and to memory, what it stores included
};

/// Times are in cycles of the core, as real numbers.
class CoreMemory {
  public:
    explicit CoreMemory(const CpuConfig& config);

    /// Forgets all lines and what is under way; the time begins at 0.
    void clear();
    /// Prepares for a program of which at most `threads` run. Lines stay when the last program had as many.
    void begin_program(unsigned threads);
    /// Prepares for a region: `threads` run it, this core at `hertz`. Lines and time go on.
    void begin_region(unsigned threads, double hertz);

    /// An access to the line at `line` * 64 in cycle `now`; `sharers`: threads that touch the line within the region.
    /// `resident`: where the line has never been here, the L3 holds it. `source`: tells instructions apart, whose streams the prefetcher
    /// follows. Returns when its data can be used.
    double access(std::uint64_t line, double now, bool write, double sharers, bool resident, std::uint64_t source);
    /// A whole line that is written past the caches; returns when its buffer is free again.
    double stream_out(double now);
    /// The lines that come and go without time: what a stretch that is not simulated leaves behind.
    void touch(std::uint64_t line, bool write, double sharers, bool resident);

    const CoreMemoryCounts& counts() const { return counts_; }

  private:
    struct Stream {
        std::uint64_t page = ~std::uint64_t{0};
        std::uint64_t last = 0, ahead = 0;  ///< line touched last; first one not prefetched
        int run = 0;                        ///< lines in sequence
        std::uint64_t used = 0;
    };
    /// The least time at which one more can be under way.
    struct Slots {
        std::vector<double> free;
        std::size_t next = 0;
        void resize(std::size_t count) { free.assign(count, 0), next = 0; }
        double earliest(double now) const { return free[next] > now ? free[next] : now; }
        void take(double until) { free[next] = until, next = next + 1 == free.size() ? 0 : next + 1; }
    };

    double from_l2(std::uint64_t line, double now, double sharers, bool resident, bool timed);
    double from_below(std::uint64_t line, double now, double sharers, bool resident, bool timed);
    void prefetch(std::uint64_t line, double now, double sharers, bool resident, std::uint64_t source);
    void put_in_l2(std::uint64_t line, double ready, bool dirty, double sharers, bool timed, double now);
    bool first_time(std::uint64_t line);

    const CpuConfig& config_;
    CacheTags l1_, l2_, l3_, l3_shared_;
    Slots l1_fills_, l2_fills_;
    std::array<Stream, 32> streams_;
    std::uint64_t stream_clock_ = 0;
    double l2_next_ = 0, l3_next_ = 0, memory_next_ = 0;  ///< when each way is free
    double l3_latency_ = 0, memory_latency_ = 0, memory_interval_ = 0;  ///< cycles; of a line
    // Lines of several threads lie in the L3 once.
    bool is_shared(double sharers) const { return sharers >= 2 && threads_ > 1; }
    unsigned threads_ = 1, program_threads_ = 0, l3_threads_ = 1;
    std::vector<std::uint64_t> seen_;  ///< bit per line: has been here
    CoreMemoryCounts counts_;
};

}  // namespace heddle::models
