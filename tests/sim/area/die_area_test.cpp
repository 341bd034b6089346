// Published die sizes. Seven of NVIDIA's dies decided about the fitted densities of sim/area/technology.cpp,
// the others did not.
#include "sim/area/die_area.h"

#include <catch2/catch.hpp>

#include "sim/area/technology.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle::sim;

namespace {

double area_of_device(const std::string& name, const std::vector<std::string>& settings = {}) {
    return load_hardware(name, settings).machine().area().total();
}

constexpr double kKib = 1024, kMib = 1024 * 1024;

struct PublishedDie {
    const char* name;
    double mm2;
    GpuDie die;
};

GpuDie graphics_die(Process process, double sms, double fp32, double l1_kib, double instruction_kib,
                    double l2_mib, double chips, double links) {
    return {.process = process,
            .sms = sms,
            .fp32 = fp32,
            .integer = 64,
            .fp64 = 2,
            .special = 16,
            .tensor_f16 = 512,
            .registers_bytes = 256 * kKib,
            .l1_bytes = l1_kib * kKib,
            .instruction_bytes = instruction_kib * kKib,
            .l2_bytes = l2_mib * kMib,
            .memory = MemoryInterface::gddr,
            .stacks = chips,
            .links = links,
            .graphics = true};
}

}  // namespace

TEST_CASE("die sizes of devices that have a hardware file are within 10 % of the published ones") {
    CHECK(area_of_device("v100-sxm") == Approx(815).epsilon(0.1));     // V100 whitepaper
    CHECK(area_of_device("a100-sxm") == Approx(826).epsilon(0.1));     // A100 whitepaper
    CHECK(area_of_device("h100-sxm") == Approx(814).epsilon(0.1));     // H100 whitepaper
    CHECK(area_of_device("h200-sxm") == Approx(814).epsilon(0.1));     // the same die
    CHECK(area_of_device("l40s") == Approx(608.5).epsilon(0.1));       // Ada whitepaper, AD102
    CHECK(area_of_device("rtx-5090") == Approx(750).epsilon(0.1));     // RTX Blackwell whitepaper, GB202
    CHECK(area_of_device("rtx-pro-6000") == Approx(750).epsilon(0.1));  // the same die
    CHECK(area_of_device("rtx-a6000") == Approx(628.4).epsilon(0.1));  // GA102 whitepaper
}

TEST_CASE("dies that decided about nothing are within 10 % of the published sizes") {
    // Block diagrams and die sizes as NVIDIA's whitepapers of Turing, Ampere GA102 and Ada have them.
    const std::vector<PublishedDie> kept_aside{
        {"TU104", 545, graphics_die(Process::nm12, 48, 64, 96, 192, 4, 8, 1)},
        {"TU106", 445, graphics_die(Process::nm12, 36, 64, 96, 192, 4, 8, 0)},
        {"GA104", 392.5, graphics_die(Process::nm8, 48, 128, 128, 256, 4, 8, 0)},
        {"GA106", 276, graphics_die(Process::nm8, 30, 128, 128, 256, 3, 6, 0)},
        {"AD103", 378.6, graphics_die(Process::nm5, 80, 128, 128, 256, 64, 8, 0)},
        {"AD104", 294.5, graphics_die(Process::nm5, 60, 128, 128, 256, 48, 6, 0)},
        {"AD106", 187.8, graphics_die(Process::nm5, 36, 128, 128, 256, 32, 4, 0)},
    };
    for (const PublishedDie& published : kept_aside) {
        INFO(published.name);
        CHECK(area_of(published.die).total() == Approx(published.mm2).epsilon(0.1));
    }
}

TEST_CASE("TPUs keep within the bounds that are published") {
    // "Ten Lessons From Three Generations" (ISCA 2021), table 1, and "TPU v4" (ISCA 2023), table 4.
    CHECK(area_of_device("tpu-v1") < 331);
    CHECK(area_of_device("tpu-v2") < 625);
    CHECK(area_of_device("tpu-v3") < 700);
    CHECK(area_of_device("tpu-v4") < 600);
    // Not in the fit: v1's accumulators take 6 %.
    CHECK(load_hardware("tpu-v1").machine().area().of("accumulators") == Approx(0.06 * 331).epsilon(0.25));
    // The floorplan of v1 (ISCA 2017, figure 2): of 331 mm2 at most, the buffer takes 29 % and the array 24
    // %.
    const DieArea v1 = load_hardware("tpu-v1").machine().area();
    CHECK(v1.of("vmem") == Approx(0.29 * 331).epsilon(0.1));
    CHECK(v1.of("matrix") == Approx(0.24 * 331).epsilon(0.1));
}

