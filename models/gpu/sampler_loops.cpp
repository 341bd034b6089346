// Sampler: turns of the innermost loop that all warps are in, and of the loop around it.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "models/gpu/sampler.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint64_t kBatchTurns = 1;  // of the slowest warps, at least
constexpr std::uint64_t kManyTurns = 8;
constexpr double kOuterAlike = 0.02;  // turns of the loop around that differ by less are alike
constexpr double kFirstAlike = 0.06;  // ... of the first, with what goes before it, and the second
constexpr double kScatter = 0.1;      // of the same turn in different warps, at most
constexpr double kUneven = 0.1;       // mean difference of thread blocks' rates that matters
constexpr double kDrift = 0.1;        // turns by which thread blocks drift apart in a leap, at most
constexpr std::uint64_t kMostTurns = 1u << 16;
/// Cycles of one leap within a loop, per cycle simulated up to then: slow trends show only in what is
/// simulated.
constexpr double kMostBeyond = 3;
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
    if (!memory_settled(snapshot_near(time() - static_cast<Cycle>(period_)), history_.back())) return false;
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
                        loop == nullptr ? 0 : loop->turns, inner.last_step - inner.alike * inner.steps,
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

// ---- the innermost loop

void Sampler::start_batch() {
    batch_start_ = time();
    if (batches_.empty() && tally_) batches_.push_back(snapshot());
    for (const Live& live : live_) {
        const WarpWatch::Loop& loop = live.watch->loops()[live.watch->latest()];
        *live.slot = {loop.turns == 0 ? ~0u : loop.head,
                      loop.turns,
                      live.watch->steps(),
                      live.slot->seen,
                      loop.last,
                      live.slot->moved};
    }
}

// Finds out how many turns each warp makes while those of the slowest loop make one; false: no whole numbers.
// Warps in the same loop scatter, and count by their mean.
bool Sampler::find_multiples(const std::vector<double>& periods) {
    constexpr double kMostMultiple = 64, kRemainder = 0.1;
    struct Group {
        double sum = 0, count = 0;
        double mean() const { return sum / count; }
    };
    std::map<std::uint32_t, Group> groups;  // by the loop's head
    const auto head = [&](std::size_t i) { return leaping_[i].watch->loops()[leaping_[i].loop].head; };
    for (std::size_t i = 0; i < periods.size(); ++i) {
        Group& group = groups[head(i)];
        group.sum += periods[i];
        ++group.count;
    }
    double slowest = 0;
    for (const auto& [at, group] : groups) slowest = std::max(slowest, group.mean());
    for (std::size_t i = 0; i < periods.size(); ++i) {
        const double ratio = slowest / groups[head(i)].mean(), multiple = std::round(ratio);
        if (multiple > kMostMultiple || std::abs(ratio - multiple) > kRemainder * multiple) return false;
        leaping_[i].multiple = static_cast<std::uint64_t>(multiple);
    }
    return true;
}

// The time in which the machine does the work of one turn of all. Where thread blocks go at different rates,
// fast ones do more of it than slow ones; else warps only scatter.
double Sampler::measure_batch(const std::vector<double>& periods) {
    struct Block {
        double steps = 0, turn = 0;
    };
    std::map<std::uint32_t, Block> blocks;
    Block all;
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const LeapingWarp& one = leaping_[i];
        Block& block = blocks[one.block];
        const auto steps = static_cast<double>(one.watch->steps() - slots_[places_[i]].steps);
        block.steps += steps;
        all.steps += steps;
        block.turn += static_cast<double>(one.steps());
        all.turn += static_cast<double>(one.steps());
    }
    unevenness_ = 0;
    for (const auto& [number, block] : blocks) {
        const double rate = block.steps / block.turn / (all.steps / all.turn);
        unevenness_ += std::abs(rate - 1) / static_cast<double>(blocks.size());
    }
    double sum = 0, inverse = 0;
    for (std::size_t i = 0; i < periods.size(); ++i) {
        const double period = periods[i] * static_cast<double>(leaping_[i].multiple);
        sum += period;
        inverse += 1 / period;
    }
    const auto count = static_cast<double>(periods.size());
    return unevenness_ > kUneven ? count / inverse : sum / count;
}

