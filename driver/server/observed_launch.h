// What did one launch do, as JSON, for programs that ask after each of their launches?
#pragma once

#include <string>

#include "driver/server/launch_timing.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::driver {

/// One JSON object: kernel, grid[3], block[3], warp_instructions, registers_per_thread, shared_bytes, and with `profile` (nullptr: the launch was
/// not timed) cycles, time_us, bound_by, ctas_per_sm, occupancy_limit, achieved_occupancy, dram_bytes, l2_bytes, time_by_reason{},
/// utilisation{}, energy_joules, resident_cycles, and lines[]: {file, line, cycles, by_reason{}}, sub-core cycles by line of the source, where the
/// module names its source, else by line of PTX with an empty file. An inlined line counts where it stands.
/// `module`: the kernel's. A library's kernel has none: an empty one.
std::string observed_launch(const ptx::LoadedKernel& kernel, const ptx::Module& module, const ptx::LaunchContext& context, const sim::LaunchOutcome& outcome,
                            const LaunchProfile* profile);

}  // namespace heddle::driver
