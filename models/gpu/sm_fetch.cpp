// An SM's lines of code and constants that come from L2.
#include "models/gpu/sm.h"

namespace heddle::models::gpu {

/// A warp's instruction waits for lines that the constant caches have just asked for. `ready`: when it has
/// what was there.
void Sm::wait_for_constants(const LoadOwner& owner, Cycle ready, Cycle after) {
    std::uint32_t load = LoadStoreUnit::kNone;
    for (const std::uint32_t line : constants_.pending()) {
        load_store_.join_remote(load, owner, ready);
        state_.constant_waits.push_back({line, load, after});
    }
    ++state_.cta_slots[state_.warps[owner.warp].cta].loads;
}

void Sm::take_lines(MemoryRequest& response, Cycle now) {
    const LineFetch::Answer answer = line_fetch_.respond(response, now);
    if (answer.kind == FetchKind::constants) {
        const auto [first, last] = ConstantCache::lines_of(answer.line, answer.sectors);
        for (std::uint32_t line = first; line < last; ++line) {
            const std::uint32_t ready = constants_.arrive(line, answer.at);
            std::erase_if(state_.constant_waits, [&](const ConstantWait& wait) {
                if (wait.line != line) return false;
                load_store_.complete_remote(wait.load, ready + wait.after, state_.completed);
                return true;
            });
        }
        return;
    }
    const std::uint32_t ready = instructions_.arrive(answer.line, answer.at);
    for (unsigned warp = 0; warp < kWarps; ++warp) {
        WarpSlot& slot = state_.warps[warp];
        if (slot.state != WarpState::running || slot.line != answer.line || slot.fetched != kPendingCycle)
            continue;
        slot.fetched = ready;
        if (!slot.waits_for_fence) look_at_next(warp, now);
    }
}

}  // namespace heddle::models::gpu
