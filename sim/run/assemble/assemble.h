// The stage `assemble`: from the kernels of a step and their schedule to its result.
#pragma once

#include <string>
#include <vector>

#include "sim/run/assemble/result.h"
#include "sim/run/op_outcome.h"
#include "sim/run/schedule/step_schedule.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Adds everything up into `result`: ops, kernels with their times, coverage, totals. One outcome for each op of
/// the trace.
void assemble_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, const StepSchedule& schedule,
                   RunResult& result);

/// "matmul 2048x3072x768 bf16 tn": what an op computes, short and the same for equal work.
std::string describe_op(const trace::Trace& trace, const trace::Op& op);

}  // namespace heddle::sim
