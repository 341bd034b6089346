// What a machine made of one op of a step: what passes from the stages that know the machine to those that do not.
#pragma once

#include <vector>

#include "sim/run/assemble/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct OpOutcome {
    /// In order. start_us, op_name, kind, phase, recorded_kernel and measured_us are filled in by
    /// schedule_step() and assemble_step().
    std::vector<KernelResult> kernels;
    bool communication = false;
    bool copy = false;         ///< between host and device
    bool blocks_host = false;  ///< the host waits for its end
    /// Microseconds that the host works before it has launched the first kernel, and each further one.
    double host_us = 0, host_again_us = 0;
    bool view = false;  ///< takes no time by nature: a view, or no elements at all
};

/// A collective: its recorded time, as the network is not simulated on a single device. Without one it takes
/// no time and counts as unknown; either way `result.notes` says so.
OpOutcome communication_outcome(const trace::Op& op, RunResult& result);

}  // namespace heddle::sim
