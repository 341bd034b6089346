// A whole run: from a trace and a device to a result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "sim/machine/hardware.h"
#include "sim/run/assemble/result.h"
#include "sim/run/op_outcome.h"
#include "sim/run/time/signal_file.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct TrainingPlan;
class PlannedStep;

/// How kernels of several streams that run at the same time share a GPU.
enum class Streams : std::uint8_t {
    shared,  ///< by what each was found to use alone (sim/run/schedule/streams.h)
    cycle,   ///< they are simulated together, on one clock (sim/run/schedule/together.h)
};

/// What a run computes, how much of it is simulated, and where its by-products go.
struct SimulateOptions {
    bool numerics = false;   ///< train with real values and compare them with a double-precision reference
    unsigned steps = 1;      ///< training steps with numerics
    std::string data;        ///< with numerics: the training data; sim/run/numerics/training_data.h
    std::string checkpoint;  ///< with numerics: file with the state after the last step; empty: none
    bool resume = false;     ///< continue from the state in `checkpoint`
    /// Executes every cycle, to verify that skipping idle cycles changes nothing; slow.
    bool tick_every_cycle = false;
    ptx::Assembly assembly = ptx::Assembly::scheduled;  ///< how a GPU's kernels are scheduled before they run
    bool sample = false;  ///< GPU: extrapolate what repeats within a kernel; not with numerics
    /// GPU: every kernel is a programmatic dependent launch of the one before (lowering/gpu/programmatic.h).
    bool programmatic = false;
    /// GPU: only ops of these kinds (trace::name_of) are simulated; the others count as unknown and keep
    /// their recorded time. The contents of L2 are those of the whole step; the clock is settled for the
    /// simulated ops. Empty: all kinds.
    std::vector<std::string> only_kinds;
    Fusion fusion = Fusion::usual;
    Streams streams = Streams::shared;  ///< GPU
    bool graph = false;  ///< GPU: the step is launched as one CUDA graph
    bool ignore_memory = false;  ///< simulate even when the step does not fit the device's memory
    models::gpu::SeriesSettings series;  ///< GPU: the counters that are recorded over each kernel's time
    SignalOptions signals;      ///< which kernels' signals are written cycle by cycle
    std::string dump_programs;  ///< TPU: folder that gets the text of every distinct program; empty: none
    bool cache = true;  ///< keep results of kernels on disk and reuse them
    unsigned jobs = 0;  ///< worker processes; 0: as many as there are cores
    /// Called from the parent process with the fraction of the expected work done, 0..1.
    std::function<void(double fraction, const std::string& what)> progress;
};

/// Simulates every op of the trace on the device. Throws heddle::Error for bad input, such as a kernel that
/// reads out of bounds, and DoesNotFit before anything is simulated when the device has too little memory. A
/// recording is simulated even then, because it ran on a device of its own. `workload` is the name in the
/// result.
RunResult simulate(const trace::Trace& trace, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options);

/// A step that a machine has timed.
struct TimedOps {
    std::shared_ptr<PlannedStep> step;
    std::vector<OpOutcome> outcomes;  ///< one for each op of the trace
};
/// Runs the stages of simulate() that know the machine, without fusion. Adds to `result.simulation` and `result.notes`. Throws as simulate() does.
TimedOps run_ops(const trace::Trace& trace, const Machine& machine, const SimulateOptions& options, RunResult& result);

/// Converts the options to a training plan for a device that `device_identity` names
/// (TrainingPlan::device_identity).
TrainingPlan training_plan(const SimulateOptions& options, const std::string& device_identity);

/// Fills in `result.memory`. `workspace` is in bytes. Throws DoesNotFit as simulate() does. Machine::plan()
/// calls it.
void check_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace,
                  const SimulateOptions& options, RunResult& result);

}  // namespace heddle::sim
