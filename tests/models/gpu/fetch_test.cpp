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

}  // namespace

TEST_CASE("a stream of lines comes in time, a jump waits for the next cache") {
    InstructionCacheConfig config;
    config.latency = 79;
    config.l2_latency = 200;
    config.stream_buffer = 8;
    config.launch_prefetch = 64 * kInstructionLineBytes;
    InstructionFetch fetch;
    fetch.begin(config, 256, 4);
    CHECK(fetch.fetch(0, 0, 1000) == 1079);
    // The next eight lines were asked for with it, one per cycle.
    for (std::uint32_t line = 1; line <= 8; ++line) CHECK(fetch.fetch(0, line, 1100) <= 1100);
    CHECK(fetch.fetch(0, 0, 1200) <= 1200);    // kept
    CHECK(fetch.fetch(0, 32, 2000) == 2079);   // a jump
    CHECK(fetch.fetch(1, 32, 3000) == 3079);   // another sub-core has a cache of its own
    CHECK(fetch.fetch(0, 200, 4000) == 4279);  // from L2
    CHECK(fetch.fetch(1, 200, 5000) == 5079);  // L1 has it now
    CHECK(fetch.l1_misses() >= 9);
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
