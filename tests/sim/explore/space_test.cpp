// Designs of a space: links, constraints, derived values.
#include "sim/explore/space.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "sim/gpu/gpu_machine.h"

using namespace heddle::explore;

namespace {

std::string error_of(const std::vector<std::string>& vary, const std::vector<std::string>& links,
                     const std::vector<std::string>& constraints) {
    try {
        const Space space("h100-sxm", {}, vary, links, constraints);
        space.check_feasible();
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& text, const std::string& part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

}  // namespace

TEST_CASE("a grid counts through its designs, the last axis first") {
    const Space space("h100-sxm", {}, {"sm.count=66,132", "l2.size=25MiB,50MiB,100MiB"}, {}, {});
    REQUIRE(space.grid_size() == 6);
    CHECK(space.design(space.grid_position(0)).settings ==
          std::vector<std::string>{"sm.count=66", "l2.size=25 MiB"});
    CHECK(space.design(space.grid_position(1)).settings ==
          std::vector<std::string>{"sm.count=66", "l2.size=50 MiB"});
    CHECK(space.design(space.grid_position(5)).settings ==
          std::vector<std::string>{"sm.count=132", "l2.size=100 MiB"});
    CHECK(space.design(space.base_position()).settings.empty());
    CHECK(space.design(space.base_position()).shown == std::vector<std::string>{"132", "50 MiB"});
}

TEST_CASE("linked parameters follow, in the order given") {
    const Space space("h100-sxm", {}, {"hbm.stacks=4..6"},
                      {"hbm.bandwidth = hbm.stacks * 670 GB/s", "price.hour = 2 + hbm.bandwidth / 1 TB/s"},
                      {});
    const Design design = space.design({0});
    CHECK(design.settings ==
          std::vector<std::string>{"hbm.stacks=4", "hbm.bandwidth=2.68 TB/s", "price.hour=4.68"});
    const heddle::sim::Hardware hardware = space.hardware_of(design.settings);
    CHECK(heddle::sim::gpu_config(hardware).hbm.bandwidth == 2.68e12);
    CHECK(hardware.machine().die.price_per_hour == Approx(4.68));
    // Five stacks of 670 GB/s are the H100's own 3.35 TB/s.
    CHECK(heddle::sim::gpu_config(space.hardware_of(space.design({1}).settings)).hbm.bandwidth == 3.35e12);
}

TEST_CASE("constraints on parameters and on what follows from them") {
    const Space space("h100-sxm", {}, {"sm.count=66..264:66", "power.limit=500W,700W,900W"}, {},
                      {"power.tdp <= 700 W", "area.total <= 900 mm2"});
    unsigned feasible = 0;
    for (std::uint64_t i = 0; i < space.grid_size(); ++i) {
        const Design design = space.design(space.grid_position(i));
        if (!design.infeasible.empty()) {
            CHECK(design.violation > 0);
            continue;
        }
        ++feasible;
        CHECK(design.derived.at("power.tdp") <= 700);
        CHECK(design.derived.at("area.total") <= 900);
    }
    CHECK(feasible == 4);  // 66 and 132 SMs at two limits; 198 SMs take more than 900 mm2
    // The base device may break them.
    CHECK(Space("h100-sxm", {}, {"sm.count=66,132"}, {}, {"area.total <= 700 mm2"})
              .design({kAsBase})
              .infeasible.empty());
}

TEST_CASE("an impossible machine is infeasible, with its reason") {
    // More bytes for one thread block than an SM has.
    const Space space("h100-sxm", {}, {"shared.size_per_cta=100KiB,256KiB"}, {}, {});
    CHECK(space.design({0}).infeasible.empty());
    says(space.design({1}).infeasible, "shared");
}

TEST_CASE("contradictions and mistakes are found before anything runs") {
    says(error_of({"sm.count=66..264:66"}, {}, {"sm.count <= 50"}), "none of the 4 designs can be built");
    says(error_of({"sm.count=66..264:66"}, {}, {"sm.count <= 100", "sm.count >= 200"}),
         "none of the 4 designs can be built");
    says(error_of({"clock=1000MHz..1500MHz"}, {}, {"clock > 1600 MHz"}), "none of 2000 designs");
    says(error_of({"sm.count=66,132", "sm.count=99"}, {}, {}), "varied already");
    says(error_of({"sm.count=66,132"}, {"sm.count = 5"}, {}), "varied already");
    says(error_of({"sm.count=66,132"}, {"l2.sise = 5 MiB"}, {}), "did you mean `l2.size`");
    says(error_of({"sm.count=66,132"}, {"l2.size = sm.count * 1 MHz"}, {}), "to a parameter of B");
    says(error_of({"sm.count=66,132"}, {}, {"area.totl <= 814 mm2"}), "did you mean `area.total`");
    says(error_of({"sm.count=66,132"}, {}, {"area.total <= 814"}), "units");
    says(error_of({"sm.count=66,132"}, {"hbm.stacks = sm.count / 7"}, {}), "whole number");
}
