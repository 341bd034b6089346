// A trace on a GPU: it is lowered to kernels, these are planned and timed at the clock on which the board
// settles, and their results are reported for each op.
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

/// Returns the part of a configuration that affects a kernel's time, as text for cache keys.
std::string device_key(const models::gpu::GpuConfig& config);

/// Implements Machine::plan() for a GPU.
std::unique_ptr<PlannedStep> plan_on_gpu(const trace::Trace& trace, const GpuMachine& machine,
                                         const SimulateOptions& options, RunResult& result);

/// Implements Machine::training_device() for a GPU. `trace` must outlive the device.
std::unique_ptr<TrainingDevice> gpu_training_device(const trace::Trace& trace, const models::gpu::GpuConfig& config);

/// Trains with real values in a child process, and checks that every launch takes the cycles that the timing
/// run found (`outcomes`); a difference is an internal error. `config` has the clock of that run.
NumericsResult train_on_gpu(const trace::Trace& trace, const models::gpu::GpuConfig& config,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes);

}  // namespace heddle::sim
