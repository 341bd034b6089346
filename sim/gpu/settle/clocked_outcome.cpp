#include "sim/gpu/settle/clocked_outcome.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace heddle::sim {
namespace {

/// Of the time beside the launch, memory's use from which on kernels wait for it, and from which on for
/// nothing else: it reaches 0.89 of its peak with streams.
constexpr double kMemoryMatters = 0.62, kMemoryDecides = 0.9;
/// How far fixed_part_of() may be off: of kernels that keep a unit of the SMs or L2 busy and memory less than
/// kIdleMemory of its time, and of those that keep memory busy from kBusyMemory on; of others; and a part
/// that was measured between two clocks.
constexpr double kUnsureBusy = 0.15, kUnsure = 0.4, kMeasuredUnsure = 0.05;
constexpr double kIdleMemory = 0.4, kBusyMemory = 0.8;

double of(const LaunchOutcome& outcome, const char* resource) {
    const auto found = outcome.utilisation.find(resource);
    return found == outcome.utilisation.end() ? 0 : found->second;
}

double launch_part(const LaunchOutcome& outcome) {
    return std::min(1.0, of(outcome, "launch"));
}

/// Of its bandwidth, over the time beside the launch.
double memory_use(const LaunchOutcome& outcome) {
    const double launch = launch_part(outcome);
    return launch < 1 ? of(outcome, "dram bandwidth") / (1 - launch) : 0;
}

/// Part of the time in which the busiest unit that has the clock of the SMs works.
double busiest_clocked(const LaunchOutcome& outcome) {
    double most = 0;
    for (const auto& [resource, busy] : outcome.utilisation)
        if (resource != "dram bandwidth" && resource != "launch") most = std::max(most, busy);
    return most;
}

/// What a part of the energy goes with: time, nothing, else the square of the clock.
double energy_factor(const std::string& part, double time, double clock) {
    if (part == "idle" || part == "leakage" || part == "active") return time;
    return part == "DRAM" ? 1 : clock * clock;
}

}  // namespace

double fixed_part_of(const LaunchOutcome& outcome) {
    const double launch = launch_part(outcome);
    const double waits = (memory_use(outcome) - kMemoryMatters) / (kMemoryDecides - kMemoryMatters);
    return launch + (1 - launch) * std::clamp(waits, 0.0, 1.0);
}

const ClockedOutcome::Run& ClockedOutcome::nearest(double clock) const {
    return *std::min_element(runs_.begin(), runs_.end(), [clock](const Run& a, const Run& b) {
        return std::abs(a.clock - clock) < std::abs(b.clock - clock);
    });
}

// Between two clocks that were simulated it is known; beyond them it goes on.
double ClockedOutcome::fixed_part(const Run& run, double clock) const {
    const Run* other = nullptr;
    for (const Run& one : runs_) {
        if (one.clock == run.clock) continue;
        if (other == nullptr || std::abs(one.clock - clock) < std::abs(other->clock - clock)) other = &one;
    }
    if (other == nullptr) return fixed_part_of(run.outcome);
    // seconds = fixed + rest / clock, through both.
    const double change = other->outcome.seconds / run.outcome.seconds - 1;
    return std::clamp(1 - change / (run.clock / other->clock - 1), 0.0, 1.0);
}

double ClockedOutcome::seconds(double clock) const {
    const Run& run = nearest(clock);
    if (run.clock == clock) return run.outcome.seconds;
    const double fixed = fixed_part(run, clock);
    return run.outcome.seconds * (fixed + (1 - fixed) * run.clock / clock);
}

double ClockedOutcome::joules(double clock) const {
    const Run& run = nearest(clock);
    const double time = seconds(clock) / run.outcome.seconds;
    double sum = 0;
    for (const auto& [part, amount] : run.outcome.energy)
        sum += amount * energy_factor(part, time, clock / run.clock);
    return sum;
}

double ClockedOutcome::error(double clock) const {
    const Run& run = nearest(clock);
    const bool waits_for_latency = run.outcome.bound_by == "latency" || run.outcome.bound_by == "launch";
    const bool busy = !waits_for_latency && (of(run.outcome, "dram bandwidth") < kIdleMemory ||
                                             memory_use(run.outcome) >= kBusyMemory);
    // While a unit of the SMs or L2 works, time goes with their clock.
    const double idle = std::max(0.0, 1 - launch_part(run.outcome) - busiest_clocked(run.outcome));
    const double unsure = std::min(idle, runs_.size() > 1 ? kMeasuredUnsure : busy ? kUnsureBusy : kUnsure);
    return unsure * std::abs(run.clock / clock - 1);
}

double ClockedOutcome::simulated() const {
    const LaunchOutcome& last = runs_.back().outcome;
    return last.sampled ? last.sampled->simulated : 1;
}

LaunchOutcome ClockedOutcome::at(double clock) const {
    const Run& run = nearest(clock);
    LaunchOutcome outcome = run.outcome;
    if (run.clock == clock) return outcome;
    const double time = seconds(clock) / run.outcome.seconds, faster = clock / run.clock;
    const double cycles = time * faster;  // in relation
    outcome.seconds *= time;
    outcome.cycles = static_cast<std::uint64_t>(
        std::max(1LL, std::llround(cycles * static_cast<double>(run.outcome.cycles))));
    outcome.dependents_start =
        static_cast<std::uint64_t>(std::llround(cycles * static_cast<double>(run.outcome.dependents_start)));
    for (auto& [part, amount] : outcome.energy) amount *= energy_factor(part, time, faster);
    for (auto& [resource, busy] : outcome.utilisation) {
        const bool seconds = resource == "dram bandwidth" || resource == "launch";
        busy = std::min(1.0, busy / (seconds ? time : cycles));
    }
    for (auto& [name, throughput] : outcome.throughputs)
        if (name != "dram") throughput.ceiling *= faster;
    if (outcome.series) {
        auto series = std::make_shared<models::gpu::Series>(*outcome.series);
        series->clock /= time;
        outcome.series = std::move(series);
    }
    return outcome;
}

}  // namespace heddle::sim
