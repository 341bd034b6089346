// Ranges of parameters, and what is wrong with them.
#include "sim/explore/axis.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle::explore;

namespace {

Axis axis_of(const std::string& text) {
    heddle::sim::Hardware hardware = heddle::sim::load_hardware("h100-sxm");
    return parse_axis(text, heddle::sim::parameter_list(hardware));
}

std::string error_of(const std::string& text) {
    try {
        (void)axis_of(text);
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "";
}

void expect_error(const std::string& text, const std::string& part) {
    INFO(text);
    const std::string error = error_of(text);
    INFO(error);
    CHECK(error.find("--vary") != std::string::npos);
    CHECK(error.find(part) != std::string::npos);
}

constexpr double kMib = 1024 * 1024;

}  // namespace

TEST_CASE("ranges with steps, factors and lists") {
    CHECK(axis_of("sm.count=66..264:33").values == std::vector<double>{66, 99, 132, 165, 198, 231, 264});
    CHECK(axis_of("sm.count=60..100:33").values == std::vector<double>{60, 93});
    CHECK(axis_of("hbm.stacks=1..8:*2").values == std::vector<double>{1, 2, 4, 8});
    CHECK(axis_of("hbm.stacks=1..8:*2").logarithmic);
    CHECK(axis_of("l2.size=25MiB,50MiB, 100 MiB").values ==
          std::vector<double>{25 * kMib, 50 * kMib, 100 * kMib});
    CHECK(axis_of("l2.size=25..100MiB:25").values ==
          std::vector<double>{25 * kMib, 50 * kMib, 75 * kMib, 100 * kMib});
    CHECK(axis_of("hbm.stacks=4..6").values == std::vector<double>{4, 5, 6});
    CHECK(axis_of("sm.count=1..2,2,7").values == std::vector<double>{1, 2, 7});
    CHECK(axis_of("hbm.row_policy=open,closed").values.size() == 2);
    CHECK(axis_of("clock=1.1GHz..1.5GHz:0.1").values ==
          std::vector<double>{1.1e9, 1.2e9, 1.3e9, 1.4e9, 1.5e9});
    const Axis clock = axis_of("clock=1000MHz..2000MHz");
    CHECK(clock.continuous());
    CHECK(clock.value_at(0.5) == 1.5e9);
    CHECK(axis_of("hbm.bandwidth=1TB/s..16TB/s").value_at(0.5) == 4e12);  // logarithmic: a factor of 16
}

TEST_CASE("mistakes in ranges are told with option, token and remedy") {
    expect_error("sm.cuont=66..132:33", "did you mean `sm.count`?");
    expect_error("sm.count=264..66:33", "empty range");
    expect_error("sm.count=66..264:0", "step is not above 0");
    expect_error("sm.count=66..264:-3", "step is not above 0");
    expect_error("sm.count=66..264:", "no step");
    expect_error("sm.count=66..264:*1", "no factor");
    expect_error("sm.count=", "empty part");
    expect_error("sm.count=66,,99", "empty part");
    expect_error("sm.count=many", "many");
    expect_error("sm.count=66 MiB", "66 MiB");
    expect_error("l2.size=50", "such as `50 MiB`");
    expect_error("sm.count=0..4", "0");
    expect_error("sm.count=2..4:0.5", "whole number");
    expect_error("sm.gpc_sizes=16", "not one number");
    expect_error("hbm.row_policy=open..closed", "words have no range");
    expect_error("clock=1000MHz,1000MHz..2000MHz", "mixes");
    expect_error("clock=1Hz..1e10Hz:1", "");
    expect_error("sm.count", "varies nothing");
    expect_error("=3", "varies nothing");
}
