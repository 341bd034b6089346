// The governor on power laws whose answer is known, and on a training step.
#include "sim/gpu/gpu_machine.h"
#include "sim/gpu/settle/governor.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/hardware/load_hardware.h"
#include "sim/gpu/settle/settled_clock.h"
#include "sim/run/simulate.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

constexpr ClockRange kRange{345e6, 1980e6};

/// The highest clock of the grid at which the power is within the limit, by looking at every one.
double exhaustive(const std::function<double(double)>& power, double limit) {
    for (int step = 0;; ++step) {
        const double clock = kRange.maximum - step * kRange.step;
        if (clock < kRange.minimum) return clock + kRange.step;
        if (power(clock) <= limit) return clock;
    }
}

/// A kernel whose time has a part in seconds and a part in cycles of the SMs, and its energy, in closed form.
struct Law {
    double fixed_seconds, cycles, joules;  ///< joules: dynamic, at the highest clock

    double seconds(double clock) const { return fixed_seconds + cycles / clock; }
    LaunchOutcome outcome(double clock, double constant) const {
        LaunchOutcome outcome;
        outcome.seconds = seconds(clock);
        outcome.cycles = static_cast<std::uint64_t>(std::llround(outcome.seconds * clock));
        outcome.energy["idle"] = constant * outcome.seconds;
        outcome.energy["tensor cores"] = joules * clock * clock / kRange.maximum / kRange.maximum;
        const bool short_one = fixed_seconds < 5e-6;  // which takes longest to be launched
        outcome.utilisation[short_one ? "launch" : "dram bandwidth"] = 0.95 * fixed_seconds / outcome.seconds;
        return outcome;
    }
};

}  // namespace

