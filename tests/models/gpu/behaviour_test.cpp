// What must hold whatever the numbers: determinism, complete reset, conservation, deadlock reports.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <numeric>

#include "gpu_test_bench.h"
#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

GpuConfig small_gpu() {
    GpuConfig config;
    config.sm.count = 6;
    config.l2.slices = 8;
    config.l2.bytes = 1 << 20;
    config.hbm.channels = 4;
    config.hbm.bandwidth = 3.35e11;
    return config;
}

/// Loads through a table of indices, shared memory with barriers, divergence, atomics, a fence: something of
/// everything.
const char* const kMixed = R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.lo.u32 %r5, %r4, 2654435761;
    shr.u32 %r5, %r5, 14;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r6, [%rd4];
    mov.u32 %r7, smem;
    mul.lo.u32 %r8, %r3, 4;
    add.u32 %r7, %r7, %r8;
    st.shared.u32 [%r7], %r6;
    bar.sync 0;
    mov.u32 %r9, smem;
    xor.b32 %r8, %r8, 124;
    add.u32 %r9, %r9, %r8;
    ld.shared.u32 %r10, [%r9];
    and.b32 %r11, %r4, 3;
    add.u32 %r11, %r11, 1;
loop:
    mad.lo.u32 %r10, %r10, %r10, %r6;
    add.s32 %r11, %r11, -1;
    setp.ne.s32 %p1, %r11, 0;
    @%p1 bra loop;
    mul.wide.u32 %rd5, %r4, 4;
    add.u64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r10;
    membar.gl;
    and.b32 %r12, %r3, 7;
    setp.eq.u32 %p2, %r12, 0;
    @%p2 red.global.add.u32 [%rd2], 1;
    @%p2 atom.global.add.u32 %r13, [%rd2+4], %r10;
    bar.sync 0;
)";

struct Mixed {
    GpuTestBench bench{small_gpu()};
    std::uint64_t table = bench.memory.allocate("table", 4u << 18, true);
    std::uint64_t out = bench.memory.allocate("out", 64 * 128 * 4, true);
    std::string text = kernel_text(kMixed, 2, 512);

    KernelResult run(bool every_cycle = false, ptx::Mode mode = ptx::Mode::functional) {
        std::vector<std::byte> zeros(64 * 128 * 4);
        bench.memory.write(out, zeros);
        RunOptions options;
        options.tick_every_cycle = every_cycle;
        if (every_cycle) options.window = 1;
        return bench.run(text, 64, 128, {table, out}, options, mode);
    }
};

void require_same(const KernelResult& a, const KernelResult& b) {
    CHECK(a.cycles == b.cycles);
    CHECK(a.warp_instructions == b.warp_instructions);
    CHECK(a.machine_instructions == b.machine_instructions);
    CHECK(a.sub_core_cycles == b.sub_core_cycles);
    CHECK(a.l1.sectors == b.l1.sectors);
    CHECK(a.l1.hit_sectors == b.l1.hit_sectors);
    CHECK(a.l2.requests == b.l2.requests);
    CHECK(a.l2.hit_sectors == b.l2.hit_sectors);
    CHECK(a.dram_read_bytes == b.dram_read_bytes);
    CHECK(a.dram_row_hits == b.dram_row_hits);
    CHECK(a.achieved_occupancy == b.achieved_occupancy);
}

}  // namespace

TEST_CASE("looking at every block in every cycle changes nothing") {
    Mixed mixed;
    const KernelResult normal = mixed.run();
    const KernelResult every_cycle = mixed.run(true);
    require_same(normal, every_cycle);
    // 64 CTAs of 4 warps; 32 instructions and a loop of 4 whose longest lane makes 4 turns.
    CHECK(normal.warp_instructions == 64u * 4 * (32 + 4 * 4));
}

