// Lanes of a warp part and meet again, as on Volta and later: each lane goes its own way.
//
// Lanes at the same place form a path. When lanes part at a branch, its immediate post-dominator becomes a
// meeting: whoever comes first waits there for the others. One path runs at a time, until it arrives at its
// meeting, exits, or has to wait for something; then another goes on. A path that goes round a loop in which
// it can only wait for others (kPatience) gives way, and lanes at a meeting do not wait for such a path for
// ever: a spin lock between lanes of one warp makes progress.
#pragma once

#include <cstdint>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Times that a path goes round a waiting loop, without losing a lane, before others get a turn. Lanes that
/// compete for one word with compare-and-swap lose one each time round, so they are seldom torn apart.
inline constexpr unsigned kPatience = 8;

/// The running path meets the others of its present lanes at `pc`. Nothing happens when it has this meeting
/// already, or for kNowhere.
void open_meeting(Warp::State& warp, std::uint32_t pc);
/// `lanes` of the running path go on at `pc`, in a function: `frame` says how they return.
void begin_call(Warp::State& warp, std::uint32_t lanes, std::uint16_t frame, std::uint32_t pc);
/// `lanes` of the running path return from the innermost function. They go on when all have returned that
/// called it together.
void return_from_call(Warp::State& warp, std::uint32_t lanes);
/// The running path has arrived at its meeting.
void arrive_at_meeting(Warp::State& warp);
/// Another path goes on: the running one has no lanes left. Blocks the warp when none can, finishes it when
/// there is none.
void run_another(Warp::State& warp);
/// `lanes` of the running path are to wait, and to go on at `pc`. The others go on now.
void make_wait(Warp::State& warp, std::uint32_t lanes, std::uint32_t pc, PathWait wait, std::uint64_t key);
/// Paths of `warp` that wait like this can go on.
void wake(Warp::State& warp, PathWait wait, std::uint64_t key);
/// The running path has gone round a loop in which it waits for others.
void give_way(Warp::State& warp);
/// `lanes` of the running path have exited.
void leave(Warp::State& warp, std::uint32_t lanes);
/// See Cta::resume_stalled().
bool resume_stalled(Warp::State& warp);

/// `present`, lanes of the running path, perform a .sync instruction for which all of `named` are needed.
/// Returns the lanes for which to perform it now: `present`, and lanes that wait at it elsewhere and have
/// become part of the running path, or else go on behind it by themselves. 0: `present` wait.
std::uint32_t join_named_lanes(Warp::State& warp, std::uint32_t present, std::uint32_t named);

}  // namespace heddle::ptx
