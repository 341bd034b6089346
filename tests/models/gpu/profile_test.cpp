// Cycles by instruction: nothing is lost, and those that wait are the ones that wait.
#include <catch2/catch.hpp>
#include <numeric>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

RunOptions profiled() {
    RunOptions options;
    options.profile = true;
    return options;
}

std::uint64_t cycles(const InstructionCycles& row, CycleReason reason) {
    return row[static_cast<std::size_t>(reason)];
}

}  // namespace

TEST_CASE("cycles by instruction add up to those of the sub-cores, reason by reason", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("buffer", 1 << 20, true);
    const std::string text = kernel_text(
        "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r0, 4; "
        "add.u64 %rd1, %rd1, %rd0; ld.global.f32 %f0, [%rd1];\n"
        "bar.sync 0; mul.f32 %f1, %f0, %f0; mul.f32 %f2, %f1, %f1; ex2.approx.f32 %f2, %f2; st.global.f32 "
        "[%rd1], %f2; "
        "ret;",
        1);
    const KernelResult plain = bench.run(text, 300, 256, {buffer});
    const KernelResult result = bench.run(text, 300, 256, {buffer}, profiled());
    CHECK(plain.profile.empty());
    CHECK(result.cycles == plain.cycles);
    REQUIRE(!result.profile.empty());
    for (std::size_t r = 0; r < kCycleReasonCount; ++r) {
        std::uint64_t sum = 0;
        for (const InstructionCycles& row : result.profile) sum += row[r];
        const auto reason = static_cast<CycleReason>(r);
        const bool no_warp = reason == CycleReason::no_warp || reason == CycleReason::not_launched;
        CHECK(sum == (no_warp ? 0 : result.sub_core_cycles[r]));
        CHECK(result.sub_core_cycles[r] == plain.sub_core_cycles[r]);
    }
}

TEST_CASE("the instruction that uses a load waits for it, not the load", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("buffer", 4096, true);
    // 0 ld.param, 1 ld.global, 2 mul that uses it, 3 store, 4 ret
    const std::string text = kernel_text(
        "ld.param.u64 %rd0, [p0]; ld.global.f32 %f0, [%rd0]; mul.f32 %f1, %f0, %f0; st.global.f32 [%rd0], "
        "%f1; ret;",
        1);
    const KernelResult result = bench.run(text, 1, 32, {buffer}, profiled());
    CHECK(cycles(result.profile[2], CycleReason::memory) > 500);  // DRAM
    CHECK(cycles(result.profile[1], CycleReason::memory) < 100);
    CHECK(cycles(result.profile[2], CycleReason::issued) == 1);
}
