// Cooperative launches: all thread blocks run at once, so that the grid has a barrier. The protocol of the
// barrier is that of cooperative groups: the word after the first of the workspace, of which %envreg1 and
// %envreg2 are the address, changes its top bit when all have come.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

namespace heddle::models::gpu {
namespace {

// Every block writes its number plus `rounds` words apart, waits for all, and reads the block's after it; so
// often.
std::string grid_rounds(unsigned rounds) {
    std::string body =
        "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %tid.x;\n"
        "mov.u32 %r3, %envreg1; mov.u32 %r4, %envreg2; mov.b64 %rd1, {%r4, %r3}; add.u64 %rd1, %rd1, 4;\n"
        "add.u32 %r5, %r0, 1; rem.u32 %r5, %r5, %r1; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd2, %rd0;\n"
        "mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd3, %rd0; setp.ne.u32 %p0, %r2, 0;\n"
        // What the block adds: one, or for the first the rest to the top bit.
        "sub.u32 %r6, 0x80000001, %r1; setp.eq.u32 %p1, %r0, 0; selp.b32 %r6, %r6, 1, %p1;\n"
        "@!%p0 st.global.u32 [%rd2], %r0; mov.u32 %r10, 0;\n";
    const auto barrier = [&](const std::string& label) {
        body += "barrier.sync 0; @%p0 bra " + label + "; atom.add.release.gpu.u32 %r7, [%rd1], %r6;\n" +
                label +
                "_spin: ld.acquire.gpu.u32 %r8, [%rd1]; xor.b32 %r8, %r8, %r7; setp.ge.s32 %p2, %r8, "
                "0;\n@%p2 bra " +
                label + "_spin;\n" + label + ": barrier.sync 0;\n";
    };
    body += "again:\n";
    barrier("arrive");
    body += "ld.global.u32 %r9, [%rd3];\n";
    barrier("leave");
    body += "@!%p0 st.global.u32 [%rd2], %r9; add.u32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, " +
            std::to_string(rounds) + "; @%p3 bra again; ret;";
    return kernel_text(body, 1);
}

// Where a barrier is kept decides which slice of L2 serves it, so that launches to be compared share one.
std::uint64_t workspace_in(GpuTestBench& bench) {
    ptx::LaunchContext launch;
    launch.memory = &bench.memory;
    ptx::make_cooperative(launch);
    return launch.grid_workspace;
}

GpuConfig small_gpu() {
    GpuConfig config;
    config.sm.count = 4;
    config.sm.gpcs = 2;
    return config;
}

}  // namespace

TEST_CASE("a cooperative launch has a barrier of its grid", "[models_gpu]") {
    constexpr unsigned kBlocks = 24, kRounds = 5;
    GpuTestBench bench(small_gpu());
    const std::uint64_t out = bench.memory.allocate("out", 4 * kBlocks, true);
    const std::uint64_t workspace = workspace_in(bench);
    const auto run = [&](ptx::Mode mode, bool every_cycle) {
        TestLaunch launch = bench.launch(grid_rounds(kRounds), kBlocks, 64, {out}, mode);
        launch.context.grid_workspace = workspace;
        RunOptions options;
        options.tick_every_cycle = every_cycle;
        const Cycle cycles = bench.gpu.run(launch.context, options).cycles;
        // The barrier is ready for the next launch, which may use the same workspace.
        CHECK(bench.gpu.run(launch.context, options).cycles > 0);
        return cycles;
    };
    const Cycle cycles = run(ptx::Mode::functional, false);
    std::vector<std::uint32_t> words(kBlocks);
    bench.memory.read(out, std::as_writable_bytes(std::span(words)));
    for (unsigned block = 0; block < kBlocks; ++block) CHECK(words[block] == (block + kRounds) % kBlocks);
    CHECK(run(ptx::Mode::timing, false) == cycles);
    CHECK(run(ptx::Mode::timing, true) == cycles);
    // Each of the ten barriers is at least an atomic and a load of L2, one after the other.
    CHECK(cycles > 10 * 2 * 200);
    CHECK(cycles < 40'000);
}

TEST_CASE("without a device, too", "[models_gpu]") {
    constexpr unsigned kBlocks = 300, kRounds = 2;
    GpuTestBench bench(small_gpu());
    const std::uint64_t out = bench.memory.allocate("out", 4 * kBlocks, true);
    TestLaunch launch = bench.launch(grid_rounds(kRounds), kBlocks, 64, {out});
    ptx::make_cooperative(launch.context);
    ptx::run_functionally(launch.context);
    std::vector<std::uint32_t> words(kBlocks);
    bench.memory.read(out, std::as_writable_bytes(std::span(words)));
    for (unsigned block = 0; block < kBlocks; ++block) CHECK(words[block] == (block + kRounds) % kBlocks);
    launch.context.grid = {5000, 1, 1};
    CHECK_THROWS_WITH(ptx::run_functionally(launch.context),
                      Catch::Contains("a cooperative launch of 5000 thread blocks is too large"));
}

TEST_CASE("a cooperative grid that does not fit is refused, as CUDA does", "[models_gpu]") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t out = bench.memory.allocate("out", 4096, true);
    const auto launch_of = [&](unsigned blocks, unsigned threads, unsigned cluster) {
        TestLaunch launch = bench.launch(grid_rounds(1), blocks, threads, {out});
        ptx::make_cooperative(launch.context);
        launch.context.cluster = {cluster};
        return launch;
    };
    // 4 SMs of 2 blocks of 1024 threads, or 32 of 64.
    CHECK(bench.gpu.run(launch_of(8, 1024, 1).context).cycles > 0);
    CHECK_THROWS_WITH(
        bench.gpu.run(launch_of(9, 1024, 1).context),
        Catch::Contains("a cooperative launch of 9 thread blocks is too large: this GPU runs 8 of them at "
                        "once, 2 on each of 4 SMs (limited by warps)") &&
            Catch::Contains("use a grid of at most 8 thread blocks"));
    CHECK(bench.gpu.run(launch_of(128, 64, 1).context).cycles > 0);
    CHECK_THROWS_WITH(bench.gpu.run(launch_of(129, 64, 1).context), Catch::Contains("128 of them at once"));
    // Clusters of three in GPCs of two SMs: one cluster in each.
    CHECK(bench.gpu.run(launch_of(6, 1024, 3).context).cycles > 0);
    CHECK_THROWS_WITH(bench.gpu.run(launch_of(9, 1024, 3).context), Catch::Contains("6 of them at once"));
    // An ordinary launch may be of any size.
    const TestLaunch ordinary = bench.launch(kernel_text("ret;", 0), 1000, 64, {});
    CHECK(bench.gpu.run(ordinary.context).cycles > 0);
}

TEST_CASE("a barrier of the grid in an ordinary launch is an error that says what is missing",
          "[models_gpu]") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t out = bench.memory.allocate("out", 64, true);
    const std::string text = kernel_text(
        "ld.param.u64 %rd0, [p0]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; cvt.u64.u32 %rd1, %r1;\n"
        "cvt.u64.u32 %rd2, %r2; bfi.b64 %rd1, %rd1, %rd2, 32, 32; setp.ne.u64 %p0, %rd1, 0; @%p0 bra works;\n"
        "trap;\nworks: ld.u32 %r3, [%rd1]; st.global.u32 [%rd0], %r3; ret;",
        1);
    CHECK_THROWS_WITH(bench.run(text, 1, 1, {out}),
                      Catch::Contains("the kernel executed trap") &&
                          Catch::Contains("a barrier of the grid needs a cooperative launch"));
    TestLaunch launch = bench.launch(text, 1, 1, {out});
    ptx::make_cooperative(launch.context);
    bench.gpu.run(launch.context);
    std::uint32_t bytes = 0;
    bench.memory.read(out, std::as_writable_bytes(std::span(&bytes, 1)));
    CHECK(bytes == 8);  // the size of the workspace
}