TEST_CASE("a step settles where simulating all of it at every clock would, with few simulations") {
    const std::map<std::string, Law> laws = {{"product", {1e-6, 90'000, 0.04}},
                                             {"stream", {60e-6, 6'000, 0.004}},
                                             {"attention", {5e-6, 70'000, 0.025}},
                                             {"small", {2e-6, 500, 1e-5}}};
    std::vector<PlannedLaunch> plan;
    for (unsigned layer = 0; layer < 12; ++layer) {
        for (const auto& [name, law] : laws) {
            plan.emplace_back();
            plan.back().key = name;
        }
    }
    models::gpu::PowerConfig power;
    power.idle = 100;
    power.active = power.leakage = 0;
    const auto exact = [&](double clock) {
        double joules = 0, seconds = 0;
        for (const auto& [name, law] : laws) {
            for (const auto& [part, amount] : law.outcome(clock, power.idle).energy) joules += amount;
            seconds += law.seconds(clock);
        }
        return joules / seconds;
    };
    for (const double limit : {150.0, 250.0, 330.0, 1000.0}) {
        for (const double guess : {0.4, 1.0, 2.5}) {  // how far the first estimates are off
            power.limit = limit;
            std::vector<LaunchEstimate> estimates;
            for (const PlannedLaunch& planned : plan) {
                const Law& law = laws.at(planned.key);
                estimates.push_back({law.fixed_seconds, law.cycles, 0, guess * law.joules, 1});
            }
            SettledStep step(plan, estimates, kRange, power, 132);
            std::size_t simulated = 0;
            while (const auto round = step.next()) {
                std::map<std::string, LaunchOutcome> outcomes;
                for (const std::size_t launch : round->launches) {
                    outcomes[plan[launch].key] = laws.at(plan[launch].key).outcome(round->clock, power.idle);
                    ++simulated;
                }
                step.add(round->clock, outcomes);
            }
            CAPTURE(limit, guess, simulated);
            CHECK(simulated <= 3 * laws.size());
            CHECK(step.error() <= SettledStep::kTolerance);
            const double clock = step.settled().clock;
            CHECK(std::abs(clock - exhaustive(exact, limit)) <= 1.01 * kRange.step);
            double taken = 0, truth = 0;
            for (const auto& [name, outcome] : step.outcomes()) {
                taken += outcome.seconds;
                truth += laws.at(name).seconds(clock);
                CHECK(static_cast<double>(outcome.cycles) == Approx(outcome.seconds * clock).margin(1));
            }
            CHECK(std::abs(taken / truth - 1) <= step.error());
        }
    }
}

TEST_CASE("what is surely within the limit is simulated once, at the highest clock") {
    std::vector<PlannedLaunch> plan(1);
    plan[0].key = "small";
    models::gpu::PowerConfig power;
    SettledStep step(plan, {{1e-6, 100, 0, 1e-6, 1}}, kRange, power, 132);
    const auto round = step.next();
    REQUIRE(round);
    CHECK(round->clock == kRange.maximum);
    step.add(round->clock, {{"small", Law{1e-6, 100, 1e-6}.outcome(round->clock, 50)}});
    CHECK(!step.next());
    CHECK(step.settled().clock == kRange.maximum);
    CHECK(step.error() == 0);
}

TEST_CASE("the settled clock is the highest within the limit, whatever the power goes with") {
    for (const double exponent : {0.5, 1.0, 2.0, 3.0}) {
        for (const double constant : {50.0, 378.0}) {
            for (const double dynamic : {100.0, 400.0, 900.0, 3000.0}) {
                for (const double limit : {300.0, 450.0, 700.0}) {
                    unsigned calls = 0;
                    const auto power = [&](double clock) {
                        ++calls;
                        return constant + dynamic * std::pow(clock / kRange.maximum, exponent);
                    };
                    const SettledClock settled = settle_clock(kRange, limit, constant, power);
                    CAPTURE(exponent, constant, dynamic, limit);
                    CHECK(calls == settled.evaluations);
                    CHECK(calls <= 20);  // of 110 clocks
                    CHECK(settled.clock == Approx(exhaustive(power, limit)));
                    CHECK(settled.power == Approx(power(settled.clock)));
                    CHECK(settled.power_at_maximum == Approx(constant + dynamic));
                }
            }
        }
    }
}

TEST_CASE("a step under a low power limit runs at the clock that it allows, and takes longer", "[run]") {
    const trace::Trace trace = zoo::build("mlp", {{"batch", "64"}, {"widths", "256,256,10"}});
    const auto run = [&](const std::vector<std::string>& overrides) {
        SimulateOptions options;
        options.jobs = 1;
        return simulate(trace, "mlp", load_hardware("h100-sxm", overrides), options);
    };
    const RunResult free = run({});
    CHECK(free.clock_hz == 1980e6);
    double joules = 0;
    for (const auto& [part, amount] : free.energy) joules += amount;
    const double power = joules / (free.energy_time_us * 1e-6);
    // Halfway between what flows anyway and what the step draws.
    const double constant = gpu_config(load_hardware("h100-sxm")).power.constant(132);
    const double limit = constant + (power - constant) / 2;
    const RunResult limited = run({"power.limit=" + std::to_string(limit) + " W"});
    CHECK(limited.clock_hz < 1980e6);
    CHECK(limited.device_busy_us > free.device_busy_us);
    double limited_joules = 0;
    for (const auto& [part, amount] : limited.energy) limited_joules += amount;
    CHECK(limited_joules / (limited.energy_time_us * 1e-6) <= limit * 1.0001);
    const RunResult ungoverned = run({"power.limit=" + std::to_string(limit) + " W", "power.governor=false"});
    CHECK(ungoverned.clock_hz == 1980e6);
    CHECK(ungoverned.device_busy_us == free.device_busy_us);
}

TEST_CASE("times taken to the settled clock are those that are simulated there", "[run]") {
    const trace::Trace trace =
        zoo::build("mlp", {{"batch", "512"}, {"widths", "1024,1024,16"}, {"type", "bf16"}});
    const auto run = [&](const std::vector<std::string>& overrides) {
        SimulateOptions options;
        options.jobs = 1;
        return simulate(trace, "mlp", load_hardware("h100-sxm", overrides), options);
    };
    const auto power = [](const RunResult& result) {
        double joules = 0;
        for (const auto& [part, amount] : result.energy) joules += amount;
        return joules / (result.energy_time_us * 1e-6);
    };
    const double constant = gpu_config(load_hardware("h100-sxm")).power.constant(132), limit = constant + 30;
    const RunResult governed = run({"power.limit=" + std::to_string(limit) + " W"});
    REQUIRE(governed.clock_hz < 1900e6);
    const auto at = [&](double clock) {
        return run({"power.governor=false", "clock=" + std::to_string(clock / 1e6) + " MHz"});
    };
    const RunResult there = at(governed.clock_hz), above = at(governed.clock_hz + 30e6);
    CHECK(governed.device_busy_us == Approx(there.device_busy_us).epsilon(SettledStep::kTolerance));
    CHECK(power(governed) == Approx(power(there)).epsilon(0.01));
    CHECK(power(there) <= 1.01 * limit);
    CHECK(power(above) > 0.99 * limit);
}
