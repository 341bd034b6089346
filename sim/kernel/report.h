// What `heddle kernel` prints.
#pragma once

#include <string>

#include "sim/kernel/run.h"

namespace heddle::kernel {

/// Returns tables for people: launches with their times, where the time went, utilisation, comparisons and
/// notes. `heading` is the first line; `width` is the largest number of columns of a line, 0: no limit.
std::string format_kernel_run(const KernelRun& run, const std::string& heading, std::size_t width = 0);

/// One JSON object, ending with a newline:
///   mode, schedule, registers (allocation or ptxas), launches: [{kernel, grid[3], block[3],
///   warp_instructions, registers_per_thread, shared_bytes, and
///     with time: cycles, time_us, ctas_per_sm, occupancy_limit, achieved_occupancy, bound_by, dram_bytes,
///     l2_bytes, time_by_reason{}, utilisation{}, pipeline_instructions{}; with numerics functional_cycles}],
///   lines{ptx[], cuda[]} of RunOptions::lines,
///   total_cycles, total_time_us, comparisons: [{buffer, reference, passed, elements, mismatches,
///     largest_absolute_error, largest_ulp, first: [{index, got, expected, ulp}]}], outputs[], notes[].
std::string kernel_run_json(const KernelRun& run, const std::vector<std::string>& outputs);

/// Returns the launches in sequence, with their series, in the Chrome trace format.
std::string kernel_timeline(const KernelRun& run, const std::string& device);

/// Returns one line about a comparison that failed, for the exit message.
std::string describe_failure(const KernelRun& run);

/// Returns the name for people: "tensor", "load/store", ...
std::string name_of(ptx::Pipeline pipeline);

}  // namespace heddle::kernel