TEST_CASE("a barrier of the grid steers, and what the blocks write does not", "[models_gpu]") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t out = bench.memory.allocate("out", 4096, false);  // no values: only addresses
    TestLaunch launch = bench.launch(grid_rounds(3), 16, 64, {out}, ptx::Mode::timing);
    ptx::make_cooperative(launch.context);
    CHECK(bench.gpu.run(launch.context).cycles > 0);
    CHECK(launch.kernel->steering_writes());
    CHECK(launch.kernel->steering_reads().empty());
    CHECK(launch.kernel->skipped_writes().size() == 1);
}

TEST_CASE("a sampled run of a cooperative launch ends, within its error", "[models_gpu]") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t out = bench.memory.allocate("out", 4096, true);
    const std::uint64_t workspace = workspace_in(bench);
    const auto run = [&](bool sample) {
        TestLaunch launch = bench.launch(grid_rounds(60), 16, 64, {out}, ptx::Mode::timing);
        launch.context.grid_workspace = workspace;
        RunOptions options;
        options.sample = sample;
        return bench.gpu.run(launch.context, options);
    };
    const KernelResult whole = run(false), sampled = run(true);
    const auto cycles = static_cast<double>(whole.cycles);
    INFO(sampled.sampling.note << ", " << sampled.sampling.simulated << " simulated");
    CHECK(static_cast<double>(sampled.cycles) == Approx(cycles).epsilon(sampled.sampling.error + 1e-9));
}

}  // namespace heddle::models::gpu
