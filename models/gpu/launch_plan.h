// What all SMs must know of the launch that they carry out.
#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/access_pattern.h"
#include "models/gpu/instruction_source.h"
#include "models/gpu/occupancy.h"
#include "models/gpu/timed_kernel.h"

namespace heddle::models::gpu {

/// Lives as long as the run.
struct LaunchPlan {
    LaunchSource* source = nullptr;              ///< instructions and thread blocks of the launch; not owned
    const ptx::LaunchContext* launch = nullptr;  ///< of `source`
    TimedKernel kernel;                          ///< `source` with the timing of this device
    Occupancy occupancy;                         ///< thread blocks that fit on an SM
    /// Remembered by the SMs of a group of blocks, or, with one element, by all. No result depends on what is
    /// in it.
    mutable std::vector<AccessPatterns> patterns = std::vector<AccessPatterns>(1);
    bool profile = false;          ///< count cycles by instruction
    bool audit = false;            ///< see sm_audit.h
    Cycle window = kNever;         ///< cycles that an SM may run at once, at most (lookahead.h)
    Cycle dependency_release = 0;  ///< cycle from which griddepcontrol.wait passes
    /// Sampling: the cycles that have been left out so far; nullptr: loops are not watched.
    const Cycle* left_out = nullptr;
};

}  // namespace heddle::models::gpu
