#include "models/gpu/progress_watch.h"

#include <algorithm>

namespace heddle::models::gpu {

bool ProgressWatch::quiet(std::uint64_t events, Cycle now) {
    events_ = events;
    next_ = now + kQuiet;
    states_.clear();
    return false;
}

bool ProgressWatch::goes_round(Seen& seen, const ptx::WarpFingerprint& state) {
    // The same state with another clock: it has moved and come back.
    seen.round = seen.round || std::any_of(seen.states.begin(), seen.states.end(), [&](const auto& other) {
                     return other.state == state.state && other.clock != state.clock;
                 });
    if (seen.states.size() < kRemembered) {
        seen.states.push_back(state);
    } else {
        seen.states[seen.turn++ % kRemembered] = state;
    }
    return seen.round;
}

}  // namespace heddle::models::gpu
