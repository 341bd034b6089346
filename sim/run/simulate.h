// A whole run: a trace, a device, a result.
#pragma once

#include <cstdint>
#include <functional>
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

struct SimulateOptions {
    bool numerics = false;          ///< real values, compared with a double-precision reference
    unsigned steps = 1;             ///< training steps with numerics
    std::string data;               ///< with numerics: what the model learns; sim/run/numerics/training_data.h
    std::string checkpoint;         ///< with numerics: file with the state after the last step; empty: none
    bool resume = false;            ///< begin with that file
    bool tick_every_cycle = false;  ///< slow proof that skipping cycles changed nothing
    ptx::Assembly assembly = ptx::Assembly::scheduled;  ///< of a GPU's kernels
    bool sample = false;  ///< GPU: leave out what repeats in a kernel; not with numerics
    /// GPU: every kernel is a programmatic dependent launch of the one before (lowering/gpu/programmatic.h).
    bool programmatic = false;
    /// GPU: only ops of these kinds (trace::name_of) are run, the others count as unknown and keep their
    /// recorded time. What lies in L2 is as in the whole step; the clock is settled for those that run.
    /// Empty: all.
    std::vector<std::string> only_kinds;
    Fusion fusion = Fusion::usual;
    bool graph = false;                  ///< GPU: the step is launched as one CUDA graph
    bool ignore_memory = false;          ///< simulate though the step does not fit the device's memory
    models::gpu::SeriesSettings series;  ///< GPU: what of each kernel is recorded over time
    SignalOptions signals;      ///< of which kernels what happens in each cycle is written
    std::string dump_programs;  ///< TPU: folder that gets the text of every distinct program; empty: none
    bool cache = true;          ///< results of kernels are kept on disk and looked for there
    unsigned jobs = 0;          ///< worker processes; 0: as many as there are cores
    /// Called from the parent process with the fraction of the expected work done, 0..1.
    std::function<void(double fraction, const std::string& what)> progress;
};

/// Simulates every op of the trace on the device. Throws heddle::Error for bad input, such as a kernel that
/// reads out of bounds, and DoesNotFit before anything is simulated when the device has too little memory.
/// Recordings are simulated anyway: they did fit somewhere.
RunResult simulate(const trace::Trace& trace, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options);

/// The stages of simulate() that know the machine: one outcome for each op of the trace, which nothing fuses. Adds to
/// `result.simulation` and `result.notes`. Throws as simulate() does.
std::vector<OpOutcome> run_ops(const trace::Trace& trace, const Machine& machine, const SimulateOptions& options,
                               RunResult& result);

/// What the options say about training, on a device that `device_identity` names (TrainingPlan).
TrainingPlan training_plan(const SimulateOptions& options, const std::string& device_identity);

/// Fills in `result.memory`. Throws DoesNotFit as simulate() does. Called by Machine::plan().
void check_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace,
                  const SimulateOptions& options, RunResult& result);

}  // namespace heddle::sim
