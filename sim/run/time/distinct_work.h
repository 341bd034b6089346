// The stage `time`: it simulates every distinct kernel or program of a step once, however often the step
// launches it.
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

/// A kernel or program whose time is needed.
struct DistinctWork {
    std::string key;  ///< identifies it within the step
    /// Keys of its outcome in the cache, in the order in which they are looked up: the key for the size of L2
    /// that it can notice, and the key for the device's own size (LaunchOutcome::own_l2), where these differ.
    std::vector<std::string> cache_keys;
    std::string name;  ///< name of the kernel or the op, for progress messages
    double cost = 0;   ///< expected cost of simulating it, in any unit
};

/// A piece of work whose outcome is not in the cache.
struct OpenWork {
    std::size_t work = 0;  ///< index in the list of distinct work
    double part = 0;       ///< fraction of the cost of all open work
};

/// How a kind of device simulates its work.
struct WorkTimer {
    std::string noun;  ///< what messages call a piece of work: "kernel"
    /// Makes the runner for the open work, in a worker process. Job i is `open[i]`; its result is to_text()
    /// of the LaunchOutcome.
    std::function<std::unique_ptr<JobRunner>(const std::vector<OpenWork>& open, unsigned workers)> make_runner;
    /// Called in the parent for each outcome that was simulated rather than found in the cache.
    std::function<void(const LaunchOutcome&)> simulated = [](const LaunchOutcome&) {};
};

/// Returns outcomes by DistinctWork::key. Those that the cache does not hold are simulated on worker
/// processes, the costliest first. `work` must contain each key once. Adds to `result.simulation`.
std::map<std::string, LaunchOutcome> time_distinct(const std::vector<DistinctWork>& work, const WorkTimer& timer,
                                                   const SimulateOptions& options, RunResult& result);

/// Returns the number of worker processes: SimulateOptions::jobs, or the number of cores where that is 0.
unsigned workers_of(const SimulateOptions& options);

}  // namespace heddle::sim
