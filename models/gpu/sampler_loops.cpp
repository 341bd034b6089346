// Sampler: turns of the innermost loop that all warps are in.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "models/gpu/sampler.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint64_t kBatchTurns = 1;  // of the slowest warps, at least
constexpr std::uint64_t kManyTurns = 8;
/// Turns by which thread blocks may drift apart further in a leap: what they share in step they do not share
/// later, and leaps leave them as they are.
constexpr double kDrift = 0.1;
constexpr double kUneven = 0.04;  // difference of the rates of thread blocks that matters
/// Relative error of what was left out last in a loop, for trends that nothing simulated later shows.
/// Assumption.
constexpr double kTrend = 0.004;
constexpr double kTrendOfSaturated = 0.001;  // the same where units of the SMs never rest
constexpr double kUniform = 0.29;            // deviation of what lies anywhere between two values
constexpr std::size_t kLongStretch = 24;     // batches from which the traffic of a turn is taken, at most
constexpr double kBatchesAfter = 3;          // that are simulated before a loop ends
constexpr std::size_t kSureRates = 4;        // batches from which different rates are known
/// Leaps disturb what comes after them: cycles of one at least, and per cycle simulated up to then.
constexpr double kLeastPart = 0.2;
constexpr double kLeastPartOfMany = 0.5;  // while thread blocks wait for those that leap
constexpr double kLeastLeap = 12000;      // cycles
/// Accesses of a leap that L2 is shown: at least so many, or as many as it has lines.
constexpr std::uint64_t kAccesses = 500'000;
/// Cycles of one leap within a loop, per cycle simulated up to then: slow trends show only in what is
/// simulated.
constexpr double kMostBeyond = 5;
constexpr double kMostBeyondOfTile = 8;  // the next tile shows more
constexpr double kMostBeyondOfCautious = 1;
constexpr double kMostBeyondOfSaturated = 20;  // no trend but that of their work. Assumption

}  // namespace

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
                      live.slot->moved,
                      live.slot->behind};
    }
    batch_turns_ = 0;
}

// Traffic comes in bursts, where thread blocks go in step: batches are of whole turns. Whether one more has
// been made since the last look.
bool Sampler::turn_ends() {
    double turns = 0;
    for (std::size_t i = 0; i < leaping_.size(); ++i)
        turns += static_cast<double>(leaping_[i].watch->steps() - slots_[places_[i]].steps) /
                 static_cast<double>(leaping_[i].steps());
    turns /= static_cast<double>(leaping_.size());
    const double before = std::exchange(batch_turns_, turns);
    return std::floor(turns) > std::floor(before);
}

// Finds out how many turns each warp makes while those of the slowest loop make one, in this batch and those
// before it in this visit; false: no whole numbers. Warps in the same loop scatter, and count by their mean.
bool Sampler::find_multiples(std::map<std::uint32_t, Batch>& visit) {
    constexpr double kMostMultiple = 64, kRemainder = 0.2;
    visit = rates_;
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const WarpWatch::Loop& loop = leaping_[i].watch->loops()[leaping_[i].loop];
        const Slot& start = slots_[places_[i]];
        Batch& group = visit[loop.head];
        group.time += static_cast<double>(loop.last - start.last);
        group.turns += static_cast<double>(loop.turns - start.turns);
    }
    const auto period = [](const Batch& group) { return group.time / group.turns; };
    double slowest = 0;
    for (const auto& [head, group] : visit) slowest = std::max(slowest, period(group));
    for (LeapingWarp& one : leaping_) {
        const double ratio = slowest / period(visit[one.watch->loops()[one.loop].head]);
        const double multiple = std::round(ratio);
        if (multiple > kMostMultiple || std::abs(ratio - multiple) > kRemainder) return false;
        one.multiple = static_cast<std::uint64_t>(multiple);
    }
    return true;
}

