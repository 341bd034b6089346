// A run is a line of stages. Those that know the machine are behind this interface, the others are the same for all of them:
//
//   plan      Machine::plan(): from a trace to what the device executes            sim/gpu/plan, workloads/lowering
//   time      PlannedStep::time(): each distinct piece once, cached, on workers    time/
//   settle    a part of time(): the clock at which the board keeps its power limit sim/gpu/settle; a TPU has one clock
//   schedule  schedule_step(): when everything runs, the host's work included      schedule/
//   assemble  assemble_step(): the RunResult                                       assemble/
//
// Time and settle ask each other: the clock follows from the power of all kernels, which follows from their times, which follow from
// the clock.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/run/op_outcome.h"
#include "sim/run/time/signal_file.h"

namespace heddle::sim {

class PlannedStep {
  public:
    virtual ~PlannedStep() = default;
    /// What the device executes, in order: kernels, or programs.
    virtual std::vector<TraceableKernel> launches() const = 0;
    /// Finds the time of every launch. Adds to `result.simulation` and `result.notes`, and sets the clock.
    virtual void time(RunResult& result) = 0;
    /// After time(): whether anything was executed for a launch.
    virtual bool has_run(std::size_t /*launch*/) const { return true; }
    /// After time(): simulates launches once more, at the clock of the run, and tells their signals. Called in a worker.
    virtual RunTraced traced_device() const = 0;
    /// After time(): one for each op of the trace. Adds to `result.notes`.
    virtual std::vector<OpOutcome> outcomes(RunResult& result) const = 0;
};

}  // namespace heddle::sim
