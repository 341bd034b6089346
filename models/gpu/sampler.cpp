#include "models/gpu/sampler.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace heddle::models::gpu {
namespace {

constexpr Cycle kLook = 256;              // cycles between two looks
constexpr Cycle kBatch = 4000;            // cycles of a batch of turns, at least
constexpr std::uint64_t kBatchTurns = 1;  // of the slowest warps, at least
constexpr std::uint64_t kManyTurns = 8;
constexpr double kVeryAlike = 0.003;    // two batches that differ by less are enough
constexpr double kAlike = 0.015;        // batches whose times differ by less are alike
constexpr std::size_t kFew = 3;         // batches that must be alike
constexpr std::size_t kMany = 16;       // batches whose mean counts when they scatter, at most
constexpr double kOuterAlike = 0.02;    // the same of turns of the loop around
constexpr double kFirstAlike = 0.06;    // ... of the first, with what goes before it, and the second
constexpr Cycle kWaveGroup = 8000;      // cycles of a group of waves that is compared, at least
constexpr std::uint64_t kProbes = 16;   // thread blocks that are counted before they are left out
constexpr double kBusyMemory = 0.4;     // part of the memory's bandwidth from which its state matters
constexpr unsigned kQuietLooks = 8000;  // without an instruction: the kernel hangs
/// Part of what was left out by which it may be wrong beyond its spread: slow trends, state of L2.
/// Assumption; the tests compare with full runs.
constexpr double kSystematic = 0.02;

double relative_spread(const double* values, std::size_t count) {
    const auto [low, high] = std::minmax_element(values, values + count);
    return (*high - *low) / *high;
}

double mean_of(const double* values, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += values[i];
    return sum / static_cast<double>(count);
}

/// Relative standard error of the mean.
double error_of_mean(const double* values, std::size_t count) {
    const double mean = mean_of(values, count);
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const auto n = static_cast<double>(count);
    return std::sqrt(squares / (n - 1) / n) / mean;
}

struct Settled {
    double mean = 0, error = 0;  // error: relative, of the mean
    std::size_t used = 0;        // of the last values; 0: they have not settled
};

/// Whether the last of these times are alike; or, when they scatter, so many that their mean is known well
/// and that they have no trend.
Settled settled(const std::vector<double>& values) {
    if (values.size() < kFew) return {};
    const double* const last = values.data() + values.size() - kFew;
    if (relative_spread(last, kFew) < kAlike) return {mean_of(last, kFew), error_of_mean(last, kFew), kFew};
    for (std::size_t count = std::min(kMany, values.size()); count >= 2 * kFew - 1; --count) {
        const double* const first = values.data() + values.size() - count;
        const std::size_t half = count / 2;
        const double trend = mean_of(first, half) / mean_of(first + count - half, half) - 1;
        const double error = error_of_mean(first, count);
        if (std::abs(trend) < kAlike && error < kAlike / 2) return {mean_of(first, count), error, count};
    }
    return {};
}

}  // namespace

Sampler::Sampler(const sc_core::sc_module_name& name, ClockDomain& clock, sc_core::sc_vector<Sm>& sms,
                 CtaScheduler& scheduler)
    : Block(name, clock), sms_(sms), scheduler_(scheduler) {}

void Sampler::reset() {
    plan_ = nullptr;
    next_ = kNever;
    left_out_ = 0;
    variance_ = 0;
    decision_ = Decision::none;
    slots_.clear();
    live_.clear();
    steps_before_ = 0;
    quiet_looks_ = 0;
    batches_.clear();
    periods_.clear();
    known_.clear();
    batch_start_ = inner_not_before_ = 0;
    outer_turns_ = outer_attempted_ = 0;
    history_.clear();
    history_interval_ = kBatch;
    leaping_.clear();
    waves_seen_ = 0;
    wave_snapshots_.clear();
    waves_done_ = false;
    waves_left_out_ = outer_left_out_ = inner_left_out_ = 0;
    obstacle_.clear();
    program_.reset();
    extra_.reset();
}

void Sampler::begin(const LaunchPlan& plan, const GpuConfig& config, std::function<KernelSummary()> tally) {
    plan_ = &plan;
    config_ = &config;
    tally_ = std::move(tally);
    program_ = std::make_unique<ptx::LeapProgram>(*plan.launch->kernel);
    extra_ = std::make_unique<KernelSummary>(config, plan);
    slots_.assign(sms_.size() * Sm::kWarps, {});
    next_ = kLook;
    wake(next_);
}

