// A launch that was simulated at one clock of the SMs, at another clock near it. Memory and launches have
// clocks of their own: the part of a kernel's time that waits for them keeps its length, the rest goes with
// the SMs.
#pragma once

#include <vector>

#include "sim/run/time/launch_outcome.h"

namespace heddle::sim {

/// One launch, simulated at one or more clocks.
class ClockedOutcome {
  public:
    struct Run {
        double clock = 0;  ///< hertz
        LaunchOutcome outcome;
    };

    void add(double clock, LaunchOutcome outcome) { runs_.push_back({clock, std::move(outcome)}); }
    bool empty() const { return runs_.empty(); }
    /// The run at the clock that is nearest.
    const Run& nearest(double clock) const;
    double seconds(double clock) const;
    double joules(double clock) const;
    /// By how much seconds() may be wrong, relative; 0 at clocks that were simulated.
    double error(double clock) const;
    /// The part of its cycles that the last run simulated: less than 1 where sampling left something out.
    double simulated() const;
    /// What a simulation at this clock would have found. Counts of events are those of the nearest run;
    /// dynamic energy goes with the square of the clock, as in models/gpu/power.h.
    LaunchOutcome at(double clock) const;

  private:
    double fixed_part(const Run& run, double clock) const;
    std::vector<Run> runs_;
};

/// Part of the time of a simulated launch that keeps its length when the clock of the SMs changes, by one
/// run: what it takes to launch, and, by how busy memory was, what waits for memory. Fitted to kernels of a
/// GPT-2 step, simulated at two clocks each: docs/steps.md.
double fixed_part_of(const LaunchOutcome& outcome);

}  // namespace heddle::sim
