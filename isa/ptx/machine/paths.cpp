#include "isa/ptx/machine/paths.h"

#include <algorithm>
#include <bit>

#include "isa/ptx/machine/calls.h"

namespace heddle::ptx {
namespace {

void enter(Warp::State& warp, std::uint16_t meeting) {
    warp.meeting = meeting;
    warp.reconvergence = meeting == kNoMeeting ? kNowhere : warp.meetings[meeting].pc;
}

// Lanes leave a meeting: returns where they go on.
std::uint32_t depart(Warp::State& warp, const Meeting& meeting, std::uint32_t lanes) {
    if (meeting.frame == kNoFrame) return meeting.pc;
    const bool last = (meeting.members & warp.live & ~lanes) == 0;
    return finish_call(warp, meeting.frame, lanes, last);
}

bool complete(const Warp::State& warp, const Meeting& meeting) {
    return (meeting.members & warp.live & ~meeting.arrived) == 0;
}

// Lanes go on behind a meeting, as a path of their own; or have arrived at the next one, at the same place.
void go_on(Warp::State& warp, std::uint32_t pc, std::uint32_t lanes, std::uint16_t meeting) {
    while (meeting != kNoMeeting && warp.meetings[meeting].pc == pc) {
        Meeting& next = warp.meetings[meeting];
        next.arrived |= lanes;
        if (!complete(warp, next)) return;
        lanes = next.arrived & warp.live;
        next.used = false;
        meeting = next.outer;
    }
    warp.paths.push_back({pc, lanes, meeting, PathWait::none, false, 0});
}

std::uint16_t add_meeting(Warp::State& warp, const Meeting& meeting) {
    const auto unused = std::find_if(warp.meetings.begin(), warp.meetings.end(),
                                     [](const Meeting& other) { return !other.used; });
    const auto index = static_cast<std::uint16_t>(unused - warp.meetings.begin());
    if (unused == warp.meetings.end()) {
        if (warp.meetings.size() >= kNoMeeting)
            fail_running(warp, 0, "too many calls and branches are open at once");
        warp.meetings.push_back(meeting);
    } else {
        *unused = meeting;
    }
    return index;
}

// Some members of a meeting have exited: the others may be complete now.
void review_meetings(Warp::State& warp) {
    for (std::size_t m = 0; m < warp.meetings.size(); ++m) {
        Meeting& meeting = warp.meetings[m];
        if (!meeting.used) continue;
        if ((meeting.members & warp.live) == 0) {
            meeting.used = false;
            if (meeting.frame != kNoFrame) warp.frames[meeting.frame].used = false;
            continue;
        }
        meeting.arrived &= warp.live;
        if (meeting.arrived == 0 || !complete(warp, meeting)) continue;
        meeting.used = false;
        const Meeting done = meeting;  // the list may change
        go_on(warp, depart(warp, done, done.arrived), done.arrived, done.outer);
    }
}

// Lanes that have arrived at the innermost meeting, of those around `meeting`, where somebody waits go ahead.
bool release_early(Warp::State& warp, std::uint16_t meeting) {
    for (; meeting != kNoMeeting; meeting = warp.meetings[meeting].outer) {
        Meeting& place = warp.meetings[meeting];
        if (place.arrived == 0) continue;
        const std::uint32_t lanes = place.arrived;
        const std::uint32_t pc = depart(warp, place, lanes);
        place.members &= ~lanes;
        place.arrived = 0;
        go_on(warp, pc, lanes, place.outer);
        return true;
    }
    return false;
}

bool any_runnable(const Warp::State& warp) {
    return std::any_of(warp.paths.begin(), warp.paths.end(),
                       [](const Path& path) { return path.wait == PathWait::none; });
}

// A warp that was blocked and has a runnable path again.
void unblock(Warp::State& warp) {
    if (!warp.blocked) return;
    warp.blocked = false;
    run_another(warp);
    warp.cta->released_warps |= 1u << warp.index;
}

}  // namespace

void open_meeting(Warp::State& warp, std::uint32_t pc) {
    if (pc == kNowhere || pc == warp.reconvergence) return;
    enter(warp, add_meeting(warp, {pc, warp.active, 0, warp.meeting, true, kNoFrame}));
}

void begin_call(Warp::State& warp, std::uint32_t lanes, std::uint16_t frame, std::uint32_t pc) {
    const std::uint16_t meeting = add_meeting(warp, {kNowhere, lanes, 0, warp.meeting, true, frame});
    if (lanes != warp.active) {
        warp.paths.push_back({pc, lanes, meeting, PathWait::none, false, 0});
        warp.active &= ~lanes;
        return;
    }
    warp.pc = pc;
    enter(warp, meeting);
}

void return_from_call(Warp::State& warp, std::uint32_t lanes) {
    // They do not come to the meetings inside of the function.
    std::uint16_t at = warp.meeting;
    for (; warp.meetings[at].frame == kNoFrame; at = warp.meetings[at].outer) {
        Meeting& inner = warp.meetings[at];
        inner.members &= ~lanes;
        if ((inner.members & warp.live) == 0) {
            inner.used = false;
        } else if (inner.arrived != 0 && complete(warp, inner)) {
            inner.used = false;
            go_on(warp, inner.pc, inner.arrived, inner.outer);
        }
    }
    Meeting& meeting = warp.meetings[at];
    meeting.arrived |= lanes;
    warp.active &= ~lanes;
    if (warp.active != 0) return;
    if (!complete(warp, meeting)) return run_another(warp);
    warp.active = meeting.arrived & warp.live;
    meeting.used = false;
    warp.pc = depart(warp, meeting, warp.active);
    enter(warp, meeting.outer);
}

void arrive_at_meeting(Warp::State& warp) {
    while (warp.pc == warp.reconvergence) {
        Meeting& meeting = warp.meetings[warp.meeting];
        meeting.arrived |= warp.active;
        if (!complete(warp, meeting)) {
            warp.active = 0;
            run_another(warp);
            return;
        }
        warp.active = meeting.arrived & warp.live;
        meeting.used = false;
        enter(warp, meeting.outer);
    }
}

void run_another(Warp::State& warp) {
    warp.spins = 0;
    for (std::size_t i = warp.paths.size(); i-- > 0;) {
        const Path path = warp.paths[i];
        if (path.wait != PathWait::none) continue;
        warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(i));
        warp.pc = path.pc;
        warp.active = path.lanes;
        warp.timed_out = path.timed_out;
        enter(warp, path.meeting);
        if (warp.pc == warp.reconvergence) arrive_at_meeting(warp);
        return;
    }
    enter(warp, kNoMeeting);
    (warp.live != 0 ? warp.blocked : warp.finished) = true;
}

