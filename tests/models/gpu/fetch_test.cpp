// Instruction caches, constants and register banks.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "models/gpu/instruction_fetch.h"
#include "models/gpu/register_banks.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

std::uint64_t cycles(const KernelResult& result, CycleReason reason) {
    return result.sub_core_cycles[static_cast<std::size_t>(reason)];
}

/// `count` independent additions of one warp, `turns` times.
std::string straight(unsigned count, unsigned turns) {
    std::string instructions;
    for (unsigned i = 0; i < count; ++i)
        instructions +=
            "    add.f32 %f" + std::to_string(i % 32) + ", %f" + std::to_string(i % 32) + ", %f40;\n";
    return loop_of(instructions, turns);
}

/// L2's side: what it is asked for.
class Asked : public LineRequests {
  public:
    struct Line {
        FetchKind kind;
        std::uint32_t line;
        SectorMask sectors;
        Cycle leave;
    };
    std::vector<Line> lines;
    void ask(FetchKind kind, std::uint32_t line, SectorMask sectors, Cycle leave) override {
        lines.push_back({kind, line, sectors, leave});
    }
};

/// Straight code that warps of one thread block on one SM come to without the launch having fetched it.
KernelResult cold(const GpuConfig& changed, unsigned count) {
    GpuConfig config = changed;
    config.instruction_cache.launch_prefetch = 0;
    return GpuTestBench(config).run(straight(count, 1), 1, 32, {});
}

}  // namespace

TEST_CASE("a stream of lines comes in time, a jump waits for the next cache") {
    InstructionCacheConfig config;
    config.latency = 79;
    config.miss_latency = 24;
    config.return_latency = 10;
    config.stream_buffer = 8;
    config.launch_prefetch = 64 * kInstructionLineBytes;
    Asked l2;
    InstructionFetch fetch;
    fetch.begin(config, 256, 4, l2);
    CHECK(fetch.fetch(0, 0, 1000) == 1079);
    // The next eight lines were asked for with it, one per cycle.
    for (std::uint32_t line = 1; line <= 8; ++line) CHECK(fetch.fetch(0, line, 1100) <= 1100);
    CHECK(fetch.fetch(0, 0, 1200) <= 1200);   // kept
    CHECK(fetch.fetch(0, 32, 2000) == 2079);  // a jump
    CHECK(fetch.fetch(1, 32, 3000) == 3079);  // another sub-core has a cache of its own
    CHECK(l2.lines.empty());
    CHECK(fetch.fetch(0, 200, 4000) == kPendingCycle);
    CHECK(fetch.fetch(1, 200, 4100) == kPendingCycle);  // under way
    REQUIRE(l2.lines.size() == 9);  // and the eight that follow, once
    for (unsigned i = 0; i < 9; ++i) {
        CHECK(l2.lines[i].line == 200 + i);
        CHECK(l2.lines[i].sectors == kWholeLine);
        CHECK(l2.lines[i].leave == 4024 + i);
    }
    CHECK(fetch.arrive(200, 4230) == 4240);
    CHECK(fetch.fetch(0, 200, 4235) == 4240);
    CHECK(fetch.fetch(1, 200, 4300) == 4240);  // whoever waited has it
    CHECK(fetch.fetch(2, 200, 5000) == 5079);  // L1 has it now
    CHECK(fetch.fetch(0, 201, 4240) == kPendingCycle);
    fetch.arrive(201, 4250);
    CHECK(fetch.fetch(0, 201, 4300) == 4260);
}

TEST_CASE("code that no cache of the SM holds comes from L2 as a load does") {
    // A load from L2 takes 264 cycles on an H800 at the H100's latencies (dissection), and a first touch of a
    // page asks the GPC.
    GpuConfig config;
    config.instruction_cache.stream_buffer = 0;
    const KernelResult result = cold(config, 8 * 64);
    const double lines = static_cast<double>(result.code_lines);
    CHECK(lines >= 64);
    CHECK(lines <= 80);  // and what comes before the loop
    CHECK(static_cast<double>(cycles(result, CycleReason::instruction_fetch)) / lines ==
          Approx(264).epsilon(0.05));
    CHECK(result.l2.requests == result.code_lines);
    CHECK(result.l2.sectors == 4 * result.code_lines);
    CHECK(result.dram.bytes == 0);
    CHECK(result.crossbar_sectors == result.l2.sectors);
}

TEST_CASE("lines that several SMs of a GPC fetch at once cost L2 one request") {
    GpuConfig config;
    config.sm.count = 8;
    config.sm.gpcs = 1;
    config.instruction_cache.launch_prefetch = 0;
    GpuTestBench bench(config);
    const KernelResult result = bench.run(straight(8 * 64, 1), 8, 32, {});
    CHECK(result.code_lines >= 8 * 64);
    CHECK(result.l2.requests < result.code_lines / 4);
    CHECK(result.crossbar_sectors == 4 * result.code_lines);
}

