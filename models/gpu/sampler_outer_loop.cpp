// Sampler: turns of the loop around the innermost one.
#include <algorithm>
#include <cmath>

#include "models/gpu/sampler.h"

namespace heddle::models::gpu {
namespace {

constexpr double kOuterAlike = 0.02;  // turns of the loop around that differ by less are alike
constexpr double kFirstAlike = 0.06;  // ... of the first, with what goes before it, and the second
constexpr double kScatter = 0.1;      // of the same turn in different warps, at most
constexpr std::uint64_t kMostTurns = 1u << 16;
constexpr std::uint64_t kFewOuterTurns = 3;    // where memory is busy: tiles differ in what they find in L2
constexpr std::uint64_t kMostOuterTurns = 32;  // before another one is simulated and compared

}  // namespace

// ---- the loop around, by its own branches

bool Sampler::look_at_outer_loop() {
    if (!program_->obstacle().empty() || live_.empty()) return false;
    leaping_.clear();
    std::uint64_t turns = ~std::uint64_t{0};
    double period = 0, before = 0;
    Cycle longest = 0;
    for (const Live& live : live_) {
        const WarpWatch::Loop* best = nullptr;
        const auto& loops = live.watch->loops();
        std::uint64_t shortest = ~std::uint64_t{0};
        for (const WarpWatch::Loop& loop : loops) {
            if (loop.turns > 3 && loop.steps != 0) shortest = std::min(shortest, loop.steps);
            if (loop.turns < 2 || (loop.turns > 2 && loop.before == 0)) continue;
            if (time() - loop.last > 2 * loop.period) continue;
            if (best == nullptr || loop.steps > best->steps) best = &loop;
        }
        if (best == nullptr || best->steps < 2 * shortest) continue;
        leaping_.push_back({live.warp, live.watch, static_cast<std::size_t>(best - loops.data()), live.block,
                            1, best->steps});
        turns = std::min(turns, best->turns);
        period += static_cast<double>(best->period);
        before += static_cast<double>(best->turns == 2 ? best->first : best->before);
        longest = std::max(longest, best->period);
    }
    if (leaping_.empty() || turns <= outer_turns_) return false;
    if (!others_wait_since(longest)) return false;
    outer_turns_ = turns;
    if (turns <= outer_attempted_) return false;
    const bool few = turns == 2;
    const double difference = std::abs(period - before) / period;
    if (difference > (few ? kFirstAlike : kOuterAlike)) return false;
    // The first turn contains the start of the kernel.
    period_ = (few ? period : (period + before) / 2) / static_cast<double>(leaping_.size());
    error_ = difference / (few ? 4 : 2);
    history_.push_back(snapshot());
    if (!memory_settled(snapshot_ago(static_cast<Cycle>(period_)), history_.back())) return false;
    decision_ = Decision::outer_loop;
    return true;
}

// Whether those that do not leap have been waiting for so long.
bool Sampler::others_wait_since(Cycle cycles) const {
    std::size_t waiting = 0;
    for (const Live& live : live_) waiting += live.slot->moved + cycles < time();
    return leaping_.size() + waiting >= live_.size();
}

// ---- the loop around, by the times at which the loop within was entered

// Instructions that the warp had performed when it came into the loop that it is in.
std::uint64_t Sampler::entry_steps(const LeapingWarp& one) {
    const WarpWatch::Loop& inner = one.watch->loops()[one.loop];
    return inner.last_step - inner.alike * inner.steps;
}

// When all warps are in the loop within for the second time, the time between is a turn of the loop around:
// nobody needs to come to its end.
bool Sampler::find_turn_around() {
    around_.clear();
    double sum = 0, squares = 0;
    bool follows = true;
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const LeapingWarp& one = leaping_[i];
        const WarpWatch::Loop& inner = one.watch->loops()[one.loop];
        const WarpWatch::Loop* const loop = one.watch->around();
        const auto alike = static_cast<double>(inner.alike);
        const double turn = period_ / static_cast<double>(one.multiple);
        const Entry now{one.watch->started(), loop == nullptr ? ~0u : loop->head,
                        loop == nullptr ? 0 : loop->turns, entry_steps(one),
                        static_cast<double>(inner.last) - alike * turn};
        Entry& before = entries_[places_[i]];
        if (before.started == now.started && before.steps == now.steps) {
            follows = false;  // still the same
            continue;
        }
        if (loop == nullptr || before.started != now.started || now.turns != before.turns + 1 ||
            (before.loop != ~0u && before.loop != now.loop)) {
            follows = false;
        } else {
            const double time = now.at - before.at;
            sum += time;
            squares += time * time;
            around_.push_back({one.warp, one.watch,
                               static_cast<std::size_t>(loop - one.watch->loops().data()), one.block, 1,
                               now.steps - before.steps});
        }
        before = now;
    }
    if (!follows || around_.empty()) return false;
    const auto count = static_cast<double>(around_.size());
    around_period_ = sum / count;
    const double scatter = std::sqrt(std::max(0.0, squares / count - around_period_ * around_period_));
    if (scatter > kScatter * around_period_) return false;
    // Warps of one SM are not independent of one another.
    const double sms = std::min<double>(count, static_cast<double>(sms_.size()));
    around_error_ = std::hypot(scatter / around_period_ / std::sqrt(sms), error_);
    if (around_guess_ != 0) {
        around_seen_ = around_period_;
        settle_guess();
    }
    return others_wait_since(static_cast<Cycle>(around_period_));
}