Cycle Sampler::tick(Cycle now) {
    if (plan_ == nullptr || scheduler_.finished() == plan_->launch->grid.count()) return next_ = kNever;
    look();
    if (quiet_looks_ > kQuietLooks) return next_ = kNever;
    return next_ = now + kLook;
}

void Sampler::gather() {
    live_.clear();
    std::uint64_t steps = 0;
    for (std::size_t i = 0; i < sms_.size(); ++i) {
        sms_[i].visit_warps([&](unsigned place, ptx::Warp& warp, WarpWatch& watch, unsigned cta) {
            Slot& slot = slots_[i * Sm::kWarps + place];
            if (slot.seen != watch.steps()) slot.moved = time();
            slot.seen = watch.steps();
            steps += watch.steps();
            live_.push_back({&warp, &watch, &slot, static_cast<std::uint32_t>(i << 8 | cta)});
        });
    }
    quiet_looks_ = steps == steps_before_ ? quiet_looks_ + 1 : 0;
    steps_before_ = steps;
}

void Sampler::look() {
    gather();
    remember();
    if (look_at_waves() || look_at_outer_loop() || look_at_inner_loop()) clock().stop();
}

Sampler::Snapshot Sampler::snapshot() const {
    Snapshot result{time(), tally_()};
    result.counts.add_growth(KernelSummary(*config_, *plan_), *extra_, 1);
    return result;
}

void Sampler::remember() {
    constexpr std::size_t kRemembered = 64;
    if (!history_.empty() && time() - history_.back().at < history_interval_) return;
    history_.push_back(snapshot());
    if (history_.size() < kRemembered) return;
    std::deque<Snapshot> half;
    for (std::size_t i = 0; i < history_.size(); i += 2) half.push_back(history_[i]);
    history_.swap(half);
    history_interval_ *= 2;
}

const Sampler::Snapshot& Sampler::snapshot_near(Cycle at) const {
    const auto distance = [at](const Snapshot& one) { return one.at < at ? at - one.at : one.at - at; };
    return *std::min_element(history_.begin(), history_.end() - 1,
                             [&](const Snapshot& a, const Snapshot& b) { return distance(a) < distance(b); });
}

// A memory that is busy is in a lasting state only when L2 has begun to write back.
bool Sampler::memory_settled(const Snapshot& from, const Snapshot& to) const {
    const double cycles = static_cast<double>(to.at - from.at);
    const double bytes = static_cast<double>(to.counts.dram_bytes() - from.counts.dram_bytes());
    if (bytes < kBusyMemory * cycles * config_->hbm.bandwidth / config_->clock) return true;
    return to.counts.l2_bytes_taken_in() > config_->l2.bytes + config_->l2.bytes / 5;
}

// ---- waves of thread blocks

bool Sampler::look_at_waves() {
    const std::vector<Cycle>& ends = scheduler_.wave_ends();
    if (waves_done_ || ends.size() == waves_seen_) return false;
    waves_seen_ = ends.size();
    const std::uint64_t wave = scheduler_.wave();
    if (scheduler_.waiting() < 2 * wave || ends.size() < kFew + 1) return false;
    wave_snapshots_.push_back(snapshot());
    // The first wave is not like the others: it finds an empty machine. Of many waves, the later half counts.
    const std::size_t first = ends.size() < 4 * kFew ? 0 : ends.size() / 3;
    const double mean =
        static_cast<double>(ends.back() - ends[first]) / static_cast<double>(ends.size() - 1 - first);
    const std::size_t several = std::max<std::size_t>(1, (ends.size() - 1 - first) / (2 * kFew));
    const auto shortest = static_cast<std::size_t>(std::ceil(kWaveGroup / mean));
    for (const std::size_t in_group : {shortest, std::max(shortest, several)}) {
        std::vector<double> groups;
        for (std::size_t end = ends.size() - 1; end >= first + in_group; end -= in_group)
            groups.insert(groups.begin(), static_cast<double>(ends[end] - ends[end - in_group]));
        const Settled time_of_group = settled(groups);
        period_ = time_of_group.mean / static_cast<double>(in_group);
        error_ = time_of_group.error;
        if (time_of_group.used != 0) break;
    }
    while (wave_snapshots_.size() > 2 && wave_snapshots_[1].at < ends[first]) wave_snapshots_.pop_front();
    if (period_ == 0 || wave_snapshots_.size() < 2) return false;
    if (!memory_settled(wave_snapshots_.front(), wave_snapshots_.back())) return false;
    waves_done_ = true;
    if (!uniform_blocks()) return false;
    decision_ = Decision::waves;
    return true;
}

