#include "sim/gpu/settle/settled_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heddle::sim {
namespace {

/// Of the power that the estimate finds for the highest clock: with less, that is where all is simulated at
/// once.
constexpr double kSurelyWithin = 0.7;
/// Of what clocks change of the energy: as much is simulated first.
constexpr double kTelling = 0.5;
/// Of the tolerance that simulating anew is to leave: the clock moves a little by it.
constexpr double kEnough = 0.8;
/// Rounds after the first of all kernels, at most.
constexpr unsigned kMostRounds = 6;

}  // namespace

SettledStep::SettledStep(const std::vector<PlannedLaunch>& plan, const std::vector<LaunchEstimate>& estimates,
                         const ClockRange& range, const models::gpu::PowerConfig& power, std::uint32_t sms,
                         double tolerance)
    : range_(range), power_(power), constant_(power.constant(sms)), tolerance_(tolerance) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const auto [found, is_new] = kernels_.try_emplace(plan[i].key);
        if (is_new) {
            found->second.launch = i;
            found->second.estimate = estimates[i];
        }
        found->second.times += estimates[i].turns;
    }
}

bool SettledStep::is_tensor(const LaunchEstimate& estimate) {
    return estimate.cycles != 0;
}

double SettledStep::seconds(const Kernel& kernel, double clock) const {
    if (!kernel.outcome.empty()) return kernel.outcome.seconds(clock);
    const Ratio& ratio = is_tensor(kernel.estimate) ? of_tensor_ : of_memory_;
    return ratio.seconds * std::max(kernel.estimate.fixed_seconds, kernel.estimate.cycles / clock);
}

double SettledStep::joules(const Kernel& kernel, double clock) const {
    if (!kernel.outcome.empty()) return kernel.outcome.joules(clock);
    const double relative = clock / range_.maximum;
    const Ratio& ratio = is_tensor(kernel.estimate) ? of_tensor_ : of_memory_;
    return constant_ * seconds(kernel, clock) +
           ratio.joules * (kernel.estimate.fixed_joules + relative * relative * kernel.estimate.joules);
}

// How far the estimates of kernels that have been simulated were off, those of the others are.
void SettledStep::learn() {
    struct Sums {
        double seconds = 0, joules = 0, estimated_seconds = 0, estimated_joules = 0;
        Ratio ratio() const {
            const auto part = [](double found, double expected) {
                return found > 0 && expected > 0 ? found / expected : 1;
            };
            return {part(seconds, estimated_seconds), part(joules, estimated_joules)};
        }
    };
    Sums memory, tensor;
    of_memory_ = of_tensor_ = {};
    for (const auto& [key, kernel] : kernels_) {
        if (kernel.outcome.empty()) continue;
        Sums& sums = is_tensor(kernel.estimate) ? tensor : memory;
        const Kernel estimate{kernel.launch, kernel.times, kernel.estimate, {}};
        const double clock = settled_.clock;
        const double found = seconds(kernel, clock), expected = seconds(estimate, clock);
        sums.seconds += kernel.times * found;
        sums.estimated_seconds += kernel.times * expected;
        sums.joules += kernel.times * (joules(kernel, clock) - constant_ * found);
        sums.estimated_joules += kernel.times * (joules(estimate, clock) - constant_ * expected);
    }
    of_memory_ = memory.ratio();
    of_tensor_ = tensor.ratio();
}

SettledClock SettledStep::settle() const {
    return settle_clock(range_, power_.limit, constant_, [this](double clock) {
        double energy = 0, time = 0;
        for (const auto& [key, kernel] : kernels_) {
            energy += kernel.times * joules(kernel, clock);
            time += kernel.times * seconds(kernel, clock);
        }
        return time > 0 ? energy / time : 0;
    });
}

SettledStep::Round SettledStep::round_of(const std::vector<std::string>& keys, double clock) const {
    Round round{clock, {}};
    for (const std::string& key : keys) round.launches.push_back(kernels_.at(key).launch);
    std::sort(round.launches.begin(), round.launches.end());
    return round;
}

// Those that draw most for what it costs to simulate them.
std::vector<std::string> SettledStep::telling() const {
    std::vector<std::pair<double, const std::string*>> order;  // by falling worth
    double all = 0, taken = 0;
    const auto weight = [](const Kernel& kernel) {
        return kernel.times * (kernel.estimate.joules + kernel.estimate.fixed_joules);
    };
    for (const auto& [key, kernel] : kernels_) {
        all += weight(kernel);
        order.push_back({-weight(kernel) / kernel.estimate.cost, &key});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> keys;
    for (const auto& [worth, key] : order) {
        if (taken >= kTelling * all) break;
        taken += weight(kernels_.at(*key));
        keys.push_back(*key);
    }
    return keys;
}

// Those whose times at the settled clock are to be known better, the most unsure for what they cost first.
std::vector<std::string> SettledStep::unsure() {
    struct Unsure {
        double worth, error;
        const std::string* key;
    };
    std::vector<Unsure> order;
    double left = 0, time = 0;
    for (const auto& [key, kernel] : kernels_) {
        const double share = kernel.times * kernel.outcome.seconds(settled_.clock);
        const double error = share * kernel.outcome.error(settled_.clock);
        time += share;
        left += error;
        order.push_back({error / (kernel.outcome.simulated() * kernel.estimate.cost), error, &key});
    }
    error_ = time > 0 ? left / time : 0;
    if (error_ <= tolerance_) return {};
    std::stable_sort(order.begin(), order.end(),
                     [](const Unsure& a, const Unsure& b) { return a.worth > b.worth; });
    std::vector<std::string> keys;
    for (const Unsure& one : order) {
        if (left <= kEnough * tolerance_ * time || one.error == 0) break;
        left -= one.error;
        keys.push_back(*one.key);
    }
    return keys;
}

std::optional<SettledStep::Round> SettledStep::next() {
    std::vector<std::string> open;
    for (const auto& [key, kernel] : kernels_)
        if (kernel.outcome.empty()) open.push_back(key);
    settled_ = settle();
    if (open.size() == kernels_.size() && !open.empty()) {
        if (settled_.power_at_maximum < kSurelyWithin * power_.limit) return round_of(open, range_.maximum);
        return round_of(telling(), settled_.clock);
    }
    if (!open.empty()) return round_of(open, settled_.clock);
    const std::vector<std::string> again = unsure();
    if (again.empty() || rounds_++ == kMostRounds) return std::nullopt;
    return round_of(again, settled_.clock);
}

void SettledStep::add(double clock, const std::map<std::string, LaunchOutcome>& outcomes) {
    for (const auto& [key, outcome] : outcomes) kernels_.at(key).outcome.add(clock, outcome);
    learn();
}

std::map<std::string, LaunchOutcome> SettledStep::outcomes() const {
    std::map<std::string, LaunchOutcome> outcomes;
    for (const auto& [key, kernel] : kernels_) outcomes[key] = kernel.outcome.at(settled_.clock);
    return outcomes;
}

double SettledStep::lowest_clock() const {
    double clock = range_.maximum;
    for (const auto& [key, kernel] : kernels_)
        clock = std::min(clock, kernel.outcome.nearest(settled_.clock).clock);
    return clock;
}

double SettledStep::highest_clock() const {
    double clock = 0;
    for (const auto& [key, kernel] : kernels_)
        clock = std::max(clock, kernel.outcome.nearest(settled_.clock).clock);
    return clock;
}

}  // namespace heddle::sim
