// Energy: counted by hand for a kernel whose instructions are known, and against the power of a real board.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

/// 256 threads per block; every thread performs `count` FFMAs that depend on one another, and one store.
std::string fused_multiply_adds(unsigned count) {
    std::string body = "ld.param.u64 %rd0, [p0]; mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f3F800000;\n";
    for (unsigned i = 0; i < count; ++i) body += "fma.rn.f32 %f0, %f0, %f1, %f1;\n";
    return kernel_text(body + "st.global.f32 [%rd0], %f0; ret;", 1);
}

}  // namespace

TEST_CASE("1,000 more FFMAs of a warp cost 1,000 instructions and 1,000 FP32 operations", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t out = bench.memory.allocate("out", 256, true);
    const KernelResult few = bench.run(fused_multiply_adds(100), 132, 256, {out});
    const KernelResult many = bench.run(fused_multiply_adds(1100), 132, 256, {out});
    const PowerConfig power;  // at 1980 MHz, the clock of the bench
    const double warps = 132 * 8;
    CHECK(many.energy.instructions - few.energy.instructions ==
          Approx(warps * 1000 * (power.instruction + power.fp32)));
    CHECK(many.energy.idle + many.energy.leakage + many.energy.active ==
          Approx((power.idle + 132 * power.leakage + power.active) * many.seconds));
    CHECK(many.energy.dram == Approx(few.energy.dram));
    CHECK(many.energy.total() > few.energy.total());
}

TEST_CASE("a memory-bound kernel draws more than an idle board and less than its limit", "[models_gpu]") {
    GpuTestBench bench;
    constexpr unsigned kBlock = 256, kGrid = 132 * 8 * 4, kChunks = 4;
    const std::uint64_t threads = std::uint64_t{kGrid} * kBlock;
    const std::uint64_t buffer = bench.memory.allocate("stream", threads * kChunks * 16, false);
    const KernelResult result =
        bench.run(streaming_read(kChunks, threads, "nc"), kGrid, kBlock, {buffer}, {}, ptx::Mode::timing);
    const PowerConfig power;
    CHECK(result.energy.dram == Approx(power.dram_byte * static_cast<double>(result.dram_read_bytes)));
    CHECK(result.mean_power() > power.constant(132));
    CHECK(result.mean_power() < power.limit);
    double sum = 0;
    for (const auto& [name, joules] : result.energy.parts()) sum += joules;
    CHECK(sum == Approx(result.energy.total()));
}

TEST_CASE("at a lower clock the same work takes less dynamic energy, by the square", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t out = bench.memory.allocate("out", 256, true);
    const KernelResult fast = bench.run(fused_multiply_adds(500), 132, 256, {out});
    bench.gpu.set_clock(0.99e9);
    const KernelResult slow = bench.run(fused_multiply_adds(500), 132, 256, {out});
    CHECK(slow.energy.instructions == Approx(fast.energy.instructions / 4));
    CHECK(slow.energy.active > fast.energy.active);
}