bool Sampler::uniform_blocks() {
    std::uint64_t fewest = ~std::uint64_t{0}, most = 0;
    for (const Sm& sm : sms_) {
        fewest = std::min(fewest, sm.fewest_steps());
        most = std::max(most, sm.most_steps());
    }
    if (program_->blocks_depend()) {
        obstacle_ = "what its thread blocks do depends on values that others write";
        return false;
    }
    const std::uint64_t waiting = scheduler_.waiting(), first = scheduler_.next_cta();
    if (ptx::cluster_size(*plan_->launch) == 1) {
        for (std::uint64_t i = 0; i < kProbes; ++i) {
            const std::uint64_t steps =
                ptx::count_steps(*plan_->launch, first + (waiting - 1) * i / (kProbes - 1), 2 * most);
            fewest = std::min(fewest, steps);
            most = std::max(most, steps);
        }
    }
    if (static_cast<double>(most - fewest) <= 0.02 * static_cast<double>(most)) return true;
    obstacle_ = "its thread blocks differ: " + std::to_string(fewest) + " to " + std::to_string(most) +
                " warp instructions";
    return false;
}

void Sampler::leave_out_waves() {
    const std::uint64_t wave = scheduler_.wave();
    const std::uint64_t waves = scheduler_.waiting() / wave - 1;
    scheduler_.skip(waves * wave);
    waves_left_out_ += waves;
    add(period_ * static_cast<double>(waves), error_, wave_snapshots_.front(), wave_snapshots_.back());
}

// ---- the loop around

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
            if (loop.turns > 3) shortest = std::min(shortest, loop.steps);
            if (loop.turns < 2 || time() - loop.last > 2 * loop.period) continue;
            if (best == nullptr || loop.steps > best->steps) best = &loop;
        }
        if (best == nullptr || best->steps < 2 * shortest) continue;
        leaping_.push_back(
            {live.warp, live.watch, static_cast<std::size_t>(best - loops.data()), live.block});
        turns = std::min(turns, best->turns);
        period += static_cast<double>(best->period);
        before += static_cast<double>(best->turns == 2 ? best->first : best->before);
        longest = std::max(longest, best->period);
    }
    if (leaping_.empty() || turns <= outer_turns_) return false;
    // Those that do not go round must be waiting since long.
    std::size_t waiting = 0;
    for (const Live& live : live_) waiting += live.slot->moved + longest < time();
    if (leaping_.size() + waiting < live_.size()) return false;
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

// The mean period of the slowest warps, of which the others make whole multiples of turns; 0: they do not.
double Sampler::common_period(const std::vector<double>& periods) {
    constexpr double kMostMultiple = 64, kRemainder = 0.1;
    const double slowest = *std::max_element(periods.begin(), periods.end());
    double sum = 0;
    for (std::size_t i = 0; i < periods.size(); ++i) {
        const double multiple = std::round(slowest / periods[i]);
        if (multiple > kMostMultiple || std::abs(slowest / periods[i] - multiple) > kRemainder * multiple)
            return 0;
        leaping_[i].multiple = static_cast<std::uint64_t>(multiple);
        sum += multiple * periods[i];
    }
    return sum / static_cast<double>(periods.size());
}