TEST_CASE("what is added takes area, and only that") {
    const double base = area_of_device("h100-sxm");
    const DieArea parts = load_hardware("h100-sxm").machine().area(),
                  wide = load_hardware("h100-sxm", {"hbm.stacks=10"}).machine().area();
    CHECK(wide.total() - base == Approx(6 * silicon().hbm_interface));
    CHECK(wide.of("l2") == parts.of("l2"));
    // Twice the tensor cores: their own area again.
    CHECK(area_of_device("h100-sxm", {"tensor.macs_per_cycle.f16=4096", "tensor.macs_per_cycle.f64=256"}) -
              base ==
          Approx(parts.of("tensor")));
    // SRAM shrinks with its bit cell: 0.027 um2 in N7, 0.021 in N5.
    CHECK(load_hardware("h100-sxm", {"die.process=7nm"}).machine().area().of("l2") ==
          Approx(parts.of("l2") * 27 / 21));
    // Memory interfaces do not shrink.
    CHECK(load_hardware("h100-sxm", {"die.process=7nm"}).machine().area().of("memory") == parts.of("memory"));
}

TEST_CASE("two dies have two uncores, and tensor memory takes what registers take") {
    const DieArea b200 = load_hardware("b200-sxm").machine().area();
    const DieArea one = load_hardware("b200-sxm", {"die.count=1"}).machine().area();
    CHECK(b200.of("uncore") == Approx(2 * one.of("uncore")));
    CHECK(b200.total() - one.total() == Approx(one.of("uncore")));
    CHECK(b200.of("tensor_memory") == Approx(b200.of("registers")));  // 256 KiB of an SM, both
    CHECK(load_hardware("h100-sxm").machine().area().of("tensor_memory") == 0);
    // What is new and has no published area is not in it: two dies as large as a mask allows take 1,600 mm2.
    CHECK(b200.total() > 1000);
    CHECK(b200.total() < 1600);
}

TEST_CASE("every density says where it comes from") {
    for (const Coefficient& coefficient : coefficients()) {
        INFO(coefficient.name);
        CHECK(coefficient.value > 0);
        CHECK(coefficient.source.size() > 10);
    }
}

TEST_CASE("what is built and switched off is told, with the area that it takes") {
    // NVIDIA's H100 whitepaper: the full GH100 has 144 SMs, 60 MB of L2 and six stacks; the H100 SXM has 132,
    // 50, 5.
    const DieArea h100 = load_hardware("h100-sxm").machine().area();
    REQUIRE(h100.spare_units.size() == 3);
    CHECK(h100.spare_units[0].of == "SMs");
    CHECK(h100.spare_units[0].built == 144);
    CHECK(h100.spare_units[0].enabled == 132);
    CHECK(h100.spare_units[1].built == Approx(60).epsilon(0.001));
    CHECK(h100.spare_units[1].enabled == 50);
    CHECK(h100.spare_units[2].built == 6);
    CHECK(h100.spare_units[2].enabled == 5);
    for (const AreaPart& part : h100.parts) {
        CAPTURE(part.name);
        const bool of_sms = part.holds.find("KiB") != std::string::npos || part.name == "datapath" ||
                            part.name == "tensor" || part.name == "sub_cores";
        const double off = of_sms ? 12.0 / 144 : part.name == "l2" || part.name == "memory" ? 1.0 / 6 : 0;
        CHECK(part.spare == Approx(off * part.mm2).epsilon(0.01));
    }
    CHECK(h100.spare() > 0.05 * h100.total());
    CHECK(h100.spare() < 0.15 * h100.total());
}

TEST_CASE("a die of which everything is enabled has nothing spare, and more enabled is less spare") {
    const std::vector<std::string> whole{"die.sms_enabled=100%", "die.l2_enabled=100%",
                                         "die.stacks_enabled=100%"};
    const DieArea all = load_hardware("h100-sxm", whole).machine().area();
    CHECK(all.spare() == 0);
    CHECK(all.spare_units.empty());
    CHECK(load_hardware("rtx-a6000").machine().area().spare() == 0);
    // What works takes the same area, whatever is spare beside it.
    const DieArea usual = load_hardware("h100-sxm").machine().area();
    CHECK(usual.total() - usual.spare() == Approx(all.total()).epsilon(1e-9));
}
