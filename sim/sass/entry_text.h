// Results of recorded kernels as text: for messages between processes, for scripts and for people.
#pragma once

#include <string>

#include "sim/sass/run_traces.h"

namespace heddle::sass {

/// Writes an entry as a worker sends it to its parent.
std::string to_text(const TraceEntry& entry);
/// Throws std::exception when the text is not what to_text() wrote.
TraceEntry entry_from_text(const std::string& text);

/// One JSON object, ending with a newline:
///   list, hardware, total_time_us, cycles, warp_instructions, ipc,
///   entries: [{kind: "kernel", name, file, id, grid[3], block[3], registers_per_thread, shared_bytes,
///   cycles,
///     time_us, warp_instructions, ipc, ctas_per_sm, bound_by, l1{sectors, hit_sectors, bytes}, l2{...},
///     dram_read_bytes, dram_write_bytes, shared_accesses, shared_wavefronts, atomic_sectors,
///     time_by_reason{}, utilisation{}, energy{}} or {kind: "host to device", address, bytes, time_us}],
///   notes[], simulation{wall_s, workers, warp_instructions_per_s, text_bytes}.
/// Everything outside `simulation` is the same bytes in every run of the same thing.
std::string trace_run_json(const TraceRun& run);

/// The number of entries that format_trace_run() shows unless it shows all.
inline constexpr std::size_t kMostRows = 40;
/// Returns tables for people: every entry, or, when `all` is false, the kMostRows longest and a line that
/// says so; totals; notes. `width` is the largest number of columns of a line; 0: no limit.
std::string format_trace_run(const TraceRun& run, bool all = false, std::size_t width = 0);

}  // namespace heddle::sass
