// The stage `time`: every distinct piece of a step's work is simulated once, however often the step has it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/simulate.h"
#include "sim/run/time/launch_outcome.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::sim {

/// A kernel or a program that must be timed.
struct DistinctWork {
    std::string key;  ///< names it in the step
    /// Names of its outcome in the cache, looked for in this order: that of the size of L2 that it makes use of, and that of the
    /// device's own (LaunchOutcome::own_l2), where these differ.
    std::vector<std::string> cache_keys;
    std::string name;  ///< for progress: of the kernel or the op
    double cost = 0;   ///< of simulating it, in any unit
};

/// One that no cache knows.
struct OpenWork {
    std::size_t work = 0;  ///< its place in the list
    double part = 0;       ///< of the cost of all that is open
};

/// How it is done.
struct WorkTimer {
    std::string noun;  ///< "kernel"
    /// Makes what runs the job of each open work, in the order of `open`, and returns to_text() of its LaunchOutcome.
    std::function<std::unique_ptr<JobRunner>(const std::vector<OpenWork>& open, unsigned workers)> make_runner;
    /// Called for each that was simulated here.
    std::function<void(const LaunchOutcome&)> simulated = [](const LaunchOutcome&) {};
};

/// Outcomes by DistinctWork::key: from the cache, else simulated on worker processes, the costliest first. `work` has each key once.
/// Adds to `result.simulation`.
std::map<std::string, LaunchOutcome> time_distinct(const std::vector<DistinctWork>& work, const WorkTimer& timer,
                                                   const SimulateOptions& options, RunResult& result);

/// SimulateOptions::jobs, or as many as there are cores.
unsigned workers_of(const SimulateOptions& options);

}  // namespace heddle::sim
