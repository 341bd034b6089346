// A trace on a TPU: each op becomes one program, which is timed, and its result is reported for the op.
#pragma once

#include <memory>
#include <vector>

#include "models/tpu/tpu_config.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/planned_step.h"
#include "sim/run/simulate.h"
#include "sim/tpu/tpu_machine.h"

namespace heddle::sim {

/// Implements Machine::plan() for a TPU.
std::unique_ptr<PlannedStep> plan_on_tpu(const trace::Trace& trace, const TpuMachine& machine,
                                         const SimulateOptions& options, RunResult& result);

/// Implements Machine::training_device() for a TPU. `trace` must outlive the device.
std::unique_ptr<TrainingDevice> tpu_training_device(const trace::Trace& trace, const models::TpuConfig& config);

/// Trains with real values in a child process, and checks that every program takes the cycles that the timing
/// run found (`outcomes`); a difference is an internal error.
NumericsResult train_on_tpu(const trace::Trace& trace, const models::TpuConfig& config,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes);

}  // namespace heddle::sim
