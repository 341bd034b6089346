// Many turns of the loops of all warps at once, without time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/leap.h"
#include "models/gpu/left_out_traffic.h"
#include "models/gpu/loop_watch.h"

namespace heddle::models::gpu {

/// A warp that takes part in a leap, and how many turns it makes in it. The warp and the watch belong to the
/// SM.
struct LeapingWarp {
    ptx::Warp* warp = nullptr;   ///< belongs to the SM
    WarpWatch* watch = nullptr;  ///< belongs to the SM; knows the warp's loops
    std::size_t loop = 0;        ///< in WarpWatch::loops(): the one of which turns are left out
    std::uint32_t block = 0;     ///< its SM << 8 | its CTA's place there
    /// Index of its SM in the GPU.
    std::uint32_t sm() const { return block >> 8; }
    /// Turns that this warp makes while the slowest warp makes one: a producer fills one stage of a ring in
    /// each turn, while consumers go round the whole ring.
    std::uint64_t multiple = 1;
    std::uint64_t turn_steps = 0;  ///< instructions of one of its turns
    /// Thread blocks with an SM to themselves go faster than those that share one: turns for each turn of the
    /// mean block, and what it is behind (at most half a turn) from leaps before.
    double rate = 1, behind = 0;
    /// Turns that it makes, in its `multiple`s, in a leap of so many of the mean block.
    std::uint64_t turns_of(std::uint64_t turns) const;
    std::uint64_t steps() const { return multiple * turn_steps; }
};

/// Bounds of a leap; a leap beyond them is shortened or not made.
struct LeapLimits {
    std::uint64_t margin = 2;  ///< turns before the loop's end that are left to be simulated
    std::uint64_t most = 0;    ///< turns
    std::uint64_t least = 0;   ///< turns; fewer are not worth it
    /// Accesses to memory that are remembered, of the last turns.
    std::uint64_t accesses = 0;
};

/// What a leap did.
struct Leap {
    std::uint64_t turns = 0;               ///< of the mean block's slowest warps; 0: nothing was done
    std::vector<std::uint64_t> performed;  ///< by instruction of the kernel: times that warps performed it
    std::string obstacle;                  ///< why nothing was done
};

/// Lets all warps perform the same number of turns (times their `multiple` and rate): as many as every one of
/// them has left, less the margin, and a multiple of the ring's length, so that every barrier is in the same
/// state as before. Warps of different rates have no rings. The caller updates the watches.
Leap leap_together(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                   const LeapLimits& limits, LeftOutTraffic& traffic);

}  // namespace heddle::models::gpu
