// A trace on a GPU: lowering, distinct kernels on worker processes, outcomes per op.
#pragma once

#include <memory>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "sim/run/numerics.h"
#include "sim/run/simulate.h"
#include "sim/run/step.h"

namespace heddle::sim {

/// The part of a configuration that matters for time, as text for keys.
std::string device_key(const models::gpu::GpuConfig& config);

/// One outcome per op of the trace. Adds to `result.simulation` and `result.notes`.
std::vector<OpOutcome> run_on_gpu(const trace::Trace& trace, const Hardware& hardware,
                                  const SimulateOptions& options, RunResult& result);

TrainingPlan training_plan(const SimulateOptions& options, const std::string& device_identity);

/// Trains with real values in a process of its own, and checks that every launch takes the cycles that the
/// timing run found (`outcomes`); a difference is an internal error.
std::unique_ptr<TrainingDevice> gpu_training_device(const trace::Trace& trace, const Hardware& hardware);

NumericsResult train_on_gpu(const trace::Trace& trace, const Hardware& hardware,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes);

}  // namespace heddle::sim