bool Sampler::look_at_inner_loop() {
    if (!program_->obstacle().empty() || live_.empty() || time() < inner_not_before_) return false;
    leaping_.clear();
    std::uint64_t fewest = ~std::uint64_t{0};
    std::vector<double> periods;
    for (const Live& live : live_) {
        if (live.watch->steps() == live.slot->steps) continue;  // it waits
        const std::size_t latest = live.watch->latest();
        const WarpWatch::Loop& loop = live.watch->loops()[latest];
        const std::uint64_t gone = loop.turns - live.slot->turns;
        if (loop.turns == 0 || loop.head != live.slot->head || loop.turns < live.slot->turns ||
            loop.alike < gone) {
            periods_.clear();  // not all go round
            batches_.clear();
            start_batch();
            return false;
        }
        fewest = std::min(fewest, gone);
        periods.push_back(static_cast<double>(loop.last - live.slot->last) / static_cast<double>(gone));
        leaping_.push_back({live.warp, live.watch, latest, live.block});
    }
    if (leaping_.empty() || fewest < kBatchTurns || time() - batch_start_ < kBatch) return false;
    const std::uint32_t head = leaping_.front().watch->loops()[leaping_.front().loop].head;
    const double period = common_period(periods);
    if (period == 0) {
        // A few turns may come in bursts; many may not.
        obstacle_ = "the loops of its warps do not go round in step";
        if (fewest >= kManyTurns) start_batch();
        return false;
    }
    end_batch(period);
    known_[head].push_back(period);
    start_batch();
    if (!memory_settled(batches_.front(), batches_.back())) return false;
    std::vector<double>& history = known_[head];
    const Settled now = settled(periods_), ever = settled(history);
    const std::size_t count = periods_.size();
    if (now.used == 0 && count == 2 && relative_spread(periods_.data(), count) < kVeryAlike) {
        period_ = mean_of(periods_.data(), count);
        error_ = error_of_mean(periods_.data(), count);
    } else if (now.used == kFew) {
        period_ = now.mean;
        error_ = now.error;
    } else if (ever.used != 0 && std::abs(periods_.back() / ever.mean - 1) < 2 * kAlike) {
        period_ = ever.mean;
        error_ = ever.error;
    } else {
        return false;
    }
    decision_ = Decision::inner_loop;
    return true;
}

void Sampler::end_batch(double period) {
    periods_.push_back(period);
    batches_.push_back(snapshot());
    if (batches_.size() > kFew + 1) batches_.pop_front();
}

// ---- leaving out

bool Sampler::leap() {
    const Decision decision = decision_;
    decision_ = Decision::none;
    if (decision == Decision::none) return false;
    if (decision == Decision::waves) {
        leave_out_waves();
    } else {
        leave_out_turns(decision == Decision::outer_loop);
    }
    return true;
}

void Sampler::leave_out_turns(bool outer) {
    LeapLimits limits;
    limits.margin = outer ? 0 : 1;
    limits.most = 1u << 16;
    const std::uint64_t turns = leap_together(*program_, leaping_, limits, obstacle_);
    if (outer) outer_attempted_ = outer_turns_ + turns;
    if (turns == 0) {
        if (!outer) inner_not_before_ = time() + 2 * kBatch;
        return;
    }
    const double cycles = period_ * static_cast<double>(turns);
    const Cycle before = left_out_;
    if (outer) {
        add(cycles, error_, snapshot_near(time() - static_cast<Cycle>(period_)), history_.back());
    } else {
        add(cycles, error_, batches_.front(), batches_.back());
    }
    for (const LeapingWarp& one : leaping_)
        one.watch->leap(one.loop, turns * one.multiple, left_out_ - before);
    (outer ? outer_left_out_ : inner_left_out_) += turns;
    if (outer) outer_turns_ += turns;
    periods_.clear();
    batches_.clear();
    gather();
    start_batch();
}

void Sampler::add(double cycles, double relative_error, const Snapshot& from, const Snapshot& to) {
    extra_->add_growth(from.counts, to.counts, cycles / static_cast<double>(to.at - from.at));
    variance_ += relative_error * relative_error * cycles * cycles;
    left_out_ += static_cast<Cycle>(std::llround(cycles));
}

void Sampler::finish(KernelSummary& summary) {
    summary.add_growth(KernelSummary(*config_, *plan_), *extra_, 1);
}

Sampling Sampler::result(Cycle cycles) const {
    Sampling sampling;
    sampling.asked = true;
    if (left_out_ == 0) {
        sampling.note = "simulated in full: " + (!obstacle_.empty() ? obstacle_
                                                 : !program_->obstacle().empty()
                                                     ? program_->obstacle()
                                                     : "nothing in it settled and went on for long");
        return sampling;
    }
    const auto whole = static_cast<double>(cycles), part = static_cast<double>(left_out_);
    sampling.simulated = 1 - part / whole;
    sampling.error = (2 * std::sqrt(variance_) + kSystematic * part) / whole;
    const auto name = [&](std::uint64_t count, const char* what) {
        if (count == 0) return;
        sampling.note += (sampling.note.empty() ? "left out: " : ", ") + std::to_string(count) + " " + what;
    };
    name(waves_left_out_, "waves of thread blocks");
    name(outer_left_out_, "turns of outer loops");
    name(inner_left_out_, "turns of inner loops");
    return sampling;
}

}  // namespace heddle::models::gpu