TEST_CASE("machines with next to nothing of everything neither hang nor depend on skipped cycles") {
    // All machines of this test are made before the one elaboration.
    std::vector<std::unique_ptr<GpuTestBench>> benches;
    for (unsigned variant = 0; variant < 6; ++variant) {
        GpuConfig config = small_gpu();
        config.sm.count = 2 + variant % 3;
        config.sm.scheduler = static_cast<SchedulerPolicy>(variant % 3);
        config.l1.mshrs = 64;
        config.l1.stores = 64;
        config.l1.ways = 1 + variant % 4;
        config.load_store.queue = 1 + variant % 3;
        config.l2.slices = variant % 2 == 0 ? 2 : 3;
        config.l2.partitions = config.l2.slices;  // every line has copies
        config.crossbar.coalescer = variant % 3 * 4;
        config.hbm.channels = 1;
        config.l2.bytes = config.l2.slices * 128 * 4 * 2;
        config.l2.ways = 2;
        config.l2.mshrs = 1 + variant;
        config.l2.write_backs = 1 + variant;
        config.hbm.pseudo_channels = 1u << variant % 3;
        config.hbm.bank_groups = 1u << variant % 2;
        config.hbm.banks = 1u << variant % 4;
        config.hbm.read_queue = 1 + variant;
        config.hbm.write_queue = config.hbm.write_high = 1 + variant % 4;
        config.hbm.batch = 1 + variant;
        config.hbm.row_policy = static_cast<RowPolicy>(variant % 3);
        config.hbm.refresh = static_cast<RefreshPolicy>((variant + 1) % 3);
        config.hbm.bandwidth = 2e10;
        config.hbm.burst_bytes = 32u << variant % 3;
        config.crossbar.latency = 20 + variant;
        config.l2.link_latency = 1 + variant * 7;
        benches.push_back(std::make_unique<GpuTestBench>(config));
    }
    for (auto& bench : benches) {
        INFO("variant " << &bench - benches.data());
        const std::uint64_t table = bench->memory.allocate("table", 4u << 18, true);
        const std::uint64_t out = bench->memory.allocate("out", 64 * 128 * 4, true);
        RunOptions options;
        const KernelResult normal = bench->run(kernel_text(kMixed, 2, 512), 24, 128, {table, out}, options);
        std::vector<std::byte> zeros(64 * 128 * 4);
        bench->memory.write(out, zeros);
        options.tick_every_cycle = true;
        require_same(normal, bench->run(kernel_text(kMixed, 2, 512), 24, 128, {table, out}, options));
        CHECK(normal.warp_instructions == 24u * 4 * (32 + 4 * 4));
        const std::uint64_t asked = normal.l2.sectors - normal.l2_store_sectors - normal.atomic_sectors / 2;
        if (bench->gpu.config().crossbar.coalescer == 0)
            CHECK(normal.crossbar_sectors == asked);
        else
            CHECK(normal.crossbar_sectors >= asked);  // some are answered by another SM's
    }
}

TEST_CASE("functional and timing mode take the same cycles") {
    Mixed mixed;
    require_same(mixed.run(), mixed.run(false, ptx::Mode::timing));
}

TEST_CASE("a kernel takes the same time before and after others, and after an error") {
    Mixed mixed;
    const KernelResult first = mixed.run();
    const std::uint64_t buffer = mixed.bench.memory.allocate("stream", 1 << 22, false);
    mixed.bench.run(streaming_write(4, 65536), 256, 256, {buffer}, {}, ptx::Mode::timing);
    require_same(first, mixed.run());
    mixed.bench.run(streaming_read(4, 65536, "ca"), 256, 256, {buffer}, {}, ptx::Mode::timing);
    require_same(first, mixed.run());
    RunOptions limited;
    limited.limit = 300;
    REQUIRE_THROWS_AS(mixed.bench.run(mixed.text, 64, 128, {mixed.table, mixed.out}, limited), heddle::Error);
    require_same(first, mixed.run());
    // SMs that had no thread block are as those that had one.
    const auto one_block = [&] { return mixed.bench.run(mixed.text, 1, 128, {mixed.table, mixed.out}); };
    const KernelResult small = one_block();
    require_same(small, one_block());
    require_same(first, mixed.run());
    require_same(small, one_block());
}

TEST_CASE("every cycle of every sub-core has one reason") {
    Mixed mixed;
    const KernelResult result = mixed.run();
    const std::uint64_t sum =
        std::accumulate(result.sub_core_cycles.begin(), result.sub_core_cycles.end(), std::uint64_t{0});
    CHECK(sum == result.cycles * 6 * 4);
    CHECK(result.sub_core_cycles[0] == result.machine_instructions);
}