// Turns that each thread block has made.
std::map<std::uint32_t, double> Sampler::positions() const {
    struct Block {
        double steps = 0, turn = 0;
    };
    std::map<std::uint32_t, Block> blocks;
    for (const LeapingWarp& one : leaping_) {
        Block& block = blocks[one.block];
        block.steps += static_cast<double>(one.watch->steps());
        block.turn += static_cast<double>(one.steps());
    }
    std::map<std::uint32_t, double> result;
    for (const auto& [number, block] : blocks) result[number] = block.steps / block.turn;
    return result;
}

// Thread blocks that share requests when they are in step share fewer when they are not, and drift apart as
// in a random walk, with the root of the time; some always go before others. Then the machine is not in a
// lasting state. Where warps hand each other the stages of a ring, other things decide the time.
bool Sampler::blocks_settled() {
    if (ptx::cluster_size(*plan_->launch) > 1) return true;
    for (const LeapingWarp& one : leaping_)
        if (one.multiple > 1) return true;
    if (unevenness_ > kUneven) {
        obstacle_ = "its thread blocks go at different rates";
        return false;
    }
    const std::map<std::uint32_t, double> now = positions();
    if (early_.size() != now.size() || time() <= early_time_) return false;
    const auto count = static_cast<double>(now.size());
    double mean = 0, squares = 0;
    for (const auto& [block, turns] : now) mean += (turns - early_[block]) / count;
    for (const auto& [block, turns] : now) {
        const double drift = turns - early_[block] - mean;
        squares += drift * drift / count;
    }
    const double left_out = most_turns() * period_, seen = static_cast<double>(time() - early_time_);
    if (std::sqrt(squares) * (std::sqrt(1 + left_out / seen) - 1) <= kDrift) return true;
    obstacle_ = "its thread blocks drift apart";
    return false;
}

// The warps that go round, and since the start of the batch how often the slowest did; 0: not all that move
// go round.
std::uint64_t Sampler::find_turning(std::vector<double>& periods) {
    leaping_.clear();
    places_.clear();
    std::uint64_t fewest = ~std::uint64_t{0};
    for (const Live& live : live_) {
        if (live.watch->steps() == live.slot->steps) continue;  // it waits
        const std::size_t latest = live.watch->latest();
        const WarpWatch::Loop& loop = live.watch->loops()[latest];
        const std::uint64_t gone = loop.turns - live.slot->turns;
        if (loop.turns == 0 || loop.head != live.slot->head || loop.turns < live.slot->turns ||
            loop.alike < gone) {
            periods_.clear();
            batches_.clear();
            start_batch();
            inner_not_before_ = 0;
            leapt_ = 0;
            fresh_leap_ = false;
            return 0;
        }
        fewest = std::min(fewest, gone);
        periods.push_back(static_cast<double>(loop.last - live.slot->last) / static_cast<double>(gone));
        leaping_.push_back({live.warp, live.watch, latest, live.block, 1, loop.steps});
        places_.push_back(static_cast<std::uint32_t>(live.slot - slots_.data()));
    }
    return leaping_.empty() ? 0 : fewest;
}

bool Sampler::look_at_inner_loop() {
    if (!program_->obstacle().empty() || live_.empty()) return false;
    std::vector<double> periods;
    const std::uint64_t fewest = find_turning(periods);
    if (time() < inner_not_before_ || fewest < kBatchTurns || time() - batch_start_ < kBatch) return false;
    const std::uint32_t head = leaping_.front().watch->loops()[leaping_.front().loop].head;
    if (!find_multiples(periods)) {
        // A few turns may come in bursts; many may not.
        obstacle_ = "the loops of its warps do not go round in step";
        if (fewest >= kManyTurns) start_batch();
        return false;
    }
    if (fresh_leap_) {
        // Warps that lag behind others miss the lines that those would have fetched meanwhile.
        fresh_leap_ = false;
        start_batch();
        return false;
    }
    end_batch(measure_batch(periods));
    if (periods_.size() == 1) {
        early_ = positions();
        early_time_ = time();
    }
    start_batch();
    if (!memory_settled(batches_.front(), batches_.back()) || !inner_settled(known_[head])) return false;
    if (!blocks_settled()) return false;
    if (!find_turn_around()) around_.clear();
    decision_ = Decision::inner_loop;
    return true;
}

