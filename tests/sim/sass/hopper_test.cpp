// Traces of the tracer's version 6, which records Hopper: mbarriers, tensor copies and groups of products
// wait for each other by what the trace says.
#include <catch2/catch.hpp>

#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "trace_text.h"

using namespace heddle;
using namespace heddle::sass;
using namespace heddle::sass::test;

namespace {

std::string as_version_6(std::string text) {
    const std::string key = "tracer version = ";
    text[text.find(key) + key.size()] = '6';
    return text;
}

/// As mbarrier.init leaves it: 2^20 less the arrivals, from bit 1 on and again from bit 43 on.
std::string initialised(std::uint64_t arrivals) {
    const std::uint64_t kept = 0x100000 - arrivals;
    char text[32];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(kept << 43 | kept << 1));
    return text;
}

/// Warp 0 has `pieces` rows of 128 bytes brought to shared memory and tells `told` bytes; warp 1 waits for
/// them.
std::string pipeline(unsigned pieces, unsigned told) {
    const std::string bytes = std::to_string(pieces * 128);
    char expected[16];
    std::snprintf(expected, sizeof expected, "%x", told);
    std::string deltas;
    for (unsigned i = 1; i < pieces; ++i) deltas += " 8192";
    const std::vector<std::string> producer{
        "00000001 0 SYNCS.EXCH.64 2 UR4 UR6 8 1 0x400 0 0 0 Val 1 400 1 " + initialised(1),
        "ffffffff 0 BAR.SYNC.DEFER_BLOCKING 0 0 0 0 NoVal",
        std::string("00000001 0 SYNCS.ARRIVE.TRANS64 2 R2 R3 8 1 0x400 0 0 0 Val 1 400 1 ") + expected,
        "00000001 0 UTMALDG.2D 2 UR8 UR4 128 400 0 " + bytes + " 0 4 7f0000001000 " + std::to_string(pieces) +
            deltas + " 0 0 NoVal",
        "ffffffff 0 EXIT 0 0 0 0 NoVal"};
    const std::vector<std::string> consumer{
        "ffffffff 0 BAR.SYNC.DEFER_BLOCKING 0 0 0 0 NoVal",
        "ffffffff 1 P0 SYNCS.PHASECHK.TRANS64.TRYWAIT 2 R2 R3 8 1 0x400 0 0 0 Val 1 0 1 400 1 0",
        "ffffffff 1 R24 HGMMA.64x64x16.F32.BF16 3 UR4 R24 UR6 1 0 0 0 NoVal",
        "ffffffff 0 EXIT 0 0 0 0 NoVal"};
    Geometry geometry{1, 64, 65536, 64, 90, ""};
    return as_version_6(header(geometry) + block(0, warp(0, producer) + warp(1, consumer)));
}

struct Run {
    models::gpu::KernelResult result;
    std::uint64_t forced, undescribed;
};

Run run_of(models::gpu::Gpu& gpu, const std::string& text) {
    TraceLaunch launch = launch_of(text);
    Run run{gpu.run(launch, {}), launch.forced_releases, launch.undescribed_copies};
    launch.finish();
    return run;
}

}  // namespace

TEST_CASE("A tensor copy of a trace of version 6 is made, and its mbarrier is waited for") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    const Run small = run_of(gpu, pipeline(8, 8 * 128)), large = run_of(gpu, pipeline(256, 256 * 128));
    for (const Run* const run : {&small, &large}) {
        CHECK(run->forced == 0);
        CHECK(run->undescribed == 0);
        CHECK(run->result.tensor_macs == 64 * 64 * 16 / 4);
    }
    // From memory, which holds every byte in a sector of its own row; and no sooner than memory answers.
    CHECK(small.result.dram_read_bytes >= 8 * 128);
    CHECK(large.result.dram_read_bytes - small.result.dram_read_bytes == 248 * 128);
    CHECK(large.result.cycles > small.result.cycles);
    // Bytes that nobody copies are waited for in vain: the warp is let go, and that is counted.
    CHECK(run_of(gpu, pipeline(8, 8 * 128 + 16)).forced == 1);
}

TEST_CASE("Both lines of an LDGSTS, as tracers write them, are one instruction") {
    const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    const std::string shared = "ffffffff 0 LDGSTS.E.BYPASS.128 2 R4 R2 16 1 0x400 16 0";
    const std::string global = "ffffffff 0 LDGSTS.E.BYPASS.128 2 R4 R2 16 1 0x7fb0fc400000 16 0";
    const auto traced = [&](const std::vector<std::string>& copies) {
        std::string lines;
        for (const std::string& copy : copies) lines += "0000 " + copy + "\n";
        const std::string warp =
            "warp = 0\ninsts = " + std::to_string(copies.size() + 3) + "\n" + lines +
            "0010 ffffffff 0 LDGDEPBAR 0 0 0\n0020 ffffffff 0 DEPBAR.LE 0 0 0\n0030 ffffffff 0 "
            "EXIT 0 0 0\n";
        return run(gpu, header({1, 32, 4096}) + block(0, warp));
    };
    const models::gpu::KernelResult one = traced({global}), both = traced({shared, global});
    CHECK(both.warp_instructions == 4);
    CHECK(both.cycles == one.cycles);
    CHECK(both.l2.sectors == one.l2.sectors);
    CHECK(both.dram_read_bytes == 512);
}
