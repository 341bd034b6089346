// Latencies as a pointer chase measures them, against the public dissection of an H800 PCIe (1755 MHz).
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

GpuConfig h800_pcie() {
    GpuConfig config;
    config.clock = 1.755e9;
    config.hbm.bandwidth = 2.04e12;  // HBM2e
    config.hbm.pseudo_channels = 2;
    config.hbm.latency = 219e-9;
    return config;
}

}  // namespace

TEST_CASE("a pointer chase measures L1, L2 and DRAM as on silicon") {
    GpuTestBench bench(h800_pcie());
    const std::uint64_t out = bench.memory.allocate("out", 8, true);
    const auto chase = [](const char* cache) {
        return [cache](unsigned turns) { return pointer_chase(turns, cache); };
    };

    const std::uint64_t small = bench.pointer_ring(64, 128);  // 8 KiB: L1
    CHECK(bench.cycles_per_turn(chase("ca"), 1, 1, {small, out}, 200, 1200) == Approx(32.0).epsilon(0.05));

    const std::uint64_t medium = bench.pointer_ring(4096, 256);  // 1 MiB, in L2
    RunOptions warm;
    warm.resident = {{medium, 4096 * 256, false}};
    CHECK(bench.cycles_per_turn(chase("cg"), 1, 1, {medium, out}, 200, 1200, warm) ==
          Approx(264.4).epsilon(0.05));

    const std::uint64_t large = bench.pointer_ring(2048, 16384);  // every line for the first time
    CHECK(bench.cycles_per_turn(chase("cg"), 1, 1, {large, out}, 200, 1200) == Approx(647).epsilon(0.02));
}

TEST_CASE("a pointer chase on a machine with an A100's numbers") {
    // Public dissection of an A100 PCIe at 1395 MHz: L1 32.7, L2 202.8, DRAM 551-566 cycles.
    GpuConfig config;
    config.compute_capability = 80;
    config.clock = 1.395e9;
    config.sm.count = 108;
    config.l1.latency = 33;
    config.crossbar.latency = 50;
    config.l2.latency = 69;
    config.l2.link_latency = 47;
    config.hbm.latency = 227e-9;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 8, true);
    const std::uint64_t small = bench.pointer_ring(64, 128), large = bench.pointer_ring(2048, 16384);
    const auto chase = [](const char* cache) {
        return [cache](unsigned turns) { return pointer_chase(turns, cache); };
    };
    CHECK(bench.cycles_per_turn(chase("ca"), 1, 1, {small, out}, 200, 1200) == Approx(32.7).epsilon(0.05));
    CHECK(bench.cycles_per_turn(chase("cg"), 1, 1, {small, out}, 200, 1200) == Approx(202.8).epsilon(0.05));
    CHECK(bench.cycles_per_turn(chase("cg"), 1, 1, {large, out}, 200, 1200) == Approx(558).epsilon(0.05));
}

TEST_CASE("a buffer larger than L1, then than L2, is chased at the next level's latency") {
    GpuConfig config = h800_pcie();
    config.l2.bytes = 4 << 20;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 8, true);
    // Without shared memory L1 has 248 KiB: the knee of the H100 chase lies between 216 and 264 kB
    // (gpu-benches).
    const auto chase = [&](std::uint64_t kibibytes) {
        const std::uint64_t lines = kibibytes * 1024 / 128;
        const std::uint64_t ring = bench.pointer_ring(lines, 128);
        const auto text = [](unsigned turns) { return pointer_chase(turns, "ca"); };
        const auto laps = static_cast<unsigned>(lines);
        return bench.cycles_per_turn(text, 1, 1, {ring, out}, 2 * laps, 3 * laps);  // the third lap
    };
    CHECK(chase(192) == Approx(32).epsilon(0.1));
    CHECK(chase(400) == Approx(264).epsilon(0.08));
    // Beyond one partition every line comes from memory or, half of them, from the other partition: 475 to 478
    // cycles for 40 MB on an H100 PCIe, whose L2 has 50 (RRZE gpu-benches).
    CHECK(chase(3072) == Approx(476).epsilon(0.03));
    CHECK(chase(8192) == Approx(647).epsilon(0.08));
}

TEST_CASE("dependent chains measure shared memory, FFMA, EX2 and mma as on silicon") {
    GpuTestBench bench(h800_pcie());
    const auto chain = [&bench](const std::string& instructions, unsigned shared = 0) {
        return bench.cycles_per_turn([&](unsigned turns) { return loop_of(instructions, turns, shared); }, 1,
                                     32, {}, 50, 250);
    };
    const auto repeat = [](const std::string& line) {
        std::string all;
        for (int i = 0; i < 16; ++i) all += line;
        return all;
    };
    // The loop itself: an add, a set-predicate and a branch after the chain's last link has issued.
    const double loop = chain("");
    // Shared load to use: 29 (H100). Lane i reads its own pointer, 4 i.
    std::string store =
        "    mov.u32 %r11, smem;\n    shl.b32 %r12, %r10, 2;\n    add.u32 %r11, %r11, %r12;\n    "
        "st.shared.u32 [%r11], %r11;\n";
    const double with_store = chain(store, 128);
    const double shared = chain(store + repeat("    ld.shared.u32 %r11, [%r11];\n"), 128) - with_store;
    CHECK(shared / 16 == Approx(29).epsilon(0.1));
    // FFMA: 4 cycles since Volta (Jia et al. 2018; MICRO 2025).
    CHECK((chain(repeat("    fma.rn.f32 %f0, %f0, %f1, %f2;\n")) - loop) / 16 == Approx(4).margin(0.3));
    // EX2 chain: 18.9 cycles (FlashGPU-Sim probes).
    CHECK((chain(repeat("    ex2.approx.ftz.f32 %f0, %f0;\n")) - loop) / 16 == Approx(18.9).epsilon(0.1));
    // mma.m16n8k16 f16 -> f32, accumulators chained: 24.1 cycles (suite of arXiv 2501.12084, raw logs of an
    // H100).
    CHECK((chain(repeat("    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
                        "{%r11,%r12,%r13,%r14}, "
                        "{%r15,%r16}, {%f0,%f1,%f2,%f3};\n")) -
           loop) /
              16 ==
          Approx(24.1).epsilon(0.06));
}

TEST_CASE("a column of shared memory costs its bank conflicts") {
    GpuTestBench bench(h800_pcie());
    const auto loads = [&bench](unsigned stride) {
        std::string instructions = "    mul.lo.u32 %r11, %r10, " + std::to_string(stride) +
                                   ";\n    mov.u32 %r12, smem;\n    add.u32 %r11, %r11, %r12;\n";
        for (unsigned i = 0; i < 16; ++i)
            instructions += "    ld.shared.u32 %r" + std::to_string(20 + i) + ", [%r11];\n";
        return bench.cycles_per_turn([&](unsigned turns) { return loop_of(instructions, turns, 8192); }, 1,
                                     1024, {}, 20, 60);
    };
    // 32 warps, 16 loads each, one wavefront per cycle for the whole SM, times the conflicts.
    CHECK(loads(4) == Approx(32 * 16 * 1).epsilon(0.15));
    CHECK(loads(8) == Approx(32 * 16 * 2).epsilon(0.1));
    CHECK(loads(128) == Approx(32 * 16 * 32).epsilon(0.02));
    CHECK(loads(132) == Approx(loads(4)).epsilon(0.02));
}
