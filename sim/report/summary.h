// summary.json: the result for scripts.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// One JSON object, keys in this order:
///   workload, hardware, step_time_us, device_busy_us, launch_gap_us, communication_us,
///   ops: [{name, kind, phase, count, time_us, measured_us|null, flops, bytes, bound_by,
///          fidelity: "cycle"|"estimated"|"unknown"}],
///   division {kernels_us, communication_us, copies_us, gaps_us, waiting_for_host_us, overlapped_us, host}:
///   of the step's time; memory {capacity, peak, fits, peak_op, at_peak{}, over_time[]}: bytes, coverage
///   {cycle, estimated, unknown}, incomplete {reason, ops: [{name, count}]}: only where ops are not understood
///   and have no recorded time, measured {total_us}|null, numerics {device_loss[], reference_loss[], ...}:
///   only of a run with real values, simulation {wall_s, warp_instructions, tpu_cycles, tilings_searched,
///   workers}.
/// Everything outside `simulation` is the same bytes in every run of the same thing. Ends with a newline.
std::string summary_json(const RunResult& result);

/// The part `memory` of summary.json, alone: the answer to a step that does not fit.
std::string memory_json_text(const MemoryReport& memory);

/// timeline.json in the Chrome trace format (Perfetto and chrome://tracing open it): one slice per kernel,
/// and counters over time where they were recorded.
std::string timeline_json(const RunResult& result);

}  // namespace heddle::sim