void make_wait(Warp::State& warp, std::uint32_t lanes, std::uint32_t pc, PathWait wait, std::uint64_t key) {
    warp.paths.push_back({pc, lanes, warp.meeting, wait, false, key});
    warp.active &= ~lanes;
    if (warp.active == 0) run_another(warp);
}

void wake(Warp::State& warp, PathWait wait, std::uint64_t key) {
    bool any = false;
    for (Path& path : warp.paths) {
        if (path.wait != wait || path.key != key) continue;
        path.wait = PathWait::none;
        any = true;
    }
    if (any) unblock(warp);
}

void give_way(Warp::State& warp) {
    if (warp.active == warp.live || ++warp.spins < kPatience) return;
    warp.spins = 0;
    // The others may go round in vain as well, while who could help waits at a meeting.
    bool released = false;
    if (++warp.turns > warp.paths.size()) {
        warp.turns = 0;
        released = release_early(warp, warp.meeting);
    }
    if (!released && !any_runnable(warp) && !release_early(warp, warp.meeting)) return;
    // Behind all others, so that each gets its turn.
    warp.paths.insert(warp.paths.begin(),
                      {warp.pc, warp.active, warp.meeting, PathWait::none, warp.timed_out, 0});
    warp.active = 0;
    run_another(warp);
}

void leave(Warp::State& warp, std::uint32_t lanes) {
    ClusterState& cluster = warp.cta->own_cluster();
    cluster.threads_exited(warp, lanes);
    warp.live &= ~lanes;
    warp.active &= ~lanes;
    if (warp.live != 0 && warp.active != warp.live) {
        review_meetings(warp);
        // Who waits for named lanes looks again whether they are all there.
        for (Path& path : warp.paths) {
            if (path.wait == PathWait::lanes) path.wait = PathWait::none;
        }
    }
    if (warp.active == 0) run_another(warp);
    warp.cta->lanes_exited(warp);
}

bool resume_stalled(Warp::State& warp) {
    if (warp.finished || !warp.blocked) return false;
    bool any = false;
    for (Path& path : warp.paths) {
        if (path.wait != PathWait::memory_barrier) continue;
        path.wait = PathWait::none;
        path.timed_out = true;
        any = true;
    }
    for (std::size_t m = 0; m < warp.meetings.size(); ++m) {
        if (warp.meetings[m].used) any = release_early(warp, static_cast<std::uint16_t>(m)) || any;
    }
    if (any) unblock(warp);
    return any;
}

std::uint32_t join_named_lanes(Warp::State& warp, std::uint32_t present, std::uint32_t named) {
    const std::uint32_t here = warp.pc - 1;
    std::uint32_t waiting = 0, elsewhere = 0;
    for (const Path& path : warp.paths) {
        if (path.wait != PathWait::lanes || path.key != named) continue;
        (path.pc == here ? waiting : elsewhere) |= path.lanes;
    }
    const std::uint32_t needed = named & warp.live;
    if ((needed & ~(present | waiting | elsewhere)) != 0) {
        make_wait(warp, present, here, PathWait::lanes, named);
        return 0;
    }
    const bool exchanges = warp.information[here].pipeline != Pipeline::branch;  // not bar.warp.sync
    if (elsewhere != 0 && exchanges) {
        fail_running(warp, static_cast<unsigned>(std::countr_zero(elsewhere)),
                     "lanes exchange values at different .sync instructions: not supported",
                     "move the instruction out of the branch");
    }
    for (std::size_t i = 0; i < warp.paths.size();) {
        Path& path = warp.paths[i];
        if (path.wait != PathWait::lanes || path.key != named) {
            ++i;
            continue;
        }
        path.wait = PathWait::none;
        ++path.pc;
        if (path.pc == warp.pc && path.meeting == warp.meeting) {  // together from here on
            warp.active |= path.lanes;
            warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
    return present | waiting;
}

}  // namespace heddle::ptx
