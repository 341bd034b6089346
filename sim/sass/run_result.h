// A run of recorded kernels as every other run is reported: summary.json, kernels.csv, timeline.json,
// report.html.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"
#include "sim/sass/run_traces.h"

namespace heddle::sass {

/// Kernels in the order of the list, grouped by function and geometry. Copies from the host, whose time is an
/// estimate, count as communication. What traces do not say is 0: useful FLOPs, bytes of the operands.
sim::RunResult run_result(const TraceRun& run, const sim::Hardware& hardware);

/// What a run is called: "nn_onestep" of .../nn_onestep/traces/kernelslist.g, "kernel-7" of
/// .../kernel-7.traceg.xz.
std::string workload_name(const std::string& path);

}  // namespace heddle::sass
