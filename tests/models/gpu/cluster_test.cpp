// Clusters, distributed shared memory and bulk copies in time. Published figures: H800, public dissection
// log.
#include <array>
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "models/gpu/gpc_layout.h"

namespace heddle::models::gpu {
namespace {

// A launch with clusters of `size` CTAs.
KernelResult run_clusters(GpuTestBench& bench, const std::string& text, unsigned grid, unsigned block,
                          unsigned size, const std::vector<std::uint64_t>& arguments,
                          const RunOptions& options = {}, ptx::Mode mode = ptx::Mode::functional) {
    TestLaunch launch = bench.launch(text, grid, block, arguments, mode);
    launch.context.cluster = {size};
    return bench.gpu.run(launch.context, options);
}

// One thread of CTA 0 follows `turns` pointers through the shared memory of CTA `rank` of its cluster: the
// word at smem + 8 holds its own shared::cluster address.
std::string cluster_chase(unsigned turns, unsigned rank) {
    return kernel_text(
        "ld.param.u64 %rd0, [p0]; mov.u32 %r0, smem; mov.u32 %r1, " + std::to_string(rank) +
            "; mapa.shared::cluster.u32 %r2, %r0, %r1; add.u32 %r2, %r2, 8;\n"
            "mov.u32 %r3, %ctaid.x; mapa.shared::cluster.u32 %r4, %r0, %r3; add.u32 %r4, %r4, 8;\n"
            "st.shared.u32 [%r0 + 8], %r4; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
            "mov.u32 %r5, %ctaid.x; setp.ne.u32 %p0, %r5, 0; @%p0 bra done; mov.u32 %r6, 0;\n"
            "loop: ld.shared::cluster.u32 %r2, [%r2]; add.u32 %r6, %r6, 1;\n"
            "setp.lt.u32 %p1, %r6, " +
            std::to_string(turns) +
            "; @%p1 bra loop;\n"
            "st.global.u32 [%rd0], %r2;\n"
            "done: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;",
        1, 64);
}

}  // namespace

TEST_CASE("distributed shared memory takes the latencies measured on an H800, pair by pair", "[models_gpu]") {
    GpuConfig config;
    config.sm.count = 16;
    config.sm.gpcs = 1;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 256, true);
    const auto per_turn = [&](unsigned rank) {
        const auto few = run_clusters(bench, cluster_chase(64, rank), 16, 1, 16, {out}).cycles;
        const auto many = run_clusters(bench, cluster_chase(320, rank), 16, 1, 16, {out}).cycles;
        return static_cast<double>(many - few) / 256;
    };
    // The loop adds nothing: the load's latency hides the counter and the branch, but for the branch itself.
    const double own = per_turn(0);
    CHECK(own == Approx(33).margin(15));
    // Log of Luo et al.'s suite, cluster of 16: from rank 0 to the others.
    constexpr std::array kMeasured{213, 209, 208, 209, 211, 211, 207, 203, 204, 203, 206, 205, 202, 198, 199};
    for (unsigned rank = 1; rank < 16; rank += 3) {
        INFO("rank " << rank);
        CHECK(per_turn(rank) - own == Approx(kMeasured[rank - 1] - 33).epsilon(0.05));
    }
}

