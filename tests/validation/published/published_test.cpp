// Published figures: each is of a micro-benchmark that there is and of a device that has a preset, and its
// bar is the stated one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/published/microbenchmarks.h"

using namespace heddle;
using namespace heddle::validation;

TEST_CASE("every published figure can be run on the preset of its device") {
    const auto benchmarks = capture::microbenchmarks();
    std::set<std::string> devices;
    for (const PublishedMeasurement& measurement : published_measurements()) {
        INFO(measurement.hardware << " " << measurement.benchmark);
        devices.insert(measurement.hardware);
        const auto known = std::find_if(benchmarks.begin(), benchmarks.end(), [&](const auto& benchmark) {
            return benchmark.id == measurement.benchmark;
        });
        REQUIRE(known != benchmarks.end());
        CHECK(known->runs_on(sim::gpu_config(sim::load_hardware(measurement.hardware)).compute_capability));
        CHECK(measurement.low > 0);
        CHECK(measurement.low <= measurement.high);
        CHECK_FALSE(measurement.source.empty());
        CHECK(device_name_of(measurement.hardware) != measurement.hardware);
    }
    CHECK(devices == std::set<std::string>{"h800-pcie", "h100-sxm", "h200-sxm", "a100-pcie", "a100-sxm",
                                           "v100-sxm", "rtx-a6000"});
}

TEST_CASE("the page of published figures has a row for each of them") {
    std::ifstream stream(HEDDLE_SOURCE_DIR "/docs/timing-accuracy.md");
    REQUIRE(stream);
    std::map<std::string, std::string> section_of;  // by device
    std::string line, hardware;
    while (std::getline(stream, line)) {
        if (line.rfind("## ", 0) == 0)
            hardware = line.substr(line.find('`') + 1, line.rfind('`') - line.find('`') - 1);
        section_of[hardware] += line + "\n";
    }
    for (const PublishedMeasurement& measurement : published_measurements()) {
        INFO(measurement.hardware << " " << measurement.benchmark
                                  << ": renew the page with heddle validate "
                                     "timing --table docs/timing-accuracy.md");
        CHECK(section_of[measurement.hardware].find("| " + measurement.benchmark + " ") != std::string::npos);
        CHECK(section_of[measurement.hardware].find(measurement.source) != std::string::npos);
    }
}

TEST_CASE("a latency may be 5 % or 3 cycles off, a bandwidth 5 %") {
    PublishedMeasurement latency{"h800-pcie", "latency/l1", 32, 32, "cycles", "somebody"};
    CHECK(tolerance(latency) == Approx(3.0 / 32));
    CHECK(deviation(latency, 35) == Approx(tolerance(latency)));
    CHECK(deviation(latency, 29) == Approx(tolerance(latency)));
    latency.low = latency.high = 264;
    CHECK(tolerance(latency) == Approx(0.05));
    // Within a range nothing is off; beside it, the nearer end counts.
    const PublishedMeasurement bandwidth{"h800-pcie", "bandwidth", 1900, 2000, "GB/s", "somebody"};
    CHECK(tolerance(bandwidth) == Approx(0.05));
    CHECK(deviation(bandwidth, 1950) == 0);
    CHECK(deviation(bandwidth, 2100) == Approx(0.05));
    CHECK(deviation(bandwidth, 1805) == Approx(0.05));
}
