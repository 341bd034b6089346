// stats.sqlite: everything that a run found, as a database for queries that the other reports do not answer.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Writes a new SQLite database at `path` (which must not exist). Tables:
///   run(key, value)                     totals, coverage and names
///   ops(id, name, kind, phase, count, time_us, measured_us, flops, bytes, bound_by, fidelity)
///   kernels(id, name, op, kind, phase, recorded_kernel, gap_us, start_us, time_us, measured_us, cycles,
///           warp_instructions, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread,
///           shared_bytes, ctas_per_sm, dram_bytes, l2_bytes, flops, bytes, bound_by, fidelity, stream, launched_us, end_us, turns, module,
///           alone_us, queued_us)
///   kernel_time(kernel, reason, fraction)
///   kernel_utilisation(kernel, resource, fraction)
///   utilisation(resource, fraction)     of the whole step
///   losses(step, device, reference)     empty without --numerics
///   notes(id, text)
/// The database contains nothing that differs between two runs of the same input. Throws heddle::Error when
/// it cannot be written.
void write_database(const RunResult& result, const std::string& path);

}  // namespace heddle::sim
