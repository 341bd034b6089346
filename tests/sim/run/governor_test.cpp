// The governor on power laws whose answer is known, and on a training step.
#include "sim/run/governor.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/config/hardware.h"
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

}  // namespace

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
    const double constant = load_hardware("h100-sxm").gpu().power.constant(132);
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
