// summary.json has the documented keys in the documented order; timeline.json follows the Chrome trace
// format.
#include "sim/report/summary.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sample_result.h"

using heddle::sim::RunResult;
using heddle::sim::sample_result;
using heddle::sim::summary_json;
using heddle::sim::timeline_json;
using Json = nlohmann::ordered_json;

namespace {

std::vector<std::string> keys_of(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& item : object.items()) keys.push_back(item.key());
    return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("summary.json has the documented schema") {
    const Json json = Json::parse(summary_json(sample_result()));
    CHECK(keys_of(json) == Keys{"workload", "hardware", "step_time_us", "device_busy_us", "launch_gap_us",
                                "communication_us", "division", "ops", "coverage", "measured", "simulation", "cycles", "schema",
                                 "command", "time_us"});
    CHECK(json["workload"] == "mlp");
    CHECK(json["hardware"] == "h100-sxm");
    CHECK(json["step_time_us"] == 200.0);
    CHECK(json["device_busy_us"] == 170.0);
    CHECK(json["launch_gap_us"] == 10.0);
    CHECK(json["communication_us"] == 20.0);
    REQUIRE(json["ops"].size() == 4);
    for (const Json& op : json["ops"]) {
        CHECK(keys_of(op) == Keys{"name", "kind", "phase", "count", "time_us", "measured_us", "flops",
                                  "bytes", "bound_by", "fidelity"});
    }
    CHECK(json["ops"][0]["count"] == 2);
    CHECK(json["ops"][0]["measured_us"] == 90.0);
    CHECK(json["ops"][2]["measured_us"].is_null());
    CHECK(json["ops"][2]["name"] == "relu <4096> & \"more\"");
    CHECK(json["ops"][0]["fidelity"] == "cycle");
    CHECK(json["ops"][2]["fidelity"] == "estimated");
    CHECK(json["ops"][3]["fidelity"] == "unknown");
    CHECK(json["coverage"] == Json({{"cycle", 0.75}, {"estimated", 0.25}, {"unknown", 0.0}}));
    // 14 us of 90 and 10 of 60; what was not simulated cycle by cycle does not count.
    CHECK(json["measured"] == Json({{"total_us", 160.0},
                                    {"weighted_error", 0.16},
                                    {"simulated_share", 1.0},
                                    {"simulated_recorded_us", 150.0},
                                    {"simulated_us", 150.0}}));
    CHECK(keys_of(json["simulation"]) == Keys{"wall_s", "processor_s", "kernels_simulated",
                                              "warp_instructions", "tpu_cycles", "tilings_searched",
                                              "workers", "schedule"});
    CHECK(json["simulation"]["warp_instructions"] == 2469134);
}

TEST_CASE("what is not known is null, and numerics appear only when values were computed") {
    RunResult result = sample_result();
    result.measured_total_us.reset();
    CHECK(Json::parse(summary_json(result))["measured"].is_null());
    result.numerics.emplace();
    result.numerics->device_loss = {2.25, 1.5};
    const Json json = Json::parse(summary_json(result));
    CHECK(json["numerics"]["device_loss"] == Json({2.25, 1.5}));
}

TEST_CASE("the parts of the step's time and its memory are told with the time at which it was held") {
    RunResult result = sample_result();
    result.memory.emplace();
    result.memory->capacity = 100;
    result.memory->parts = {"weights", "activations"};
    result.memory->during = {{10, 0}, {10, 40}, {10, 20}};
    result.memory->starts_us = {0, 5, 9};
    result.memory->at_peak = {{"activations", 40}, {"weights", 10}};
    result.memory->peak_op = "loss";
    const Json json = Json::parse(summary_json(result));
    CHECK(json["division"]["kernels_us"] == 170.0);
    CHECK(json["division"]["gaps_us"] == 10.0);
    CHECK(json["division"]["host"] == "eager");
    CHECK(json["memory"]["peak"] == 50.0);
    CHECK(json["memory"]["fits"] == true);
    CHECK(json["memory"]["at_peak"] == Json({{"activations", 40.0}, {"weights", 10.0}}));
    REQUIRE(json["memory"]["over_time"].size() == 3);
    CHECK(json["memory"]["over_time"][1] ==
          Json({{"start_us", 5.0}, {"weights", 10.0}, {"activations", 40.0}}));
}

TEST_CASE("two runs of the same thing differ in `simulation` alone") {
    RunResult other = sample_result();
    other.simulation = {97.25, 3, 0, 5, 1, 0};
    Json first = Json::parse(summary_json(sample_result())), second = Json::parse(summary_json(other));
    CHECK(first["simulation"] != second["simulation"]);
    first.erase("simulation");
    second.erase("simulation");
    CHECK(first.dump() == second.dump());
    CHECK(timeline_json(sample_result()) == timeline_json(other));
}

TEST_CASE("names that are not UTF-8 do not spoil the file") {
    RunResult result = sample_result();
    result.ops[0].name = "bad \xff byte";
    CHECK_NOTHROW(Json::parse(summary_json(result)));
}

TEST_CASE("timeline.json has one slice per kernel, in microseconds") {
    const Json json = Json::parse(timeline_json(sample_result()));
    std::vector<Json> slices;
    for (const Json& event : json["traceEvents"]) {
        REQUIRE(event.contains("ph"));
        REQUIRE(event.contains("pid"));
        if (event["ph"] == "X") slices.push_back(event);
    }
    REQUIRE(slices.size() == 3);
    CHECK(slices[1]["ts"] == 50.0);
    CHECK(slices[1]["dur"] == 50.0);
    CHECK(slices[1]["name"] == "matmul_128x128");
    CHECK(slices[1]["args"]["op"] == "matmul 4096x4096x4096 bf16");
    CHECK(slices[1]["args"]["grid"] == Json({132, 2, 1}));
    CHECK(slices[0]["args"]["time: memory"] == 0.5);
    CHECK_FALSE(slices[2]["args"].contains("grid"));
}
