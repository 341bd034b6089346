// The stage `schedule`: it determines when everything in a step runs, including the host's work.
#pragma once

#include <vector>

#include "sim/machine/machine.h"
#include "sim/run/op_outcome.h"
#include "sim/run/schedule/streams.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// The times of everything in a step, in microseconds from the host's first work.
struct StepSchedule {
    std::vector<WorkTimes> work;  ///< every kernel of every op in order, without views
    StepDivision division;        ///< what the step's time consists of
    /// Start of each op's first kernel; an op without kernels has the start of the op before it.
    std::vector<double> op_starts_us;
};

/// Fills in the host's times of the outcomes: those that were recorded when the trace has any, else the
/// declared costs; a graph has one call for the whole step. Returns whether they were recorded.
bool add_host_times(const trace::Trace& trace, const HostCosts& costs, bool graph, std::vector<OpOutcome>& outcomes);

/// A step as work of streams.
struct StepWork {
    std::vector<StreamWork> work;        ///< every kernel of every op in order, without views
    std::vector<RepeatedWork> repeated;  ///< loops of which the trace holds one iteration
    double launch_latency_us = 0;        ///< SharedDevice::launch_latency_us
    double host_after_us = 0;            ///< what the host works after the last of it
    std::vector<std::size_t> first_of_op;  ///< index in `work` of each op's first kernel; kNoWork: it has none
    static constexpr std::size_t kNoWork = ~std::size_t{0};
};
StepWork step_work(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, const SharedDevice& device);

/// Schedules a step. `outcomes` has one entry for each op of the trace.
StepSchedule schedule_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes,
                           const SharedDevice& device = {});

}  // namespace heddle::sim
