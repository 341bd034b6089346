// Counter tracks against numbers worked out by hand.
#include "sim/report/timeline.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sample_result.h"
#include "sim/report/summary.h"

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

TEST_CASE("averages of kernels become counters that add up, also beside each other", "[sim_report]") {
    Timeline timeline("a device");
    // A: 0-10 us at 100 W; B: 4-20 us at 50 W; nothing until C: 30-40 us.
    const auto rates = [](double start, double end, double watts, double tensor) {
        KernelRates rates{start, end, {}, {}};
        rates.sums["power"]["W"] = watts;
        rates.shares["at work: tensor"]["%"] = tensor;
        return rates;
    };
    timeline.add_rates(rates(0, 10, 100, 80));
    timeline.add_rates(rates(4, 20, 50, 20));
    timeline.add_rates(rates(30, 40, 10, 5));
    const json file = json::parse(timeline.text(json::object()));
    const std::vector<json> power = events(file, "power", 0);
    double joules = 0;
    for (std::size_t i = 0; i + 1 < power.size(); ++i)
        joules += power[i].at("args").at("W").get<double>() *
                  (power[i + 1].at("ts").get<double>() - power[i].at("ts").get<double>()) * 1e-6;
    CHECK(joules == Approx((100 * 10 + 50 * 16 + 10 * 10) * 1e-6));
    CHECK(power.back().at("args").at("W") == 0);
    const std::vector<json> tensor = events(file, "at work: tensor", 1'000'000);
    REQUIRE(tensor.size() == 5);  // 80, 20 (of the last to start), 0, 5, 0
    CHECK(tensor[1].at("ts") == 4);
    CHECK(tensor[1].at("args").at("%") == 20);
    CHECK(tensor[2].at("ts") == 20);
}

namespace {

/// The rules of the Trace Event Format (and of Perfetto's reader) that timeline.json keeps to.
void check_trace_events(const json& file) {
    REQUIRE(file.at("traceEvents").is_array());
    CHECK(file.at("displayTimeUnit") == "ns");  // "ms" or "ns"
    std::set<int> processes;
    std::set<std::pair<int, int>> threads;
    std::map<std::pair<int, std::string>, double> counters;
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
    double last = 0;
    bool in_time = false;
    for (const json& event : file.at("traceEvents")) {
        CAPTURE(event.dump());
        REQUIRE(event.at("name").is_string());
        REQUIRE_FALSE(event.at("name").get<std::string>().empty());
        REQUIRE(event.at("pid").is_number_integer());
        const int process = event.at("pid");
        const std::string phase = event.at("ph");
        if (phase == "M") {
            CHECK_FALSE(in_time);  // names come first
            CHECK(event.at("args").at("name").is_string());
            if (event.at("name") == "process_name") {
                CHECK(processes.insert(process).second);
            } else {
                CHECK(event.at("name") == "thread_name");
                CHECK(threads.insert({process, event.at("tid").get<int>()}).second);
            }
            continue;
        }
        in_time = true;
        const double ts = event.at("ts");
        CHECK(ts >= last);
        last = ts;
        CHECK(processes.count(process) == 1);
        if (phase == "X") {
            const int thread = event.at("tid");
            CHECK(threads.count({process, thread}) == 1);
            CHECK(event.at("dur").get<double>() >= 0);
            CHECK(event.at("args").is_object());
            slices[{process, thread}].emplace_back(ts, ts + event.at("dur").get<double>());
            continue;
        }
        REQUIRE(phase == "C");
        CHECK_FALSE(event.at("args").empty());
        for (const auto& [key, value] : event.at("args").items()) {
            CHECK(value.is_number());
            CHECK(value.get<double>() >= 0);
        }
        const auto [known, fresh] = counters.try_emplace({process, event.at("name")}, ts);
        if (!fresh) CHECK(ts >= known->second);
        known->second = ts;
    }
    // Slices of one thread must nest; ours do not even touch.
    for (auto& [thread, spans] : slices)
        for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i].first >= spans[i - 1].second - 1e-6);
}

}  // namespace

TEST_CASE("timeline.json keeps to the Trace Event Format", "[sim_report]") {
    RunResult result = sample_result();
    result.clock_hz = 1.755e9;
    for (KernelResult& kernel : result.kernels) kernel.energy = {{"idle", 0.001}};
    result.kernels[1].stream = 7;
    result.kernels[2].launched_us = 99;
    const json file = json::parse(timeline_json(result));
    check_trace_events(file);
    CHECK(events(file, "clock", 0).front().at("args").at("GHz").get<double>() == Approx(1.755));
    // 100 MB in 50 us are 2 TB/s.
    CHECK(events(file, "DRAM traffic", 0).front().at("args").at("GB/s").get<double>() == Approx(2000));
    const json reasons = events(file, "cycles of the issue slots, %", 1'000'000).front().at("args");
    CHECK(reasons.at("memory").get<double>() == Approx(50));
    // A TPU's units have a track each.
    RunResult tpu = sample_result();
    tpu.kernels[0].time_by_unit = {{"vector unit", {{"working", 0.75}, {"DMA", 0.25}}}};
    const json of_tpu = json::parse(timeline_json(tpu));
    check_trace_events(of_tpu);
    CHECK(events(of_tpu, "cycles of the vector unit, %", 1'000'000).front().at("args").at("DMA") == 25);
    Timeline with_series("a device");
    with_series.add_series(two_points(), 10);
    with_series.add_kernel("k", "matmul", 2, 7, json::object());
    check_trace_events(json::parse(with_series.text(json::object())));
}

}  // namespace heddle::sim