TEST_CASE("an SM without a thread block is not launched, one whose blocks are done has no warp") {
    // One block on one of six SMs: the other five wait in vain from the first cycle to the last.
    Mixed mixed;
    const KernelResult result = mixed.bench.run(mixed.text, 1, 128, {mixed.table, mixed.out});
    const auto cycles = [&](CycleReason reason) {
        return result.sub_core_cycles[static_cast<std::size_t>(reason)];
    };
    const std::uint64_t latency = mixed.bench.gpu.config().launch.cta_latency;
    CHECK(cycles(CycleReason::not_launched) >= (result.cycles * 5 + result.launch_cycles + latency) * 4);
    CHECK(cycles(CycleReason::not_launched) < (result.cycles * 5 + result.launch_cycles + 2 * latency) * 4);
    CHECK(cycles(CycleReason::no_warp) < result.cycles);
}

TEST_CASE("sectors asked for are sectors delivered, level by level") {
    Mixed mixed;
    const KernelResult r = mixed.run();
    const std::uint64_t loads = r.l1.sectors - r.l1_store_sectors;
    CHECK(r.l2_store_sectors == r.l1_store_sectors);
    CHECK(r.l1_store_sectors == 64u * 128 * 4 / 32);
    // What L1 does not have comes over the crossbar, merged or not; atomics with a result come back too.
    CHECK(r.crossbar_sectors <= loads - r.l1.hit_sectors + r.atomic_sectors);
    CHECK(r.crossbar_sectors == r.l2.sectors - r.l2_store_sectors - r.atomic_sectors / 2);
    CHECK(r.dram_read_bytes % 64 == 0);
}

TEST_CASE("the values are those of a run without time") {
    Mixed mixed;
    std::vector<std::byte> table(4u << 18), timed(64 * 128 * 4), untimed(64 * 128 * 4);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::byte>(i * 2654435761u >> 13);
    mixed.bench.memory.write(mixed.table, table);
    mixed.run();
    mixed.bench.memory.read(mixed.out, timed);
    std::vector<std::byte> zeros(64 * 128 * 4);
    mixed.bench.memory.write(mixed.out, zeros);
    ptx::run_functionally(mixed.bench.launch(mixed.text, 64, 128, {mixed.table, mixed.out}).context);
    mixed.bench.memory.read(mixed.out, untimed);
    // Words 0 and 1 are the atomics' and also plain results: their order is free.
    CHECK(std::equal(timed.begin() + 8, timed.end(), untimed.begin() + 8));
}

TEST_CASE("a barrier that not all warps reach is reported with who waits") {
    GpuTestBench bench(small_gpu());
    const std::string text = kernel_text(R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bar.sync 1, 64;
    bar.sync 0;
)",
                                         0);
    REQUIRE_THROWS_WITH(bench.run(text, 4, 64, {}), Catch::Contains("hangs") && Catch::Contains("warp"));
    // and the GPU is usable afterwards
    CHECK(bench.run(kernel_text("", 0), 4, 64, {}).warp_instructions == 8);
}

TEST_CASE("CTAs go breadth first: as many CTAs as SMs take the time of one") {
    GpuTestBench bench(small_gpu());
    const std::string text = loop_of("    fma.rn.f32 %f0, %f0, %f1, %f2;\n", 500);
    const auto body = [&](unsigned grid) {
        const KernelResult r = bench.run(text, grid, 512, {});
        return static_cast<double>(r.cycles - r.launch_cycles);
    };
    const double one = body(1);
    CHECK(body(6) == Approx(one).epsilon(0.01));
    // 4 CTAs of 512 threads fit; the loop leaves most issue slots free, so they share the SM; the 25th needs
    // another wave.
    CHECK(body(25) > body(24) + 0.4 * one);
}