TEST_CASE("every SM reads from another with 16.4 bytes per cycle, as measured on an H800", "[models_gpu]") {
    GpuConfig config;
    config.sm.count = 4;
    config.sm.gpcs = 1;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 256, true);
    // 512 threads of each CTA read 16 bytes at a time from the next CTA.
    const auto text = [](unsigned turns, unsigned ctas) {
        return kernel_text(
            "mov.u32 %r0, smem; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 4; add.u32 %r0, %r0, %r1; mov.u32 "
            "%r2, "
            "%ctaid.x; add.u32 %r2, %r2, 1; rem.u32 %r2, %r2, " +
                std::to_string(ctas) +
                "; mapa.shared::cluster.u32 %r0, %r0, %r2; mov.u32 %r3, 0;\n"
                "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
                "loop: ld.shared::cluster.v4.u32 {%r4, %r5, %r6, %r7}, [%r0]; ld.shared::cluster.v4.u32 "
                "{%r8, "
                "%r9, %r10, %r11}, [%r0]; add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, " +
                std::to_string(turns) +
                "; @%p1 bra loop;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;",
            1, 8192);
    };
    const auto rate = [&](unsigned ctas) {
        const auto few = run_clusters(bench, text(8, ctas), ctas, 512, ctas, {out}).cycles;
        const auto many = run_clusters(bench, text(24, ctas), ctas, 512, ctas, {out}).cycles;
        return 16. * 2 * 512 * 16 / static_cast<double>(many - few);
    };
    // 3.28 TB/s on 114 SMs at 1755 MHz, clusters of 2.
    CHECK(rate(2) == Approx(3.28e12 / 114 / 1.755e9).epsilon(0.05));
    CHECK(rate(4) == Approx(rate(2)).epsilon(0.02));
    RunOptions every_cycle;
    every_cycle.tick_every_cycle = true;
    CHECK(run_clusters(bench, text(4, 4), 4, 512, 4, {out}, every_cycle).cycles ==
          run_clusters(bench, text(4, 4), 4, 512, 4, {out}, {}, ptx::Mode::timing).cycles);
}

TEST_CASE("a cluster starts together, on different SMs, and its CTAs wait for one another", "[models_gpu]") {
    GpuConfig config;
    config.sm.count = 6;
    config.sm.gpcs = 1;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 4096, true);
    // Each CTA adds its SM to the words of its cluster; the last barrier keeps all of them there until then.
    const std::string text = kernel_text(
        "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %smid; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; "
        "add.u64 %rd1, %rd1, %rd0;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
        "st.global.u32 [%rd1], %r0; ret;",
        1);
    const KernelResult result = run_clusters(bench, text, 24, 64, 4, {out});
    CHECK(result.cycles > 0);
    std::vector<std::uint32_t> sms(24);
    bench.memory.read(out, std::as_writable_bytes(std::span(sms)));
    for (unsigned cluster = 0; cluster < 6; ++cluster) {
        for (unsigned a = 0; a < 4; ++a) {
            for (unsigned b = 0; b < a; ++b) CHECK(sms[cluster * 4 + a] != sms[cluster * 4 + b]);
        }
    }
    RunOptions every_cycle;
    every_cycle.tick_every_cycle = true;
    CHECK(run_clusters(bench, text, 24, 64, 4, {out}, every_cycle).cycles == result.cycles);
    CHECK(run_clusters(bench, text, 24, 64, 4, {out}, {}, ptx::Mode::timing).cycles == result.cycles);
}

