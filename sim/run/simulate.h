// A whole run: a trace, a device, a result.
#pragma once

#include <functional>
#include <string>

#include "isa/ptx/execution.h"
#include "sim/config/hardware.h"
#include "sim/run/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct SimulateOptions {
    bool numerics = false;          ///< real values, compared with a double-precision reference
    unsigned steps = 1;             ///< training steps with numerics
    bool tick_every_cycle = false;  ///< slow proof that skipping cycles changed nothing
    ptx::Assembly assembly = ptx::Assembly::scheduled;  ///< of a GPU's kernels
    bool sample = false;  ///< GPU: leave out what repeats in a kernel; not with numerics
    /// GPU: every kernel is a programmatic dependent launch of the one before (lowering/gpu/programmatic.h).
    bool programmatic = false;
    models::gpu::SeriesSettings series;  ///< GPU: what of each kernel is recorded over time
    std::string dump_programs;  ///< TPU: folder that gets the text of every distinct program; empty: none
    unsigned jobs = 0;          ///< worker processes; 0: as many as there are cores
    /// Called from the parent process with the fraction of the expected work done, 0..1.
    std::function<void(double fraction, const std::string& what)> progress;
};

/// Simulates every op of the trace on the device. Throws heddle::Error for bad input, such as a kernel that
/// reads out of bounds.
RunResult simulate(const trace::Trace& trace, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options);

}  // namespace heddle::sim