TEST_CASE("asynchronous copies overlap, and waiting for a group waits for its copies only") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t buffer = bench.memory.allocate("source", 1 << 20, true);
    const auto copies = [](unsigned groups_left) {
        return kernel_text(R"(
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r2, smem;
    mul.lo.u32 %r3, %r1, 16;
    add.u32 %r4, %r2, %r3;
    cp.async.cg.shared.global [%r4], [%rd3], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r4+512], [%rd3+65536], 16;
    cp.async.commit_group;
    cp.async.wait_group )" + std::to_string(groups_left) +
                               ";\n",
                           1, 1024);
    };
    RunOptions options;
    options.resident = {{buffer, 4096, false}};  // the first copy hits L2, the second goes to memory
    const auto body = [&](unsigned groups_left) {
        const KernelResult r = bench.run(copies(groups_left), 1, 32, {buffer}, options);
        return static_cast<double>(r.cycles - r.launch_cycles);
    };
    // The CTA ends only when all its copies have arrived, so the waits differ in the stall, not in the end.
    CHECK(body(0) == Approx(body(1)).margin(20));
    const KernelResult wait_all = bench.run(copies(0), 1, 32, {buffer}, options);
    const KernelResult wait_one = bench.run(copies(1), 1, 32, {buffer}, options);
    const auto memory = static_cast<std::size_t>(CycleReason::memory);
    // 1 warp: L2 hit 264 cycles against DRAM 376 ns-cycles more
    CHECK(wait_all.sub_core_cycles[memory] - wait_one.sub_core_cycles[memory] > 300);
    CHECK(wait_all.dram_read_bytes == 512);
}

TEST_CASE("local memory lives in L1: a private array costs L1 latency, and its lanes share lines") {
    GpuTestBench bench(small_gpu());
    const auto text = [](unsigned turns) {
        return kernel_text(R"(
    .local .align 4 .b8 stack[256];
    mov.u64 %rd1, stack;
    mov.u32 %r1, )" + std::to_string(turns) +
                               R"(;
    mov.u32 %r2, 0;
    st.local.u32 [%rd1], %r2;
loop:
    ld.local.u32 %r3, [%rd1];
    add.s32 %r1, %r1, -1;
    setp.ne.s32 %p1, %r1, 0;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.local.u32 %r4, [%rd1];
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd1, %rd1, %rd3;
    @%p1 bra loop;
)",
                           0);
    };
    // The chain: twice a load of 32 cycles, a multiplication of 4 and a 64-bit addition of two operations of
    // 4; the branch adds its latency beyond the addition's.
    CHECK(bench.cycles_per_turn(text, 1, 32, {}, 20, 120) == Approx(2 * (32 + 4 + 8) + 4).margin(2));
    const KernelResult result = bench.run(text(100), 1, 32, {});
    CHECK(result.l2.requests == 0);
    CHECK(result.l1.requests == 201);  // one line for the 32 lanes
    CHECK(result.l1.sectors == 4 * 201);
}

TEST_CASE("atomics on one address go one after another in L2, on many addresses together") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t counters = bench.memory.allocate("counters", 4 << 20, true);
    const auto text = [](unsigned stride) {
        std::string body =
            "    ld.param.u64 %rd1, [p0];\n    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    "
            "mov.u32 %r3, %tid.x;\n"
            "    mad.lo.u32 %r4, %r1, %r2, %r3;\n    mul.wide.u32 %rd2, %r4, " +
            std::to_string(stride) + ";\n    add.u64 %rd3, %rd1, %rd2;\n";
        for (int i = 0; i < 8; ++i) body += "    red.global.add.u32 [%rd3], 1;\n";
        return kernel_text(body, 1);
    };
    RunOptions warm;
    warm.resident = {{counters, 1 << 19, false}};
    const auto body = [&](unsigned stride) {
        const KernelResult r = bench.run(text(stride), 12, 256, {counters}, warm);
        return static_cast<double>(r.cycles - r.launch_cycles);
    };
    // 12 x 256 x 8 additions to one word, one per cycle in one slice; spread out, a line of them takes 4
    // cycles in each of 8 slices.
    const double additions = 12 * 256 * 8;
    CHECK(body(0) == Approx(additions).epsilon(0.06));
    CHECK(body(4) < additions / 8);
    std::uint32_t count = 0;
    std::vector<std::byte> bytes(4);
    bench.memory.read(counters, bytes);
    std::memcpy(&count, bytes.data(), 4);
    CHECK(count == 12 * 256 * 8 + 8);
}
