// A trace on a TPU: lowering, distinct programs on worker processes, outcomes per op.
#pragma once

#include <memory>
#include <vector>

#include "sim/run/numerics.h"
#include "sim/run/simulate.h"
#include "sim/run/step.h"

namespace heddle::sim {

/// One outcome per op of the trace. Adds to `result.simulation` and `result.notes`.
std::vector<OpOutcome> run_on_tpu(const trace::Trace& trace, const Hardware& hardware,
                                  const SimulateOptions& options, RunResult& result);

/// Trains with real values in a process of its own, and checks that every program takes the cycles that the
/// timing run found (`outcomes`); a difference is an internal error.
std::unique_ptr<TrainingDevice> tpu_training_device(const trace::Trace& trace, const Hardware& hardware);

NumericsResult train_on_tpu(const trace::Trace& trace, const Hardware& hardware,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes);

}  // namespace heddle::sim