TEST_CASE("what a cluster does to a block that has exited does not reach who is there now", "[models_gpu]") {
    // Clusters of two on two SMs that hold two blocks each. Blocks 1 and 3 leave at once, so that blocks 4
    // and 5 take their places. Blocks 0 and 2 pass their cluster's barrier when their neighbours have left,
    // and arrive at the mbarriers that these had. Blocks 4 and 5 wait meanwhile, at a barrier of the same
    // kind: for their own last warp, which sets a flag after a long loop.
    GpuConfig config;
    config.sm.count = 2;
    config.sm.gpcs = 1;
    config.sm.ctas = 2;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 64, true);
    const auto text = [](const std::string& arrive_there, const std::string& arrive_here,
                         const std::string& wait) {
        return kernel_text(
            "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.u32 %r2, smem; mov.u32 "
            "%r9, 0;\n"
            "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1; setp.eq.u32 %p0, %r1, 0;\n"
            "@%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 st.shared.u32 [%r2 + 8], %r9; bar.sync 0;\n"
            "setp.ge.u32 %p1, %r0, 4; @%p1 bra later; and.b32 %r3, %r0, 1; setp.eq.u32 %p2, %r3, 1; @%p2 "
            "exit;\n"
            "mov.u32 %r4, 0; early: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 400; @%p3 bra early;\n" +
                arrive_there +
                "ret;\nlater: setp.ge.u32 %p4, %r1, 32; @%p4 bra wait;\n"
                "mov.u32 %r4, 0; late: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 2000; @%p3 bra late;\n"
                "mov.u32 %r5, 7; st.shared.u32 [%r2 + 8], %r5;\n" +
                arrive_here + "ret;\nwait: " + wait +
                "ld.shared.u32 %r6, [%r2 + 8]; setp.eq.u32 %p5, %r1, 32; @%p5 st.global.u32 [%rd0], %r6; "
                "ret;",
            1, 16);
    };
    const std::string cluster_barrier = "barrier.cluster.arrive; barrier.cluster.wait;\n";
    const std::vector<std::string> texts = {
        text("barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r7, %r2, 1;\n"
             "@%p0 mbarrier.arrive.shared::cluster.b64 _, [%r7];\n",
             "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];\n",
             "go: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2], 0; @!%p6 bra go;\n"),
        text(cluster_barrier, cluster_barrier, cluster_barrier)};
    for (const std::string& one : texts) {
        const KernelResult result = run_clusters(bench, one, 6, 64, 2, {out});
        std::vector<std::uint32_t> flags(6);
        bench.memory.read(out, std::as_writable_bytes(std::span(flags)));
        CHECK(flags[4] == 7);
        CHECK(flags[5] == 7);
        CHECK(run_clusters(bench, one, 6, 64, 2, {out}, {}, ptx::Mode::timing).cycles == result.cycles);
        const std::vector<std::byte> zeros(64);
        bench.memory.write(out, zeros);
    }
}

TEST_CASE("SMs are dealt to GPCs in pairs, the H100's 132 make six of 16 and two of 18", "[models_gpu]") {
    const std::vector<std::uint32_t> h100 = gpc_layout(132, 8);
    std::vector<unsigned> sizes(8);
    for (std::size_t sm = 0; sm < h100.size(); ++sm) {
        ++sizes[h100[sm]];
        CHECK(h100[sm] == h100[sm / 2 * 2]);
    }
    CHECK(sizes == std::vector<unsigned>{18, 18, 16, 16, 16, 16, 16, 16});
    CHECK(largest_gpc(h100) == 18);
    // One thread block per SM: clusters of 16 leave four SMs idle, those of 2 none.
    CHECK(active_clusters(h100, 16, 1) == 8);
    CHECK(active_clusters(h100, 4, 1) == 32);
    CHECK(active_clusters(h100, 2, 1) == 66);
}

TEST_CASE("GPCs of a chip whose SMs are partly switched off hold what their sizes say", "[models_gpu]") {
    const std::vector<std::uint32_t> sizes{16, 18, 18, 18, 16, 16, 16, 14};
    const std::vector<std::uint32_t> gpcs = gpc_layout(132, 8, sizes);
    REQUIRE(gpcs.size() == 132);
    std::vector<std::uint32_t> found(8);
    for (const std::uint32_t gpc : gpcs) ++found[gpc];
    CHECK(found == sizes);
    // The SMs of a GPC are numbered 16 apart as long as all GPCs have TPCs left.
    for (std::uint32_t sm = 0; sm + 16 < 14 / 2 * 16; ++sm) CHECK(gpcs[sm] == gpcs[sm + 16]);
    // Measured: 15 clusters of 8 run at once on an H100 (120 SMs), 32 of 4.
    CHECK(active_clusters(gpcs, 8, 1) == 15);
    CHECK(active_clusters(gpcs, 2, 1) == 66);
    CHECK(active_clusters(gpcs, 16, 1) == 7);
}

