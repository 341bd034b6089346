// Sustained rates of the pipelines, against published figures.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

/// Instructions per cycle and SM of one kind: `line(i)` is the i-th of 256, which depend on one another only
/// when their numbers are equal modulo 16.
double rate(GpuTestBench& bench, const std::function<std::string(unsigned)>& line) {
    std::string instructions;
    for (unsigned i = 0; i < 256; ++i) instructions += line(i);
    const double turn = bench.cycles_per_turn([&](unsigned turns) { return loop_of(instructions, turns); }, 1,
                                              1024, {}, 2, 6);
    return 32 * 256 / turn;  // 32 warps
}

std::string f(unsigned i) {
    return "%f" + std::to_string(i);
}
std::string r(unsigned i) {
    return "%r" + std::to_string(i);
}

}  // namespace

TEST_CASE("pipelines of an H100 reach the throughput of the CUDA programming guide") {
    GpuTestBench bench;
    // Results per cycle and SM, compute capability 9.0 (CUDA C++ Programming Guide, "Arithmetic
    // Instructions").
    CHECK(32 * rate(bench,
                    [](unsigned i) {
                        return "    fma.rn.f32 " + f(i % 16) + ", " + f(i % 16) + ", " + f(40) + ", " +
                               f(41) + ";\n";
                    }) ==
          Approx(128).epsilon(0.05));
    CHECK(32 * rate(bench,
                    [](unsigned i) {
                        return "    mad.lo.s32 " + r(12 + i % 16) + ", " + r(12 + i % 16) + ", " + r(40) +
                               ", " + r(41) + ";\n";
                    }) ==
          Approx(64).epsilon(0.05));
    CHECK(32 * rate(bench,
                    [](unsigned i) {
                        return "    ex2.approx.ftz.f32 " + f(i % 16) + ", " + f(i % 16) + ";\n";
                    }) ==
          Approx(16).epsilon(0.05));
}

namespace {

std::string mma(unsigned i) {
    const unsigned d = 4 * (i % 8);
    const std::string accumulators = "{" + f(d) + "," + f(d + 1) + "," + f(d + 2) + "," + f(d + 3) + "}";
    return "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + accumulators +
           ", {%r11,%r12,%r13,%r14}, {%r15,%r16}, " + accumulators + ";\n";
}

}  // namespace

TEST_CASE("mma.sync reaches 66 % of an H100's peak") {
    GpuTestBench bench;
    // 989.4 TFLOP/s / (132 SMs x 1.83 GHz x 2) = 2048 multiply-accumulates per cycle
    CHECK(2048 * rate(bench, mma) == Approx(0.66 * 2048).epsilon(0.03));
    std::string eight;
    for (unsigned i = 0; i < 8; ++i) eight += mma(i);
    const KernelResult result = bench.run(loop_of(eight, 200), 132, 256, {});
    CHECK(result.tensor_macs == 132ull * 8 * 8 * 200 * 2048);
    CHECK(result.bound_by == "tensor");
}

TEST_CASE("mma.sync on an A100 reaches its peak") {
    GpuConfig a100;
    a100.tensor.f16 = 1024;  // 312 TFLOP/s / (108 SMs x 1.41 GHz x 2)
    a100.tensor.mma_sync_efficiency = 1;
    a100.compute_capability = 80;
    a100.sm.count = 108;
    GpuTestBench bench(a100);
    CHECK(2048 * rate(bench, mma) == Approx(1024).epsilon(0.03));
}
