// Power above the board's limit: told where it occurs, and what the board would do.
#include "sim/gpu/settle/power_limit.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

RunResult step(const std::vector<std::string>& settings) {
    ::setenv("HEDDLE_CACHE", "off", 1);
    SimulateOptions run;
    run.jobs = 1;
    run.sample = true;
    return simulate(zoo::build("mlp", {{"batch", "512"}, {"widths", "512,512"}, {"type", "bf16"}}), "mlp",
                    load_hardware("h100-sxm", settings), run);
}

bool any_note(const RunResult& result, const std::string& text) {
    for (const std::string& note : result.notes)
        if (note.find(text) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("a board above its limit would go down to the clock at which the cubic law meets the limit") {
    models::gpu::PowerConfig power;
    power.limit = 700;
    power.minimum_clock = 345e6;
    power.idle = 37;
    power.active = 18;
    power.leakage = 0.25;
    const double constant = 37 + 18 + 0.25 * 132;
    const PowerDraw draw = power_draw(power, 132, 873, 1700e6);
    CHECK(draw.is_above());
    // What is left beside the constant part goes with the third power of the clock.
    const double ratio = draw.settled_clock / 1700e6;
    CHECK(constant + (873 - constant) * ratio * ratio * ratio == Approx(700));
    const std::string text = describe_excess(draw);
    CHECK_THAT(text, Catch::Contains("873 W is more than the board's limit of 700 W (power.limit)"));
    CHECK_THAT(text, Catch::Contains("from 1700 to about 1565 MHz"));
}

TEST_CASE("what the board may draw is not told") {
    models::gpu::PowerConfig power;
    for (const double watts : {0.0, 100.0, 699.9, 700.0, 720.0}) {
        const PowerDraw draw = power_draw(power, 132, watts, 1980e6);
        CHECK_FALSE(draw.is_above());
        CHECK(draw.settled_clock == 1980e6);
        CHECK(describe_excess(draw).empty());
    }
    CHECK(power_draw(power, 132, 722, 1980e6).is_above());
}

TEST_CASE("no clock below the lowest is promised") {
    models::gpu::PowerConfig power;
    power.limit = 60;  // less than the board draws whatever it does
    CHECK(power_draw(power, 132, 400, 1980e6).settled_clock == power.minimum_clock);
    const PowerDraw lowest = power_draw(power, 132, 100, power.minimum_clock);
    CHECK(lowest.settled_clock == power.minimum_clock);
    CHECK_THAT(describe_excess(lowest), Catch::Contains("345 MHz is its lowest clock"));
}

TEST_CASE("a step above the limit says so, and one that the governor keeps within it does not") {
    const RunResult usual = step({});
    CHECK(usual.power_limit == 700);
    CHECK(mean_power(usual) > 50);
    CHECK_FALSE(is_above_power_limit(usual));
    CHECK_FALSE(any_note(usual, "is more than the board's limit"));

    const double half = 0.9 * mean_power(usual);
    const std::string limit = "power.limit=" + std::to_string(static_cast<int>(half)) + "W";
    const RunResult governed = step({limit});
    CHECK_FALSE(is_above_power_limit(governed));
    CHECK_FALSE(any_note(governed, "is more than the board's limit"));
    CHECK(governed.clock_hz < usual.clock_hz);

    const RunResult free = step({limit, "power.governor=false"});
    CHECK(free.clock_hz == usual.clock_hz);
    CHECK(is_above_power_limit(free));
    CHECK(any_note(free, "is more than the board's limit"));
    CHECK(any_note(free, "power.governor is off"));
}
