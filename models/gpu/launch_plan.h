// What all SMs must know of the launches that they carry out.
#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/access_pattern.h"
#include "models/gpu/instruction_source.h"
#include "models/gpu/occupancy.h"
#include "models/gpu/timed_kernel.h"

namespace heddle::models::gpu {

/// One launch of a run.
struct RunLaunch {
    LaunchSource* source = nullptr;              ///< its instructions and thread blocks; not owned
    const ptx::LaunchContext* launch = nullptr;  ///< of `source`
    Occupancy occupancy;                         ///< thread blocks that fit on an SM without others
    std::uint32_t first_instruction = 0;         ///< of its rows in LaunchPlan::kernel
    std::uint32_t first_constant = 0;  ///< byte at which its parameters begin, of those of all launches
    std::uint32_t first_line = 0, end_line = 0;  ///< of its machine code, of that of all launches; a run of one launch: not set
    /// Cycle from which griddepcontrol.wait passes; kNever until the launch that it waits for has ended.
    Cycle dependency_release = 0;
    bool tells_triggers = false;  ///< another launch begins when its thread blocks allow it
};

/// Lives as long as the run.
struct LaunchPlan {
    std::vector<RunLaunch> launches;  ///< at least one
    TimedKernel kernel;               ///< the instructions of all with the timing of this device, one launch after another
    /// Remembered by the SMs of a group of blocks, or, with one element, by all. No result depends on what is
    /// in it.
    mutable std::vector<AccessPatterns> patterns = std::vector<AccessPatterns>(1);
    bool profile = false;    ///< count cycles by instruction
    bool audit = false;      ///< see sm_audit.h
    Cycle window = kNever;   ///< cycles that an SM may run at once, at most (lookahead.h)
    /// Sampling: the cycles that have been left out so far; nullptr: loops are not watched.
    const Cycle* left_out = nullptr;

    /// The launch of a run that has one only: sampled runs do.
    const RunLaunch& only() const { return launches.front(); }
    /// The launch that an instruction of `kernel` belongs to.
    const RunLaunch& launch_of(std::size_t instruction) const {
        std::size_t i = launches.size() - 1;
        while (launches[i].first_instruction > instruction) --i;
        return launches[i];
    }
};

}  // namespace heddle::models::gpu
