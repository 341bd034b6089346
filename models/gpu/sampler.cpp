#include "models/gpu/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "isa/common/error.h"

namespace heddle::models::gpu {
namespace {

constexpr Cycle kLook = 256;            // cycles between two looks, each at the end of all windows
constexpr double kSaturated = 0.97;     // part of the time in which deciding units work. Assumption
constexpr double kBusyMemory = 0.4;     // part of the memory's bandwidth from which its state matters
constexpr unsigned kQuietLooks = 8000;  // without an instruction: the kernel hangs
/// Part of what was left out by which it may be wrong beyond its spread: slow trends, state of L2.
/// Assumption; the tests compare with full runs.
constexpr double kSystematic = 0.008;
/// Part of the whole: leaps disturb what comes after them. Assumption, likewise.
constexpr double kDisturbance = 0.007;

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
    known_.clear();
    batch_start_ = inner_not_before_ = 0;
    outer_turns_ = outer_attempted_ = 0;
    history_.clear();
    history_interval_ = kLook;
    leaping_.clear();
    around_.clear();
    places_.clear();
    entries_.clear();
    fresh_leap_ = at_entry_ = in_step_ = forgotten_ = false;
    early_.clear();
    batch_turns_ = 0;
    behind_ = false;
    warps_ = 0;
    unsure_ = {};
    around_guess_ = around_seen_ = around_turns_ = correction_ = 0;
    steps_left_out_ = 0;
    earlier_visit_.reset();
    rates_.clear();
    turns_.clear();
    early_.clear();
    flow_.clear();
    writes_lag_ = false;
    tiles_.clear();
    window_start_.reset();
    tiles_left_out_ = 0;
    tiles_not_before_ = 0;
    waves_seen_ = 0;
    wave_snapshots_.clear();
    waves_done_ = false;
    stream_.reset();
    by_stream_ = false;
    waves_left_out_ = outer_left_out_ = inner_left_out_ = 0;
    obstacle_.clear();
    program_.reset();
    extra_.reset();
}

void Sampler::begin(const LaunchPlan& plan, const GpuConfig& config, double other_error, bool cautious,
                    std::function<KernelSummary()> tally,
                    std::function<LeftOutMemory(const LeftOutTraffic&, double)> pass) {
    plan_ = &plan;
    config_ = &config;
    cautious_ = cautious;
    start_tiles();
    widest_ = std::sqrt(kWidest * kWidest - other_error * other_error);
    tally_ = std::move(tally);
    pass_ = std::move(pass);
    program_ = std::make_unique<ptx::LeapProgram>(*plan.only().launch->kernel);
    extra_ = std::make_unique<KernelSummary>(config, plan);
    slots_.assign(sms_.size() * Sm::kWarps, {});
    entries_.assign(slots_.size(), {});
    next_ = kLook - 1;
    wake(next_);
}

Cycle Sampler::tick(Cycle now) {
    if (plan_ == nullptr || scheduler_.finished() == scheduler_.count()) return next_ = kNever;
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
    if (look_at_waves() || look_at_tiles() || look_at_outer_loop() || look_at_inner_loop()) clock().stop();
}

Sampler::Snapshot Sampler::snapshot() const {
    Snapshot result{time(), steps_left_out_, tally_(), {}};
    for (const Sm& sm : sms_) {
        result.steps += sm.steps();
        result.units.emplace_back(sm, *config_);
    }
    result.counts.add(*extra_);
    return result;
}

void Sampler::remember() {
    constexpr std::size_t kRemembered = 256;
    if (!history_.empty() && time() - history_.back().at < history_interval_) return;
    history_.push_back(snapshot());
    if (history_.size() < kRemembered) return;
    std::deque<Snapshot> half;
    for (std::size_t i = 0; i < history_.size(); i += 2) half.push_back(history_[i]);
    history_.swap(half);
    history_interval_ *= 2;
}

// Where the stretch began that ends now and is as long as a turn of so many cycles, as near to that as one is
// remembered. In long runs those lie far apart; less than half a turn does not stand for whole ones.
const Sampler::Snapshot& Sampler::snapshot_ago(Cycle cycles) const {
    const auto ago = [this](const Snapshot& one) { return time() - one.at; };
    const auto distance = [&](const Snapshot& one) {
        return ago(one) < cycles ? cycles - ago(one) : ago(one) - cycles;
    };
    const Snapshot* best = &history_.front();
    for (const Snapshot& one : history_) {
        if (2 * ago(one) >= cycles && distance(one) < distance(*best)) best = &one;
    }
    return *best;
}

// Stores keep it busy later, when L2 writes them back.
bool Sampler::memory_is_busy(const Snapshot& from, const Snapshot& to) const {
    const double cycles = static_cast<double>(to.at - from.at);
    const double bytes = std::max(static_cast<double>(to.counts.dram_bytes() - from.counts.dram_bytes()),
                                  to.counts.dram_bytes_due() - from.counts.dram_bytes_due());
    return bytes >= kBusyMemory * cycles * config_->hbm.bandwidth / config_->clock;
}

// In the SMs with the most thread blocks, which end last, a kind of unit hardly ever rests: as long as memory
// keeps up, a turn takes what that unit needs for it, whatever else changes.
bool Sampler::units_never_rest(const Snapshot& from, const Snapshot& to) const {
    std::map<std::uint32_t, std::set<std::uint32_t>> blocks;  // by SM
    std::size_t most = 0;
    for (const LeapingWarp& one : leaping_) {
        std::set<std::uint32_t>& here = blocks[one.block >> 8];
        here.insert(one.block);
        most = std::max(most, here.size());
    }
    const auto cycles = static_cast<double>(to.at - from.at);
    double busy = 0, full = 0;
    for (const auto& [sm, here] : blocks) {
        if (here.size() < most) continue;
        busy += to.units[sm].busiest(from.units[sm], cycles, *config_);
        ++full;
    }
    return busy >= kSaturated * full;
}

// Twice the standard error, with what no spread shows.
double Sampler::bar(double sigma, double left_out, double whole) {
    return (2 * sigma + kSystematic * left_out) / whole + kDisturbance;
}

// Whether the bar would be narrow enough with so many cycles left out, as far as is known now.
bool Sampler::is_known_well(double cycles, double relative_error) const {
    const double sigma = std::sqrt(variance_ + std::pow(relative_error * cycles, 2));
    return bar(sigma, static_cast<double>(left_out_) + cycles, static_cast<double>(time()) + cycles) <
           widest_;
}

// L2 has begun to write back.
bool Sampler::memory_is_full(const Snapshot& at) const {
    return at.counts.l2_bytes_taken_in() > config_->l2.bytes + config_->l2.bytes / 10;
}

// A memory that is busy is in a lasting state only when L2 has begun to write back.
bool Sampler::memory_settled(const Snapshot& from, const Snapshot& to) const {
    return !memory_is_busy(from, to) || memory_is_full(from);
}

// ---- leaving out

bool Sampler::leap() {
    const Decision decision = decision_;
    decision_ = Decision::none;
    if (decision == Decision::none) return false;
    if (decision != Decision::inner_loop) saturated_ = false;
    if (decision == Decision::waves) {
        leave_out_waves();
    } else if (decision == Decision::tiles) {
        leave_out_tiles();
    } else if (decision == Decision::outer_loop) {
        leave_out_outer_turns();
    } else {
        resolve(&known_[place()]);
        const bool seen = batches_.size() >= 2;
        const Snapshot from = seen ? batches_.front() : earlier_visit_->first,
                       to = seen ? batches_.back() : earlier_visit_->second;
        // After whole tiles the loop goes on as it did in this one, unless memory decides how fast.
        if (around_.empty() || !leave_out_turns_around() || !memory_is_busy(from, to))
            leave_out_inner_turns(from, to);
    }
    return true;
}

void Sampler::add(double cycles, double relative_error, const Snapshot& from, const Snapshot& to,
                  std::vector<std::uint64_t> performed, std::uint64_t ctas,
                  const std::optional<LeftOutMemory>& memory) {
    if (to.at <= from.at || to.steps <= from.steps)
        throw Error("internal: a stretch in which nothing happened was to stand for what was left out");
    const std::uint64_t steps = std::accumulate(performed.begin(), performed.end(), std::uint64_t{0});
    Extrapolation left_out;
    left_out.cycles = cycles / static_cast<double>(to.at - from.at);
    left_out.stretch_steps = to.steps - from.steps;
    left_out.work = static_cast<double>(steps) / std::max(1.0, static_cast<double>(left_out.stretch_steps));
    left_out.performed = std::move(performed);
    left_out.ctas = ctas;
    left_out.memory = memory;
    mark_flow();
    extra_->add_left_out(from.counts, to.counts, left_out);
    steps_left_out_ += steps;
    writes_lag_ = writes_lag_ || (!traffic_.complete() && !memory_is_full(from));
    mark_flow();
    variance_ += relative_error * relative_error * cycles * cycles;
    left_out_ += static_cast<Cycle>(std::llround(cycles));
}

void Sampler::finish(KernelSummary& summary) {
    leave_visit();
    // What turned out later of times that had been left out before.
    if (std::abs(correction_) >= 1 && history_.size() >= 2) {
        Extrapolation later;
        later.cycles = correction_ / static_cast<double>(history_.back().at - history_.front().at);
        extra_->add_left_out(history_.front().counts, history_.back().counts, later);
        left_out_ += static_cast<Cycle>(std::llround(correction_));
    }
    if (left_out_ != 0) mark_flow();
    summary.add(*extra_);
    const auto written = static_cast<std::uint64_t>(expected_written());
    if (writes_lag_ && written > summary.dram_written())
        summary.add_written(written - summary.dram_written());
}

void Sampler::mark_flow() {
    const Snapshot now = snapshot();
    flow_.push_back({now.counts.l2_inflow(), now.counts.l2_dirtied()});
}

// L2 writes back what was stored before as much has come to it as it holds.
double Sampler::expected_written() const {
    if (flow_.empty()) return 0;
    const double at = flow_.back().taken_in - static_cast<double>(config_->l2.bytes);
    Flow before;
    for (const Flow& after : flow_) {
        if (after.taken_in >= at) {
            const double part = (at - before.taken_in) / std::max(1.0, after.taken_in - before.taken_in);
            return before.dirtied + std::max(0.0, part) * (after.dirtied - before.dirtied);
        }
        before = after;
    }
    return 0;
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
    sampling.error = bar(std::sqrt(variance_), part, whole);
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
