// A trace on a CPU: each op becomes one program, which is timed with what the ops before have left in the last cache.
#pragma once

#include <memory>

#include "sim/cpu/cpu_machine.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/planned_step.h"
#include "sim/run/simulate.h"

namespace heddle::sim {

/// Implements Machine::plan() for a CPU.
std::unique_ptr<PlannedStep> plan_on_cpu(const trace::Trace& trace, const CpuMachine& machine, const SimulateOptions& options, RunResult& result);

/// Implements Machine::training_device() for a CPU. `trace` must outlive the device. Throws heddle::Error for ops without a program.
std::unique_ptr<TrainingDevice> cpu_training_device(const trace::Trace& trace, const models::CpuConfig& config);

/// Trains with real values in a child process.
NumericsResult train_on_cpu(const trace::Trace& trace, const models::CpuConfig& config, const SimulateOptions& options);

}  // namespace heddle::sim
