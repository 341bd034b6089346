// Kernels of a step that run side by side, and are therefore simulated in one run (SimulateOptions::streams).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/machine/machine.h"
#include "sim/run/assemble/result.h"
#include "sim/run/op_outcome.h"
#include "sim/run/schedule/step_schedule.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// A kernel of a step in a run with others. Times count from the start of the first kernel of the run.
struct ConcurrentKernel {
    std::size_t op = 0, kernel = 0;  ///< index of the op in the trace, and of the kernel among the op's
    double earliest_us = 0;          ///< when the host, and work outside of the run, let it start
    double gap_us = 0;               ///< from the end of the last of `after` to its start
    std::vector<std::size_t> after;  ///< kernels of the same run that must have ended, by their index in it
    int priority = 0;                ///< StreamWork::priority
};
/// The kernels of one run, in the order in which the host launches them.
using ConcurrentRun = std::vector<ConcurrentKernel>;

/// What a kernel took in its run.
struct ConcurrentTime {
    double queued_us = 0;  ///< from the moment in which it could start to that in which its first thread block was placed
    double time_us = 0;    ///< from then to its end
};

/// Simulates runs. Returns, for each, a time for each of its kernels.
using TimeRuns = std::function<std::vector<std::vector<ConcurrentTime>>(const std::vector<ConcurrentRun>& runs)>;

/// Schedules a step as schedule_step() does, and has kernels that overlap simulated together, until no further ones overlap: `time_us`
/// of their rows becomes the time that they take beside one another, `alone_us` keeps what they take alone, and `queued_us` is what they wait for places. Collectives, copies, kernels
/// that were estimated, and kernels of a loop of which the trace holds one iteration for many, share the device by the rules of
/// schedule_streams() as before. Adds what was done to `notes`.
StepSchedule schedule_together(const trace::Trace& trace, std::vector<OpOutcome>& outcomes, const SharedDevice& device,
                               const TimeRuns& time_runs, std::vector<std::string>& notes);

}  // namespace heddle::sim
