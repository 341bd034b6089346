// From the kernels of a step to its result: the same for every device.
#pragma once

#include <string>
#include <vector>

#include "sim/run/beside.h"
#include "sim/run/result.h"
#include "sim/run/simulate.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// What a device made of one op.
struct OpOutcome {
    /// In order. start_us, op_name, kind, phase, recorded_kernel and measured_us are filled in by
    /// assemble_step().
    std::vector<KernelResult> kernels;
    bool communication = false;
    bool copy = false;         ///< between host and device
    bool blocks_host = false;  ///< the host waits for its end
    /// That the host works before it has launched the first kernel, and each further one.
    double host_us = 0, host_again_us = 0;
    bool view = false;  ///< takes no time by nature: a view, or no elements at all
};

/// A collective: its recorded time, as the network is not simulated on a single device. Without one it takes
/// no time and counts as unknown; either way `result.notes` says so.
OpOutcome communication_outcome(const trace::Op& op, RunResult& result);

/// Fills in `result.memory`. Throws DoesNotFit as simulate() does.
void check_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace,
                  const SimulateOptions& options, RunResult& result);

/// Adds everything up into `result`: ops, kernels with start times, coverage, totals. One outcome per op of
/// the trace.
void assemble_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, RunResult& result,
                   const SharedDevice& device = {});

/// What a host takes to hand out the ops of a step.
struct HostCosts {
    double dispatch_us = 0;      ///< of a framework, for each op
    double launch_us = 0;        ///< of a call that launches a kernel
    double graph_launch_us = 0;  ///< of the call that launches everything
    bool graph = false;
};

/// Fills in the host's times of the outcomes: those that were recorded when the trace has any, else the
/// declared costs; in a graph one call for everything. Returns whether they were recorded.
bool add_host_times(const trace::Trace& trace, const HostCosts& costs, std::vector<OpOutcome>& outcomes);

/// "matmul 2048x3072x768 bf16 tn": what an op computes, short and the same for equal work.
std::string describe_op(const trace::Trace& trace, const trace::Op& op);

}  // namespace heddle::sim
