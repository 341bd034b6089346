// From the kernels of a step to its result: the same for every device.
#pragma once

#include <string>
#include <vector>

#include "sim/run/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// What a device made of one op.
struct OpOutcome {
    /// In order. start_us, op_name, kind, phase, recorded_kernel and measured_us are filled in by
    /// assemble_step().
    std::vector<KernelResult> kernels;
    bool communication = false;
    bool view = false;  ///< takes no time by nature: a view, or no elements at all
};

/// A collective: its recorded time, as the network is not simulated on a single device. Without one it takes
/// no time and counts as unknown; either way `result.notes` says so.
OpOutcome communication_outcome(const trace::Op& op, RunResult& result);

/// Adds everything up into `result`: ops, kernels with start times, coverage, totals. One outcome per op of
/// the trace.
void assemble_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, RunResult& result);

/// "matmul 2048x3072x768 bf16 tn": what an op computes, short and the same for equal work.
std::string describe_op(const trace::Trace& trace, const trace::Op& op);

}  // namespace heddle::sim