// From the batches of this visit; or from one that is like those before, when the loop has settled before.
bool Sampler::inner_settled(Known& known) {
    const double last = periods_.back();
    known.periods.push_back(last);
    if (known.settled) {
        // It goes on as before, or not.
        const std::size_t before = known.periods.size() - 1;
        const double expected = mean_of(known.periods.data(), before);
        const double scatter = relative_spread(known.periods.data(), before);
        if (std::abs(last / expected - 1) >= std::max(2 * kAlike, scatter)) {
            if (leapt_ != 0) correct(leapt_, (last - leapt_period_) / 2);
            leapt_ = 0;
            periods_ = {last};
            known = {periods_, false};
            return false;
        }
    } else {
        const std::vector<double>* from = &periods_;
        std::size_t used = periods_.size() == 2 && relative_spread(periods_.data(), 2) < kVeryAlike
                               ? 2
                               : settled(periods_).used;
        if (used == 0) {
            from = &known.periods;
            used = settled(known.periods).used;
        }
        if (used == 0) return false;
        known.periods = std::vector<double>(from->end() - static_cast<std::ptrdiff_t>(used), from->end());
        known.settled = true;
    }
    if (known.periods.size() > kMany) known.periods.erase(known.periods.begin());
    leapt_ = 0;
    period_ = mean_of(known.periods.data(), known.periods.size());
    error_ = error_of_mean(known.periods.data(), known.periods.size());
    return true;
}

void Sampler::end_batch(double period) {
    periods_.push_back(period);
    batches_.push_back(snapshot());
    if (batches_.size() > kFew + 1) batches_.pop_front();
}

// ---- leaving out

std::uint64_t Sampler::leave_out_turns(const std::vector<LeapingWarp>& warps, double period, double error,
                                       std::uint64_t most, const Snapshot& from, const Snapshot& to) {
    LeapLimits limits;
    limits.margin = 0;
    limits.most = most;
    Leap leap = leap_together(*program_, warps, limits);
    if (leap.turns == 0) {
        obstacle_ = leap.obstacle;
        return 0;
    }
    const Cycle before = left_out_;
    add(period * static_cast<double>(leap.turns), error, from, to, std::move(leap.performed), 0);
    for (const LeapingWarp& one : warps)
        one.watch->leap(one.loop, one.turn_steps, leap.turns * one.multiple, left_out_ - before);
    return leap.turns;
}

double Sampler::most_turns() const {
    return std::max(2.0, kMostBeyond * static_cast<double>(clock().now()) / period_);
}

void Sampler::leave_out_inner_turns() {
    const std::uint64_t turns =
        leave_out_turns(leaping_, period_, error_, static_cast<std::uint64_t>(most_turns()), batches_.front(),
                        batches_.back());
    inner_left_out_ += turns;
    leapt_ = static_cast<double>(turns);
    leapt_period_ = period_;
    if (turns == 0) inner_not_before_ = time() + 8 * kBatch;
    after_leap();
    fresh_leap_ = turns != 0;
}

// By its own branches.
void Sampler::leave_out_outer_turns() {
    const std::uint64_t turns =
        leave_out_turns(leaping_, period_, error_, kMostTurns,
                        snapshot_near(time() - static_cast<Cycle>(period_)), history_.back());
    outer_attempted_ = outer_turns_ = outer_turns_ + turns;
    outer_left_out_ += turns;
    entries_.assign(entries_.size(), {});
    if (turns != 0) after_leap();
}

// By the entries of the loop within. Returns whether there was something to leave out.
bool Sampler::leave_out_turns_around() {
    history_.push_back(snapshot());
    const Snapshot& from = snapshot_near(time() - static_cast<Cycle>(around_period_));
    if (!memory_settled(from, history_.back())) return false;
    const Cycle before = left_out_;
    const std::uint64_t turns =
        leave_out_turns(around_, around_period_, around_error_, kMostOuterTurns, from, history_.back());
    if (turns == 0) return false;
    for (std::size_t i = 0; i < around_.size(); ++i) {
        Entry& entry = entries_[places_[i]];
        entry.at += static_cast<double>(left_out_ - before);
        entry.turns += turns;
        entry.steps += turns * around_[i].turn_steps;
    }
    outer_left_out_ += turns;
    around_guess_ = around_period_;
    around_turns_ = static_cast<double>(turns);
    outer_turns_ += turns;
    after_leap();
    fresh_leap_ = true;
    return true;
}

void Sampler::after_leap() {
    periods_.clear();
    batches_.clear();
    gather();
    start_batch();
}

}  // namespace heddle::models::gpu
