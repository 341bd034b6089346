// Converts a launch that was simulated at one clock of the SMs to another clock near it. Memory and the
// launch itself have clocks of their own: the part of a kernel's time that waits for them keeps its length,
// and the rest scales with the clock of the SMs.
#pragma once

#include <vector>

#include "sim/run/time/launch_outcome.h"

namespace heddle::sim {

/// One launch, simulated at one or more clocks.
class ClockedOutcome {
  public:
    /// One simulation.
    struct Run {
        double clock = 0;  ///< hertz
        LaunchOutcome outcome;
    };

    /// Adds a simulation at `clock` hertz.
    void add(double clock, LaunchOutcome outcome) { runs_.push_back({clock, std::move(outcome)}); }
    bool empty() const { return runs_.empty(); }
    /// Returns the run whose clock is nearest to `clock`. There must be one.
    const Run& nearest(double clock) const;
    /// Return the launch's time in seconds and its energy in joules at `clock` hertz.
    double seconds(double clock) const;
    double joules(double clock) const;
    /// Returns a bound on the relative error of seconds(); 0 at clocks that were simulated.
    double error(double clock) const;
    /// Returns the fraction of its cycles that the last run simulated: less than 1 for a sampled run.
    double simulated() const;
    /// Returns what a simulation at this clock would have found. Counts of events are those of the nearest
    /// run; dynamic energy scales with the square of the clock, as in models/gpu/power.h.
    LaunchOutcome at(double clock) const;

  private:
    double fixed_part(const Run& run, double clock) const;
    std::vector<Run> runs_;
};

/// Returns the fraction of a simulated launch's time that keeps its length when the clock of the SMs changes,
/// estimated from one run: the launch overhead, and a share that waits for memory, which follows from the
/// utilisation of memory. The formula was fitted to kernels of a GPT-2 step, each simulated at two clocks:
/// docs/steps.md.
double fixed_part_of(const LaunchOutcome& outcome);

}  // namespace heddle::sim