// From the last turn that ended before it to the last that ended in it, in the mean of all warps.
Batch Sampler::measure_batch() const {
    Batch batch;
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const LeapingWarp& one = leaping_[i];
        const WarpWatch::Loop& loop = one.watch->loops()[one.loop];
        const Slot& start = slots_[places_[i]];
        batch.time += static_cast<double>(loop.last - start.last);
        batch.turns += static_cast<double>(loop.turns - start.turns) / static_cast<double>(one.multiple);
    }
    return batch;
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

// Thread blocks that share an SM with more others go slower, and of those of one SM the older go first:
// blocks of the same place in an SM with as many others are alike.
bool Sampler::find_rates() {
    struct Class {
        double turns = 0, squares = 0, blocks = 0;
        double mean() const { return turns / blocks; }
        double spread() const {
            return std::sqrt(std::max(0.0, squares / blocks - mean() * mean())) / mean();
        }
    };
    const std::map<std::uint32_t, double> now = positions();
    std::map<std::uint32_t, std::vector<std::pair<double, std::uint32_t>>> by_sm;  // positions and blocks
    for (const auto& [block, turns] : now) by_sm[block >> 8].push_back({-turns, block});
    std::map<std::uint32_t, std::uint32_t> class_of;
    std::map<std::uint32_t, Class> classes;
    double mean = 0;
    for (auto& [sm, blocks] : by_sm) {
        std::sort(blocks.begin(), blocks.end());
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const std::uint32_t block = blocks[i].second;
            const auto kind = static_cast<std::uint32_t>(blocks.size() << 8 | i);
            const double turns = now.at(block) - early_[block];
            class_of[block] = kind;
            classes[kind].turns += turns;
            classes[kind].squares += turns * turns;
            ++classes[kind].blocks;
            mean += turns / static_cast<double>(now.size());
        }
    }
    bool uneven = false, drift = false;
    for (const auto& [kind, one] : classes) {
        const double first = classes[kind & ~0xffu].mean();
        uneven = uneven || std::abs(one.mean() / mean - 1) > kUneven;
        drift = drift || std::abs(one.mean() / first - 1) > kUneven || one.spread() > kUneven;
    }
    if (mean <= 0) return false;  // the next batch shows more
    // Drift goes on as in a random walk, with the root of the time.
    double squares = 0;
    for (const auto& [kind, one] : classes)
        squares += one.blocks * std::pow(one.spread() * one.mean(), 2) / static_cast<double>(now.size());
    const double grow = 1 + kDrift / std::max(1e-9, std::sqrt(squares));
    drift_limit_ = static_cast<double>(clock().now() - early_time_) * (grow * grow - 1);
    if (!uneven) return true;
    if (drift && !saturated_) {
        obstacle_ = "its thread blocks drift apart";
        return false;
    }
    if (batches_.size() < kSureRates + 1) return false;
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const Class& one = classes[class_of[leaping_[i].block]];
        leaping_[i].rate = one.mean() / mean;
        leaping_[i].behind = slots_[places_[i]].behind;
    }
    return true;
}

// The warps that go round, and since the start of the batch how often the slowest did; 0: not all that move
// go round.
std::uint64_t Sampler::find_turning() {
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
            leave_visit();
            return 0;
        }
        fewest = std::min(fewest, gone);
        leaping_.push_back({live.warp, live.watch, latest, live.block, 1, loop.steps});
        places_.push_back(static_cast<std::uint32_t>(live.slot - slots_.data()));
    }
    // Those that are left when others have ended go at a rate of their own.
    if (std::exchange(warps_, live_.size()) > live_.size()) leave_visit();
    return leaping_.empty() ? 0 : fewest;
}

// The loop that the warps are in, and how many of them: what is known of its times holds for that.
std::uint64_t Sampler::place() const {
    return std::uint64_t{leaping_.front().watch->loops()[leaping_.front().loop].head} << 32 | leaping_.size();
}

