// A trace on a TPU: one program for each op, timed, and told op by op.
#pragma once

#include <memory>
#include <vector>

#include "models/tpu/tpu_config.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/planned_step.h"
#include "sim/run/simulate.h"
#include "sim/tpu/tpu_machine.h"

namespace heddle::sim {

/// Machine::plan() of a TPU.
std::unique_ptr<PlannedStep> plan_on_tpu(const trace::Trace& trace, const TpuMachine& machine,
                                         const SimulateOptions& options, RunResult& result);

/// Machine::training_device() of a TPU.
std::unique_ptr<TrainingDevice> tpu_training_device(const trace::Trace& trace, const models::TpuConfig& config);

/// Trains with real values in a process of its own, and checks that every program takes the cycles that the
/// timing run found (`outcomes`); a difference is an internal error.
NumericsResult train_on_tpu(const trace::Trace& trace, const models::TpuConfig& config,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes);

}  // namespace heddle::sim