// A turn that was simulated after those left out: they lay between the two, and so did their times.
void Sampler::settle_guess() {
    correct(around_turns_, (around_seen_ - around_guess_) / 2);
    around_guess_ = 0;
}

void Sampler::correct(double turns, double difference) {
    correction_ += turns * difference;
    variance_ += turns * turns * difference * difference;
}

// ---- leaving out

// By its own branches.
void Sampler::leave_out_outer_turns() {
    const std::uint64_t turns =
        leave_out_turns(leaping_, period_, error_, cautious_ ? kFewOuterTurns : kMostTurns, 0,
                        snapshot_ago(static_cast<Cycle>(period_)), history_.back());
    outer_attempted_ = outer_turns_ = outer_turns_ + turns;
    outer_left_out_ += turns;
    entries_.assign(entries_.size(), {});
    early_.clear();
    if (turns != 0) after_leap();
}

// By the entries of the loop within. Returns whether there was something to leave out.
bool Sampler::leave_out_turns_around() {
    history_.push_back(snapshot());
    const Snapshot& from = snapshot_ago(static_cast<Cycle>(around_period_));
    if (!memory_settled(from, history_.back())) return false;
    const Cycle before = left_out_;
    const std::uint64_t steps = steps_left_out_;
    const std::uint64_t turns =
        leave_out_turns(around_, around_period_, around_error_,
                        cautious_ || memory_is_busy(from, history_.back()) ? kFewOuterTurns : kMostOuterTurns,
                        0, from, history_.back());
    if (turns == 0) return false;
    for (std::size_t i = 0; i < around_.size(); ++i) {
        Entry& entry = entries_[places_[i]];
        entry.at += static_cast<double>(left_out_ - before);
        entry.turns += turns;
        entry.steps += turns * around_[i].turn_steps;
    }
    outer_left_out_ += turns;
    use_present_traffic(steps_left_out_ - steps);
    around_guess_ = around_period_;
    around_turns_ = static_cast<double>(turns);
    outer_turns_ += turns;
    early_.clear();
    after_leap();
    return true;
}

// The loop within goes now as it went in the tile before, or not: tiles go on somewhere between the two.
void Sampler::use_present_traffic(std::uint64_t steps) {
    if (!earlier_visit_ || batches_.size() < 2) return;
    const auto add = [&](const Snapshot& from, const Snapshot& to, double part) {
        extra_->add_growth(from.counts, to.counts,
                           part * static_cast<double>(steps) / static_cast<double>(to.steps - from.steps),
                           forgotten_ ? KernelSummary::Growth::all : KernelSummary::Growth::all_but_memory);
    };
    add(batches_.front(), batches_.back(), 0.5);
    add(earlier_visit_->first, earlier_visit_->second, -0.5);
}

}  // namespace heddle::models::gpu
