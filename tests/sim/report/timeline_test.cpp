// Counter tracks against numbers worked out by hand.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/report/timeline.h"

namespace heddle::sim {
namespace {

using models::gpu::CycleReason;
using models::gpu::Series;
using models::gpu::SeriesPoint;
using nlohmann::json;

/// 1 GHz, two GPCs of 1 and 2 SMs; cycles 0-1000 and, after something was left out, 5000-6000.
Series two_points() {
    Series series;
    series.interval = 1000;
    series.clock = 1e9;
    series.start = 500;
    series.group_sms = {1, 2};
    SeriesPoint point;
    point.begin = 0;
    point.end = 1000;
    point.groups.resize(2);
    point.groups[1].instructions = 3000;
    point.groups[1].tensor_cycles = 2000;
    point.groups[1].cycles[static_cast<std::size_t>(CycleReason::issued)] = 2000;
    point.groups[1].cycles[static_cast<std::size_t>(CycleReason::memory)] = 6000;
    point.l2_sectors = 500;
    point.l2_load_sectors = 400;
    point.l2_hit_sectors = 100;
    point.dram_bytes = 2'000'000;
    point.energy = 0.0005;
    series.points.push_back(point);
    point.begin = 5000;
    point.end = 6000;
    series.points.push_back(point);
    return series;
}

std::vector<json> events(const json& file, const std::string& name, int process) {
    std::vector<json> found;
    for (const json& event : file.at("traceEvents")) {
        if (event.at("name") == name && event.at("pid") == process) found.push_back(event);
    }
    return found;
}

}  // namespace

TEST_CASE("a series becomes counter tracks", "[sim_report]") {
    Timeline timeline("a device");
    timeline.add_kernel("k", "matmul", 10, 7, {{"cycles", 7000}});
    timeline.add_series(two_points(), 10);
    const json file = json::parse(timeline.text({{"hardware", "a device"}}));

    // 500 cycles are half a microsecond.
    const std::vector<json> dram = events(file, "DRAM traffic", 0);
    REQUIRE(dram.size() == 4);
    const double times[] = {10.5, 11.5, 15.5, 16.5}, rates[] = {2000, 0, 2000, 0};  // 2 MB in 1 us: 2 TB/s
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(dram[i].at("ph") == "C");
        CHECK(dram[i].at("ts").get<double>() == Approx(times[i]));
        CHECK(dram[i].at("args").at("GB/s").get<double>() == Approx(rates[i]));
    }
    CHECK(events(file, "L2 hit rate", 0).front().at("args").at("%").get<double>() == Approx(25));
    CHECK(events(file, "power", 0).front().at("args").at("W").get<double>() == Approx(500));

    CHECK(events(file, "process_name", 2).front().at("args").at("name") == "GPC 1: 2 SMs");
    CHECK(events(file, "instructions per cycle and SM", 2).front().at("args").at("issued").get<double>() ==
          Approx(1.5));
    CHECK(events(file, "tensor cores", 2).front().at("args").at("%").get<double>() == Approx(25));
    const json reasons = events(file, "sub-core cycles, %", 2).front().at("args");
    CHECK(reasons.at("issued").get<double>() == Approx(25));
    CHECK(reasons.at("memory").get<double>() == Approx(75));
    CHECK(events(file, "instructions per cycle and SM", 1).front().at("args").at("issued") == 0);

    const std::vector<json> left_out = events(file, "left out by --sample", 0);
    REQUIRE(left_out.size() == 1);
    CHECK(left_out.front().at("ts").get<double>() == Approx(11.5));
    CHECK(left_out.front().at("dur").get<double>() == Approx(4));
}

}  // namespace heddle::sim
