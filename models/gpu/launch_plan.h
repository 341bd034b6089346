// What all SMs must know of the launch that they carry out.
#pragma once

#include <cstdint>

#include "isa/ptx/execution.h"
#include "models/gpu/occupancy.h"
#include "models/gpu/timed_kernel.h"

namespace heddle::models::gpu {

/// Lives as long as the run.
struct LaunchPlan {
    const ptx::LaunchContext* launch = nullptr;
    TimedKernel kernel;
    Occupancy occupancy;
    std::uint64_t local_lines_per_warp = 1;  ///< 128-byte lines between the local memories of two warps
};

}  // namespace heddle::models::gpu
