// A run is a sequence of stages. Those that know the machine are behind this interface; the others are the
// same for all machines:
//
//   plan      Machine::plan(): from a trace to what the device executes            sim/gpu/plan, workloads/lowering
//   time      PlannedStep::time(): each distinct piece once, cached, on workers    time/
//   settle    a part of time(): the clock at which the board keeps its power limit sim/gpu/settle; a TPU has one clock
//   schedule  schedule_step(): when everything runs, the host's work included      schedule/
//   assemble  assemble_step(): the RunResult                                       assemble/
//
// Time and settle depend on each other: the clock follows from the power of all kernels, which follows from
// their times, which follow from the clock.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/run/op_outcome.h"
#include "sim/run/schedule/together.h"
#include "sim/run/time/signal_file.h"

namespace heddle::sim {

/// A step that a machine has lowered and can time. Machine::plan() makes one.
class PlannedStep {
  public:
    virtual ~PlannedStep() = default;
    /// Returns what the device executes, in order: kernels, or programs.
    virtual std::vector<TraceableKernel> launches() const = 0;
    /// Finds the time of every launch. Adds to `result.simulation` and `result.notes`, and sets the clock of
    /// the result. Throws heddle::Error when a launch cannot be executed.
    virtual void time(RunResult& result) = 0;
    /// Whether anything was executed for a launch. Valid after time().
    virtual bool has_run(std::size_t /*launch*/) const { return true; }
    /// Simulates kernels together, each run on one clock. Valid after time(). Adds to `result.simulation`. Throws heddle::Error
    /// on devices without streams.
    virtual std::vector<std::vector<ConcurrentTime>> time_together(const std::vector<ConcurrentRun>& runs, RunResult& result);
    /// Makes the function that simulates a launch again at the clock of the run and records its signals.
    /// Valid after time(), and called in a worker process.
    virtual RunTraced traced_device() const = 0;
    /// Returns one outcome for each op of the trace. Valid after time(). Adds to `result.notes`.
    virtual std::vector<OpOutcome> outcomes(RunResult& result) const = 0;
};

}  // namespace heddle::sim
