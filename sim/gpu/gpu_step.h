// A trace on a GPU: lowered to kernels, these planned, timed at the clock on which the board settles, and told op by op.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/planned_step.h"
#include "sim/run/simulate.h"

namespace heddle::sim {

/// The part of a configuration that matters for time, as text for keys.
std::string device_key(const models::gpu::GpuConfig& config);

/// Machine::plan() of a GPU.
std::unique_ptr<PlannedStep> plan_on_gpu(const trace::Trace& trace, const GpuMachine& machine,
                                         const SimulateOptions& options, RunResult& result);

/// Machine::training_device() of a GPU.
std::unique_ptr<TrainingDevice> gpu_training_device(const trace::Trace& trace, const models::gpu::GpuConfig& config);

/// Trains with real values in a process of its own, and checks that every launch takes the cycles that the
/// timing run found (`outcomes`); a difference is an internal error. `config` has the clock of that run.
NumericsResult train_on_gpu(const trace::Trace& trace, const models::gpu::GpuConfig& config,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes);

}  // namespace heddle::sim