// A loop lies around the one that the warps are in: it comes again.
bool Sampler::in_tile() const {
    return program_->in_loop(leaping_.front().watch->loops()[leaping_.front().loop].head);
}

// When some warps have ended, the others may go on as before: what is known of most of them stands beside
// what is seen of these, but for their first batch. Returns whether this is the first.
bool Sampler::begins_with_fewer() {
    const auto [here, is_new] = known_.try_emplace(place());
    const auto more = std::next(here);
    if (!is_new || more == known_.end() || more->first >> 32 != here->first >> 32) return false;
    here->second = more->second;
    here->second.begin_stretch();
    return true;
}

// All warps have come into a loop that is known. The time since they came into it before is a turn of the
// loop around it; so nothing more of this visit needs to be seen.
bool Sampler::look_at_entry() {
    if (leaping_.empty() || !at_entry_ || !in_step_ || !earlier_visit_) return false;
    const auto times = known_.find(place());
    if (times == known_.end()) return false;  // or some have not moved yet
    for (std::size_t i = 0; i < leaping_.size(); ++i)
        if (entries_[places_[i]].steps == entry_steps(leaping_[i])) return false;
    at_entry_ = false;
    const Settled before = times->second.before();
    if (before.used == 0) return false;
    for (LeapingWarp& one : leaping_) {
        const auto turn = turns_.find(one.watch->loops()[one.loop].head);
        if (turn == turns_.end()) return false;
        one.multiple = turn->second.multiple;
        one.turn_steps = turn->second.steps;
    }
    period_ = before.mean;
    error_ = before.error;
    if (!find_turn_around()) return false;
    decision_ = Decision::inner_loop;
    return true;
}

bool Sampler::look_at_inner_loop() {
    if (!program_->obstacle().empty() || live_.empty()) return false;
    const std::uint64_t fewest = find_turning();
    if (look_at_entry()) return true;
    if (time() < inner_not_before_ || fewest < kBatchTurns || time() - batch_start_ < kBatch) return false;
    std::map<std::uint32_t, Batch> visit;
    if (!find_multiples(visit)) {
        // A few turns may come in bursts; many may not.
        obstacle_ = "the loops of its warps do not go round in step";
        if (fewest >= kManyTurns) start_batch();
        return false;
    }
    if (!turn_ends()) return false;
    at_entry_ = false;
    rates_ = std::move(visit);
    for (const LeapingWarp& one : leaping_)
        turns_[one.watch->loops()[one.loop].head] = {one.multiple, one.turn_steps};
    if (fresh_leap_ || begins_with_fewer()) {
        // Warps that lag behind others miss the lines that those would have fetched meanwhile.
        fresh_leap_ = false;
        batches_.clear();
        start_batch();
        return false;
    }
    LoopTimes& times = known_[place()];
    times.add(measure_batch());
    batches_.push_back(snapshot());
    if (batches_.size() > kLongStretch + 1) batches_.pop_front();
    const Settled settled = times.settled(in_tile());
    // What came before has not settled; traffic comes in bursts, which a few batches do not show.
    while (settled.used != 0 && batches_.size() > std::max(settled.used, kLongStretch / 2) + 1) batches_.pop_front();
    units_full_ = units_never_rest(batches_.front(), batches_.back());
    if (early_.size() != positions().size()) {
        early_ = positions();
        early_time_ = clock().now();
    }
    start_batch();
    if (!memory_settled(batches_.front(), batches_.back()) || settled.used == 0) return false;
    if (!traffic_settled()) return false;
    period_ = settled.mean;
    error_ = settled.error;
    drift_limit_ = std::numeric_limits<double>::infinity();
    in_step_ = ptx::cluster_size(*plan_->only().launch) != 1;
    saturated_ = units_full_ && !memory_is_busy(batches_.front(), batches_.back());
    if (!in_step_ && !find_rates()) return false;
    if (!find_turn_around()) around_.clear();
    decision_ = Decision::inner_loop;
    return true;
}

