// What a machine made of one op of a step. It passes from the stages that know the machine to those that do
// not.
#pragma once

#include <vector>

#include "sim/run/assemble/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// The kernels that carry out one op, and what the schedule must know about them.
struct OpOutcome {
    /// The kernels in order. start_us, op_name, kind, phase, recorded_kernel and measured_us are filled in by
    /// schedule_step() and assemble_step().
    std::vector<KernelResult> kernels;
    bool communication = false;
    bool copy = false;         ///< a copy between host and device
    bool blocks_host = false;  ///< the host waits until the op has ended
    /// Microseconds that the host works before it has launched the first kernel, and before each further one.
    double host_us = 0, host_again_us = 0;
    bool view = false;  ///< takes no time: a view, or an op on tensors without elements
};

/// Makes the outcome of a collective on a single device, where the network is not simulated. It takes its
/// recorded time; without one it takes no time and counts as unknown. A note in `result.notes` says which.
OpOutcome communication_outcome(const trace::Op& op, RunResult& result);

}  // namespace heddle::sim
