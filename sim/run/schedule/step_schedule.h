// The stage `schedule`: when everything in a step runs, the host's work included.
#pragma once

#include <vector>

#include "sim/machine/machine.h"
#include "sim/run/op_outcome.h"
#include "sim/run/schedule/streams.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct StepSchedule {
    std::vector<WorkTimes> work;       ///< of every kernel of every op, in order, views left out
    StepDivision division;             ///< what the step's time consists of
    std::vector<double> op_starts_us;  ///< by op: of its first kernel; of an op without kernels, that of the op before
};

/// Fills in the host's times of the outcomes: those that were recorded when the trace has any, else the
/// declared costs; in a graph one call for everything. Returns whether they were recorded.
bool add_host_times(const trace::Trace& trace, const HostCosts& costs, bool graph, std::vector<OpOutcome>& outcomes);

/// One outcome for each op of the trace.
StepSchedule schedule_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes,
                           const SharedDevice& device = {});

}  // namespace heddle::sim