TEST_CASE("code that the launch has fetched asks nothing of L2, more than L1 holds asks again") {
    GpuConfig config;
    config.instruction_cache.l1_bytes = 16 << 10;
    GpuTestBench bench(config);
    CHECK(bench.run(straight(512, 3), 1, 32, {}).code_lines == 0);
    const unsigned lines = 2 * (16 << 10) / kInstructionLineBytes;
    const KernelResult large = bench.run(straight(lines * kLineInstructions, 3), 1, 32, {});
    CHECK(large.code_lines > 2 * lines);
    CHECK(large.dram.bytes == 0);
}

TEST_CASE("parameters that the launch does not bring near come from L2, and their wait has its reason") {
    GpuConfig config;
    config.constant_cache.parameters_prefetched = false;
    const KernelResult far = GpuTestBench(config).run(
        kernel_text("    ld.param.u64 %rd1, [p0];\n    add.u64 %rd2, %rd1, 1;\n    ret;\n", 1), 1, 32, {7});
    CHECK(far.constant_lines >= 1);
    CHECK(cycles(far, CycleReason::constant_miss) >= 200);
}

TEST_CASE("a loop that fits the cache costs nothing after its first turn, one that does not always") {
    GpuConfig config;
    config.sm.count = 2;
    config.l2.partitions = 1;
    config.sm.gpcs = 1;
    config.instruction_cache.l0_bytes = 4 << 10;  // 256 instructions
    GpuTestBench bench(config);
    const auto turn = [&](unsigned count) {
        return bench.cycles_per_turn([&](unsigned turns) { return straight(count, turns); }, 1, 32, {}, 4,
                                     8) /
               count;
    };
    const double fits = turn(192), large = turn(2048);
    CHECK(fits == Approx(1).epsilon(0.15));  // one per cycle, and the branch
    // Eight lines ahead come every 79 cycles at the most: 64 instructions take 79 cycles and a little.
    CHECK(large > 1.15);
    CHECK(large < 1.6);
}

TEST_CASE("without the caches of instructions and constants nothing waits for them") {
    GpuConfig config;
    config.instruction_cache.enabled = config.constant_cache.enabled = config.register_banks.enabled = false;
    GpuTestBench bench(config);
    const KernelResult result = bench.run(straight(512, 1), 1, 128, {});
    CHECK(cycles(result, CycleReason::instruction_fetch) == 0);
    CHECK(cycles(result, CycleReason::constant_miss) == 0);
    CHECK(cycles(result, CycleReason::register_read) == 0);
}

TEST_CASE("large straight code waits for instructions, and every cycle still has one reason") {
    GpuConfig config;
    config.instruction_cache.launch_prefetch = 0;
    GpuTestBench bench(config);
    const KernelResult result = bench.run(straight(4096, 1), 1, 128, {});
    CHECK(cycles(result, CycleReason::instruction_fetch) > 4 * 264);
    std::uint64_t sum = 0;
    for (const std::uint64_t c : result.sub_core_cycles) sum += c;
    CHECK(sum == result.cycles * config.sm.count * 4);
}

TEST_CASE("read ports of the register banks hold up what the MICRO 2025 paper's Listing 1 saw") {
    // FFMA of R10, R12, R14 (all even), then one of R16 and two more: both odd 0, one even 1, both even 2
    // cycles of bubbles.
    const std::array<std::uint8_t, 2> even{3, 0};
    for (const unsigned more : {0u, 1u, 2u}) {
        RegisterPorts ports;
        CHECK(ports.read(even, 100) == 0);
        const auto second = static_cast<std::uint8_t>(1 + more);
        CHECK(ports.read({second, static_cast<std::uint8_t>(2 - more)}, 101) == more);
    }
    RegisterPorts rest;
    CHECK(rest.read({3, 0}, 10) == 0);
    CHECK(rest.read({0, 0}, 11) == 0);  // reads nothing
    CHECK(rest.read({3, 0}, 13) == 0);  // three cycles later
}

TEST_CASE("constants of different addresses come one after another") {
    GpuTestBench bench;
    const auto text = [](const std::string& address) {
        return [address](unsigned turns) {
            return ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 table[4096];\n"
                   ".visible .entry kernel()\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p1;\n"
                   "mov.u32 %r1, " +
                   std::to_string(turns) + ";\nmov.u32 %r2, %laneid;\nmov.u64 %rd1, table;\n" + address +
                   "cvt.u64.u32 %rd2, %r3;\nadd.u64 %rd3, %rd1, %rd2;\nloop:\nld.const.u32 %r4, [%rd3];\n"
                   "cvt.u64.u32 %rd4, %r4;\nadd.u64 %rd3, %rd3, %rd4;\nadd.s32 %r1, %r1, -1;\n"
                   "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra loop;\nret;\n}\n";
        };
    };
    const double one = bench.cycles_per_turn(text("mov.u32 %r3, 0;\n"), 1, 32, {}, 4, 12);
    const double all = bench.cycles_per_turn(text("shl.b32 %r3, %r2, 2;\n"), 1, 32, {}, 4, 12);
    CHECK(all - one == Approx(31 * GpuConfig().constant_cache.address_interval).margin(1));
    CHECK(one >= 29);
}
