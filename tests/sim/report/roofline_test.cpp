#include "sim/report/roofline.h"

#include <catch2/catch.hpp>

namespace heddle::sim {

// Williams, Waterman, Patterson 2009: attainable FLOP/s = min(peak, bandwidth x intensity).
TEST_CASE("a point of the roofline lies under the lower of two roofs", "[report]") {
    // 10 us on a device of 100 TFLOP/s and 2 TB/s: the ridge is at 50 FLOP/B.
    const auto point = [](double flops, double bytes) {
        return roofline_point("k", {{"tensor", {"FLOP", flops, 100e12}}, {"dram", {"B", bytes, 2e12}}}, 10)
            .value();
    };
    const RooflinePoint memory = point(1e8, 1e7);  // 10 FLOP/B, 10 TFLOP/s, 1 TB/s
    CHECK(memory.intensity == Approx(10));
    CHECK(memory.flops == Approx(10e12));
    CHECK(memory.ceiling == Approx(20e12));
    CHECK(memory.bound_by == "dram");
    const RooflinePoint compute = point(9e8, 3e6);  // 300 FLOP/B, 90 TFLOP/s
    CHECK(compute.ceiling == Approx(100e12));
    CHECK(compute.bound_by == "tensor");
    CHECK(!roofline_point("k", {{"dram", {"B", 1e7, 2e12}}}, 10).has_value());
}

TEST_CASE("rates stand beside their ceilings", "[report]") {
    const auto rows = throughput_rows({{"dram", {"B", 1e7, 2e12}}}, 10);
    CHECK(rows == std::vector<std::vector<std::string>>{{"dram", "1.00 TB/s", "2.00 TB/s", "50.0 %"}});
}

}  // namespace heddle::sim
