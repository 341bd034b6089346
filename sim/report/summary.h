// summary.json: the result for scripts.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns one JSON object with keys in this order:
///   workload, hardware, step_time_us, device_busy_us, launch_gap_us, communication_us,
///   ops: [{name, kind, phase, count, time_us, measured_us|null, flops, bytes, bound_by,
///          fidelity: "cycle"|"estimated"|"unknown"}],
///   division: {kernels_us, communication_us, copies_us, gaps_us, waiting_for_host_us, overlapped_us, host},
///   memory: {capacity, peak, fits, peak_op, at_peak{}, over_time[]} in bytes,
///   coverage: {cycle, estimated, unknown},
///   incomplete: {reason, ops: [{name, count}]}, only where ops are not understood and have no recorded time,
///   measured: {total_us}|null,
///   numerics: {device_loss[], reference_loss[], ...}, only for a run with real values,
///   simulation: {wall_s, warp_instructions, tpu_cycles, tilings_searched, workers}.
/// Everything outside `simulation` has the same bytes in every run of the same input. The text ends with a
/// newline.
std::string summary_json(const RunResult& result);

/// Returns the part `memory` of summary.json alone, which answers for a step that does not fit.
std::string memory_json_text(const MemoryReport& memory);

/// Returns timeline.json in the Chrome trace format, which Perfetto and chrome://tracing open: one slice for
/// each kernel, and counters over time where they were recorded.
std::string timeline_json(const RunResult& result);

}  // namespace heddle::sim
