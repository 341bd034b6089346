// Conversion of a run of recorded kernels to the result of an ordinary run: summary.json, kernels.csv,
// timeline.json, report.html.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"
#include "sim/sass/run_traces.h"

namespace heddle::sass {

/// Converts a run. Kernels are in the order of the list and are summed by function and geometry. Copies from
/// the host, whose time is an estimate, count as communication. What traces do not contain is 0: useful FLOPs
/// and bytes of the operands.
sim::RunResult run_result(const TraceRun& run, const sim::Hardware& hardware);

/// Returns the name of a run: "nn_onestep" for .../nn_onestep/traces/kernelslist.g, "kernel-7" for
/// .../kernel-7.traceg.xz.
std::string workload_name(const std::string& path);

}  // namespace heddle::sass
