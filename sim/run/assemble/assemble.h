// The stage `assemble`: it turns the kernels of a step and their schedule into the run's result.
#pragma once

#include <string>
#include <vector>

#include "sim/run/assemble/result.h"
#include "sim/run/op_outcome.h"
#include "sim/run/schedule/step_schedule.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Fills in `result`: ops, kernels with their times, coverage and totals. `outcomes` has one entry for each
/// op of the trace, and `schedule` is what schedule_step() made of them.
void assemble_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, const StepSchedule& schedule,
                   RunResult& result);

/// Describes what an op computes with its shapes and element type, such as "matmul 2048x3072x768 bf16 tn".
/// Ops that do equal work have equal descriptions, and the reports add them up under it.
std::string describe_op(const trace::Trace& trace, const trace::Op& op);

}  // namespace heddle::sim
