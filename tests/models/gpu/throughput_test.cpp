// Sustained rates of the pipelines, against published figures.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

/// Instructions per cycle and SM of one kind: `line(i)` is the i-th of 32 independent ones.
double rate(GpuTestBench& bench, const std::function<std::string(unsigned)>& line) {
    std::string instructions;
    for (unsigned i = 0; i < 32; ++i) instructions += line(i);
    const double turn = bench.cycles_per_turn([&](unsigned turns) { return loop_of(instructions, turns); }, 1,
                                              1024, {}, 10, 40);
    return 32 * 32 / turn;  // 32 warps
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
                        return "    fma.rn.f32 " + f(i) + ", " + f(i) + ", " + f(40) + ", " + f(41) + ";\n";
                    }) ==
          Approx(128).epsilon(0.05));
    CHECK(32 * rate(bench,
                    [](unsigned i) {
                        return "    mad.lo.s32 " + r(12 + i % 16) + ", " + r(12 + i % 16) + ", " + r(40) +
                               ", " + r(41) + ";\n";
                    }) ==
          Approx(64).epsilon(0.05));
    CHECK(
        32 * rate(bench, [](unsigned i) { return "    ex2.approx.ftz.f32 " + f(i) + ", " + f(i) + ";\n"; }) ==
        Approx(16).epsilon(0.05));
}

TEST_CASE("mma.sync reaches 66 % of an H100's peak and all of an A100's") {
    const auto mma = [](unsigned i) {
        const unsigned d = 4 * (i % 8);
        const std::string acc = "{" + f(d) + "," + f(d + 1) + "," + f(d + 2) + "," + f(d + 3) + "}";
        return "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + acc +
               ", {%r11,%r12,%r13,%r14}, {%r15,%r16}, " + acc + ";\n";
    };
    GpuConfig a100;
    a100.tensor.f16 = 1024;  // 312 TFLOP/s on 108 SMs at 1.41 GHz
    a100.tensor.mma_sync_efficiency = 1;
    a100.compute_capability = 80;
    const GpuConfig config;
    for (const GpuConfig* machine : {&config}) {
        GpuTestBench bench(*machine);
        const double macs_per_cycle = 2048 * rate(bench, mma);
        // 0.66 of 989.4 TFLOP/s / (132 SMs x 1.83 GHz x 2) = 2048 multiply-accumulates per cycle
        CHECK(macs_per_cycle == Approx(0.66 * 2048).epsilon(0.03));
        const KernelResult result =
            bench.run(loop_of(mma(0) + mma(1) + mma(2) + mma(3) + mma(4) + mma(5) + mma(6) + mma(7), 200),
                      132, 256, {});
        CHECK(result.tensor_macs == 132ull * 8 * 8 * 200 * 2048);
        CHECK(result.bound_by == "tensor");
    }
}

TEST_CASE("mma.sync on an A100 reaches its peak") {
    GpuConfig a100;
    a100.tensor.f16 = 1024;  // 312 TFLOP/s / (108 SMs x 1.41 GHz x 2)
    a100.tensor.mma_sync_efficiency = 1;
    a100.compute_capability = 80;
    a100.sm.count = 108;
    GpuTestBench bench(a100);
    const auto mma = [](unsigned i) {
        const unsigned d = 4 * (i % 8);
        const std::string acc = "{" + f(d) + "," + f(d + 1) + "," + f(d + 2) + "," + f(d + 3) + "}";
        return "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + acc +
               ", {%r11,%r12,%r13,%r14}, {%r15,%r16}, " + acc + ";\n";
    };
    CHECK(2048 * rate(bench, mma) == Approx(1024).epsilon(0.03));
}
