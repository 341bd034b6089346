// Many turns of the loops of all warps at once, without time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/leap.h"
#include "models/gpu/loop_watch.h"

namespace heddle::models::gpu {

struct LeapingWarp {
    ptx::Warp* warp = nullptr;
    WarpWatch* watch = nullptr;
    std::size_t loop = 0;     ///< in WarpWatch::loops(): the one of which turns are left out
    std::uint32_t block = 0;  ///< number of its CTA
    /// Turns that it makes while the slowest makes one: a producer fills one stage in each, consumers go
    /// round the whole ring.
    std::uint64_t multiple = 1;
    std::uint64_t turn_steps = 0;  ///< instructions of one of its turns
    std::uint64_t steps() const { return multiple * turn_steps; }
};

struct LeapLimits {
    std::uint64_t margin = 2;  ///< turns before the loop's end that are left to be simulated
    std::uint64_t most = 0;    ///< turns
};

struct Leap {
    std::uint64_t turns = 0;               ///< of the slowest warps; 0: nothing was done
    std::vector<std::uint64_t> performed;  ///< by instruction of the kernel: times that warps performed it
    std::string obstacle;                  ///< why nothing was done
};

/// All warps perform the same number of turns (times their `multiple`): as many as every one of them has
/// left, but for the margin, and whole rings: after that, every barrier is used again as before. The watches
/// are left to the caller.
Leap leap_together(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                   const LeapLimits& limits);

}  // namespace heddle::models::gpu