TEST_CASE("clusters wait for a GPC that can hold them, however many SMs are free elsewhere", "[models_gpu]") {
    GpuConfig config;
    config.sm.count = 20;
    config.sm.gpcs = 3;
    config.sm.gpc_sizes = {10, 6, 4};  // dealt evenly, each GPC would hold a cluster of 6
    config.sm.ctas = 1;
    REQUIRE(check(config).empty());
    GpuTestBench bench(config);
    const std::vector<std::uint32_t> gpcs = gpc_layout(20, 3, config.sm.gpc_sizes);
    CHECK(active_clusters(gpcs, 6, 1) == 2);
    const std::uint64_t out = bench.memory.allocate("out", 4096, true);
    const auto text = [](unsigned turns) {
        return kernel_text(
            "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %smid; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; "
            "add.u64 %rd1, %rd1, %rd0; st.global.u32 [%rd1], %r0; mov.u32 %r2, 0;\n"
            "loop: add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, " +
                std::to_string(turns) + "; @%p0 bra loop; ret;",
            1);
    };
    RunOptions options;
    options.audit = true;
    const auto loop_cycles = [&](unsigned clusters) {
        const auto run = [&](unsigned turns) {
            return run_clusters(bench, text(turns), clusters * 6, 32, 6, {out}, options).cycles;
        };
        return static_cast<double>(run(1100) - run(100));
    };
    const double one = loop_cycles(1);
    CHECK(loop_cycles(2) == Approx(one).epsilon(0.01));
    CHECK(loop_cycles(3) == Approx(2 * one).epsilon(0.01));
    std::vector<std::uint32_t> sms(18);
    bench.memory.read(out, std::as_writable_bytes(std::span(sms)));
    for (unsigned i = 0; i < 18; ++i) {
        CHECK(gpcs[sms[i]] == gpcs[sms[i / 6 * 6]]);
        CHECK(gpcs[sms[i]] != 2);
    }
}

TEST_CASE("a cluster stays in one GPC", "[models_gpu]") {
    GpuConfig config;
    config.sm.count = 20;
    config.sm.gpcs = 3;  // 8, 6 and 6 SMs
    GpuTestBench bench(config);
    const std::vector<std::uint32_t> gpcs = gpc_layout(20, 3);
    const std::uint64_t out = bench.memory.allocate("out", 4096, true);
    const std::string text = kernel_text(
        "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %smid; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; "
        "add.u64 %rd1, %rd1, %rd0;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
        "st.global.u32 [%rd1], %r0; ret;",
        1);
    const KernelResult result = run_clusters(bench, text, 80, 1024, 4, {out});
    std::vector<std::uint32_t> sms(80);
    bench.memory.read(out, std::as_writable_bytes(std::span(sms)));
    for (unsigned i = 0; i < 80; ++i) CHECK(gpcs[sms[i]] == gpcs[sms[i / 4 * 4]]);
    RunOptions every_cycle;
    every_cycle.tick_every_cycle = true;
    CHECK(run_clusters(bench, text, 80, 1024, 4, {out}, every_cycle).cycles == result.cycles);
}

TEST_CASE("machines without clusters, and clusters that are too large, are refused", "[models_gpu]") {
    GpuConfig config;
    config.cluster.size = 0;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 256, true);
    CHECK_THROWS_WITH(run_clusters(bench, cluster_chase(4, 1), 2, 1, 2, {out}),
                      Catch::Contains("this GPU takes none"));
}

TEST_CASE("a cluster that no GPC can hold is refused", "[models_gpu]") {
    GpuConfig config;
    config.sm.count = 6;
    config.sm.gpcs = 3;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 4096, true);
    CHECK_THROWS_WITH(run_clusters(bench, kernel_text("ret;", 1), 8, 1024, 8, {out}),
                      Catch::Contains("a GPC of this GPU holds 4 at once"));
    CHECK_NOTHROW(run_clusters(bench, kernel_text("ret;", 1), 8, 1024, 4, {out}));
}

}  // namespace heddle::models::gpu
