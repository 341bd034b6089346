// A resource that serves one thing after another at a rate that need not be a whole number of cycles.
#pragma once

#include <cmath>
#include <cstdint>

#include "models/common/cycle.h"

namespace heddle::models {

/// Durations in 1/256 of a cycle.
using FineCycles = std::uint64_t;
inline constexpr unsigned kFineBits = 8;
inline FineCycles fine(double cycles) {
    return static_cast<FineCycles>(std::llround(cycles * static_cast<double>(1u << kFineBits)));
}

/// Serves in the order of the calls, one thing at a time, and remembers only when it will be free. It has no
/// SystemC process: callers ask for times and wait for them themselves.
class BandwidthServer {
  public:
    /// Serves something that takes `duration`, at the earliest in cycle `now`. Returns the cycle in which
    /// service begins.
    Cycle take(Cycle now, FineCycles duration) {
        const FineCycles arrival = now << kFineBits;
        const FineCycles begin = free_ > arrival ? free_ : arrival;
        free_ = begin + duration;
        busy_ += duration;
        return begin >> kFineBits;
    }
    /// First cycle in which service could begin.
    Cycle free_at() const { return free_ >> kFineBits; }
    /// First cycle in which nothing of what was taken is still being served.
    Cycle done_at() const { return (free_ + (1u << kFineBits) - 1) >> kFineBits; }
    /// Keeps the resource busy until `cycle` (refresh, turnaround, stall).
    void block_until(Cycle cycle) {
        if (free_ < (cycle << kFineBits)) free_ = cycle << kFineBits;
    }
    /// Total service time.
    FineCycles busy_time() const { return busy_; }
    /// The same in cycles.
    double busy_cycles() const { return static_cast<double>(busy_) / (1u << kFineBits); }
    void reset() { *this = BandwidthServer(); }

  private:
    FineCycles free_ = 0;
    FineCycles busy_ = 0;
};

}  // namespace heddle::models
