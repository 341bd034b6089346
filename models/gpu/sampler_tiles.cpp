// Sampler: tiles of a persistent kernel in which some warps have no loop within a tile (its products are
// unrolled), so that nobody sees turns of it, and thread blocks go through their tiles out of step.
#include <algorithm>
#include <cmath>

#include "models/gpu/sampler.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint64_t kWindow = 3;     // turns of every warp whose time is taken
constexpr std::uint64_t kSettling = 1;   // turns after a leap that do not count
constexpr std::uint64_t kMostTiles = 8;  // of a leap at first: tiles differ in what they find in L2
/// Of later leaps, twice as many after each whose tiles took as long as the windows beside it, within kSame.
constexpr std::uint64_t kMostOfAll = 32;
constexpr double kSame = 0.01;
constexpr double kSamePeriod = 0.25;      // difference of the periods of warps that go round together
constexpr double kErrorOfWindow = 0.003;  // of its mean, relative. Assumption

}  // namespace

// The outermost loop of each warp that moves, where those without a loop within go round as often as those
// with one. Returns the fewest turns that one of them has made; 0: there are none such.
std::uint64_t Sampler::find_tiles() {
    leaping_.clear();
    places_.clear();
    double nested_period = 0, nested = 0;
    bool flat = false;
    std::uint64_t fewest = ~std::uint64_t{0};
    Cycle longest = 0;
    for (const Live& live : live_) {
        const WarpWatch::Loop* best = nullptr;
        std::uint64_t shortest = ~std::uint64_t{0};
        const auto& loops = live.watch->loops();
        for (const WarpWatch::Loop& loop : loops) {
            if (loop.turns < 2 || loop.steps == 0 || time() - loop.last > 2 * loop.period) continue;
            shortest = std::min(shortest, loop.steps);
            if (best == nullptr || loop.steps > best->steps ||
                (loop.steps == best->steps && loop.head < best->head))
                best = &loop;
        }
        if (best == nullptr) continue;
        if (best->steps >= 2 * shortest) {
            nested_period += static_cast<double>(best->period);
            ++nested;
        } else {
            flat = true;
        }
        fewest = std::min(fewest, best->turns);
        longest = std::max(longest, best->period);
        leaping_.push_back({live.warp, live.watch, static_cast<std::size_t>(best - loops.data()), live.block,
                            1, best->steps});
        places_.push_back(static_cast<std::uint32_t>(live.slot - slots_.data()));
    }
    if (!flat || nested == 0 || !others_wait_since(longest)) return 0;
    nested_period /= nested;
    for (const LeapingWarp& one : leaping_) {
        const auto period = static_cast<double>(one.watch->loops()[one.loop].period);
        if (std::abs(period / nested_period - 1) > kSamePeriod) return 0;
    }
    return fewest;
}

void Sampler::start_tiles() {
    most_tiles_ = kMostTiles;
}

void Sampler::start_window(bool settled) {
    tiles_.assign(slots_.size(), {});
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const WarpWatch::Loop& loop = leaping_[i].watch->loops()[leaping_[i].loop];
        tiles_[places_[i]] = {loop.head, loop.turns, loop.last};
    }
    window_start_ = snapshot();
    window_settled_ = settled;
}

bool Sampler::look_at_tiles() {
    if (!program_->obstacle().empty() || live_.empty() || time() < tiles_not_before_) return false;
    const std::uint64_t turns = find_tiles();
    if (turns == 0) return false;
    if (!window_start_) {
        start_window(true);
        return false;
    }
    Batch batch;
    std::uint64_t fewest = ~std::uint64_t{0};
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const WarpWatch::Loop& loop = leaping_[i].watch->loops()[leaping_[i].loop];
        const Tile& start = tiles_[places_[i]];
        if (start.turns == 0 || loop.head != start.head || loop.turns < start.turns) {
            start_window(false);
            return false;
        }
        fewest = std::min(fewest, loop.turns - start.turns);
        batch.time += static_cast<double>(loop.last - start.last);
        batch.turns += static_cast<double>(loop.turns - start.turns);
    }
    if (!window_settled_) {
        if (fewest >= kSettling) start_window(true);
        return false;
    }
    if (fewest < kWindow) return false;
    period_ = batch.time / batch.turns;
    error_ = kErrorOfWindow;
    if (tiles_left_out_ != 0) {  // they lay between this window and the one before
        correct(static_cast<double>(tiles_left_out_), (period_ - tiles_guess_) / 2);
        tiles_left_out_ = 0;
        const bool same = std::abs(period_ / tiles_guess_ - 1) < kSame;
        most_tiles_ = same && !cautious_ ? std::min(kMostOfAll, 2 * most_tiles_) : kMostTiles;
    }
    if (!memory_settled(*window_start_, snapshot())) {
        start_window(true);
        return false;
    }
    decision_ = Decision::tiles;
    return true;
}

void Sampler::leave_out_tiles() {
    const std::uint64_t turns = leave_out_turns(leaping_, period_, error_, most_tiles_,
                                                kSettling + kWindow + 1, *window_start_, snapshot());
    outer_left_out_ += turns;
    tiles_left_out_ = turns;
    tiles_guess_ = period_;
    if (turns == 0) {  // the window goes on
        tiles_not_before_ = time() + static_cast<Cycle>(period_);
        return;
    }
    after_leap();
    start_window(false);
}

}  // namespace heddle::models::gpu