// What comes to L2 for an instruction is the same in both halves of the stretch, where it has many batches.
bool Sampler::traffic_settled() const {
    constexpr std::size_t kEnough = 4;
    constexpr double kTrafficAlike = 0.04;
    const std::size_t batches = batches_.size() - 1;
    if (batches < kEnough) return true;
    const auto traffic = [&](std::size_t from, std::size_t to) {
        return static_cast<double>(batches_[to].counts.l2_sectors() - batches_[from].counts.l2_sectors()) /
               static_cast<double>(batches_[to].steps - batches_[from].steps);
    };
    const double first = traffic(0, batches / 2), second = traffic(batches - batches / 2, batches);
    return std::abs(first - second) <= kTrafficAlike * second;
}

// What was left out last lay between what was simulated before and what was simulated after it.
void Sampler::resolve(const LoopTimes* times) {
    if (unsure_.turns == 0) return;
    // Units that never rest, before and after, did not rest between: a turn took what they need for it.
    const bool compares = times != nullptr && !(unsure_.saturated && units_full_);
    const Settled after = compares ? times->present() : Settled{};
    double error = std::hypot(unsure_.error, unsure_.saturated ? kTrendOfSaturated : kTrend);
    if (after.used != 0) {
        const double trend = after.mean / unsure_.period - 1;
        // A single batch says less than what several before it said.
        const double weight = std::min(0.5, unsure_.error / (unsure_.error + after.error + 1e-9));
        correction_ += weight * trend * unsure_.period * unsure_.turns;
        error = std::hypot(std::max(weight * after.error, (1 - weight) * unsure_.error), kUniform * trend);
        const Snapshot &from = batches_.front(), &to = batches_.back();
        if (batches_.size() >= 2 && to.steps > from.steps) {
            constexpr double kHalf = 0.5;
            extra_->add_growth(from.counts, to.counts,
                               kHalf * unsure_.work / static_cast<double>(to.steps - from.steps),
                               unsure_.growth);
            extra_->add_growth(
                unsure_.from->counts, unsure_.to->counts,
                -kHalf * unsure_.work / static_cast<double>(unsure_.to->steps - unsure_.from->steps),
                unsure_.growth);
        }
    }
    const double cycles = error * unsure_.period * unsure_.turns;
    variance_ += cycles * cycles;
    unsure_ = {};
}

// The warps have left the loop that they were in.
void Sampler::leave_visit() {
    const auto times = known_.find(unsure_.place);
    resolve(times == known_.end() ? nullptr : &times->second);
    for (auto& [head, one] : known_) one.begin_stretch();
    if (batches_.size() >= 2) earlier_visit_.emplace(batches_.front(), batches_.back());
    batches_.clear();
    early_.clear();
    rates_.clear();
    if (std::exchange(behind_, false))
        for (Slot& slot : slots_) slot.behind = 0;
    inner_not_before_ = 0;
    fresh_leap_ = forgotten_ = false;
    at_entry_ = true;
    if (plan_ != nullptr) start_batch();
}

// ---- leaving out

std::uint64_t Sampler::leave_out_turns(const std::vector<LeapingWarp>& warps, double period, double error,
                                       std::uint64_t most, std::uint64_t margin, const Snapshot& from,
                                       const Snapshot& to) {
    if (to.at <= from.at || to.steps <= from.steps) return 0;  // nothing seen could stand for them
    LeapLimits limits;
    limits.margin = margin;
    limits.most = most;
    const double part = saturated_ ? 0 : scheduler_.waiting() == 0 ? kLeastPart : kLeastPartOfMany;
    const double least = std::max(kLeastLeap, part * static_cast<double>(clock().now()));
    limits.least = static_cast<std::uint64_t>(least / period);
    limits.accesses = std::max(kAccesses, config_->l2.bytes / kLineBytes);
    Leap leap = leap_together(*program_, warps, limits, traffic_);
    if (leap.turns == 0) {
        obstacle_ = leap.obstacle;
        return 0;
    }
    const Cycle before = left_out_;
    const std::uint64_t steps =
        std::accumulate(leap.performed.begin(), leap.performed.end(), std::uint64_t{0});
    const std::optional<LeftOutMemory> memory = pass_left_out(steps, from, to);
    add(period * static_cast<double>(leap.turns), error, from, to, std::move(leap.performed), 0, memory);
    for (const LeapingWarp& one : warps)
        one.watch->leap(one.loop, one.turn_steps, one.turns_of(leap.turns) * one.multiple,
                        left_out_ - before);
    return leap.turns;
}

// Shows L2 what of the accesses is remembered. Returns what memory did of what was left out; none: not known.
std::optional<LeftOutMemory> Sampler::pass_left_out(std::uint64_t steps, const Snapshot& from,
                                                    const Snapshot& to) {
    if (traffic_.complete()) {
        const LeftOutMemory memory = pass_(traffic_, 0);
        if (forgotten_) return {};
        return memory;
    }
    const double work = static_cast<double>(steps) / static_cast<double>(to.steps - from.steps);
    const double inflow =
        work * (to.counts.l2_inflow() - from.counts.l2_inflow()) / static_cast<double>(config_->l2.bytes);
    pass_(traffic_, std::min(1.0, inflow));
    forgotten_ = true;
    return {};
}

double Sampler::most_turns(bool tiles) const {
    const double beyond = cautious_    ? kMostBeyondOfCautious
                          : saturated_ ? kMostBeyondOfSaturated
                          : tiles      ? kMostBeyondOfTile
                                       : kMostBeyond;
    const double most = beyond * static_cast<double>(clock().now());
    return (saturated_ ? most : std::min(drift_limit_, most)) / period_;
}

void Sampler::leave_out_inner_turns(const Snapshot& from, const Snapshot& to) {
    const std::uint64_t steps = steps_left_out_;
    // What comes after it shows whether it went on so; of tiles, the next one does.
    const bool tiles = in_tile();
    const auto margin =
        tiles ? 0 : static_cast<std::uint64_t>(kBatchesAfter * static_cast<double>(kBatch) / period_) + 1;
    const std::uint64_t turns = leave_out_turns(
        leaping_, period_, 0, static_cast<std::uint64_t>(most_turns(tiles)), margin, from, to);
    inner_left_out_ += turns;
    if (turns == 0) {
        inner_not_before_ = time() + 8 * kBatch;
        return;
    }
    // Rates are those of what is simulated.
    std::map<std::uint32_t, std::uint64_t> own;
    for (const LeapingWarp& one : leaping_) own[one.block] = one.turns_of(turns);
    for (auto& [block, position] : early_) position += static_cast<double>(own[block]);
    for (std::size_t i = 0; i < leaping_.size(); ++i) {
        const LeapingWarp& one = leaping_[i];
        if (one.rate == 1) continue;
        behind_ = true;
        slots_[places_[i]].behind =
            one.behind + one.rate * static_cast<double>(turns) - static_cast<double>(one.turns_of(turns));
    }
    unsure_ = {static_cast<double>(turns),
               period_,
               error_,
               static_cast<double>(steps_left_out_ - steps),
               place(),
               from,
               to,
               forgotten_                 ? KernelSummary::Growth::all
               : traffic_.accesses() == 0 ? KernelSummary::Growth::units
                                          : KernelSummary::Growth::all_but_memory,
               saturated_};
    after_leap();
}

void Sampler::after_leap() {
    for (auto& [head, times] : known_) times.begin_stretch();
    if (batches_.size() >= 2) earlier_visit_.emplace(batches_.front(), batches_.back());
    batches_.clear();
    fresh_leap_ = true;
    gather();
    start_batch();
}

}  // namespace heddle::models::gpu
