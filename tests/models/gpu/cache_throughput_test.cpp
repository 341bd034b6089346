// Throughput of L1 hits by access pattern, against cycles recorded on an H200.
//
// Source: gpu-benches (https://github.com/te42kyfo/gpu-benches), results gpu-strides/h200.txt: cycles per
// warp load when lane i reads element i * stride, and when every lane reads a row of its own.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

/// Cycles per warp load of `bytes` per lane, lanes `stride` bytes apart, from L1.
double cycles_per_load(GpuTestBench& bench, unsigned bytes, unsigned stride) {
    const std::uint64_t buffer = bench.memory.allocate("table", 1 << 20, true);
    const auto text = [&](unsigned turns) {
        std::string body =
            "    .reg .f64 %fd<16>;\n    ld.param.u64 %rd1, [p0];\n    mov.u32 %r2, %laneid;\n    "
            "mul.wide.u32 %rd2, %r2, " +
            std::to_string(stride) + ";\n    add.u64 %rd3, %rd1, %rd2;\n    mov.u32 %r1, " +
            std::to_string(turns) + ";\nloop:\n";
        for (unsigned i = 0; i < 8; ++i) {
            const std::string target = bytes == 4 ? "f32 %f" : "f64 %fd";
            body +=
                "    ld.global." + target + std::to_string(i) + ", [%rd3+" + std::to_string(16 * i) + "];\n";
        }
        return kernel_text(
            body + "    add.s32 %r1, %r1, -1;\n    setp.ne.s32 %p1, %r1, 0;\n    @%p1 bra loop;\n", 1);
    };
    return bench.cycles_per_turn(text, 1, 1024, {buffer}, 4, 12) / (8 * 32);
}

}  // namespace

TEST_CASE("strided loads that hit L1 take the cycles recorded on an H200") {
    GpuTestBench bench;
    CHECK(cycles_per_load(bench, 4, 4) == Approx(1.01).epsilon(0.1));
    CHECK(cycles_per_load(bench, 4, 8) == Approx(2.01).epsilon(0.1));
    CHECK(cycles_per_load(bench, 4, 16) == Approx(4.01).epsilon(0.1));
    CHECK(cycles_per_load(bench, 4, 32) == Approx(8.0).epsilon(0.1));
    CHECK(cycles_per_load(bench, 4, 4 * 9) == Approx(3.0).epsilon(0.2));
    CHECK(cycles_per_load(bench, 4, 4 * 15) == Approx(4.6).epsilon(0.2));
    CHECK(cycles_per_load(bench, 4, 4 * 4098) ==
          Approx(9.3).epsilon(0.2));  // every lane in a line of its own
    CHECK(cycles_per_load(bench, 8, 8) == Approx(2.01).epsilon(0.1));
    CHECK(cycles_per_load(bench, 8, 16) == Approx(4.01).epsilon(0.1));
    CHECK(cycles_per_load(bench, 8, 8 * 8) == Approx(16.0).epsilon(0.1));
    CHECK(cycles_per_load(bench, 8, 8 * 13) == Approx(7.0).epsilon(0.2));
}

TEST_CASE("loads of neighbouring elements that miss ask for each sector once and wait together") {
    // A warp reads pieces of 16 bytes, 4 lines of them, byte by byte.
    const auto text = [](unsigned loads) {
        std::string body =
            "    ld.param.u64 %rd1, [p0];\n    mov.u32 %r1, %laneid;\n    mul.wide.u32 %rd2, %r1, 16;\n"
            "    add.u64 %rd3, %rd1, %rd2;\n    mov.u32 %r2, 0;\n";
        for (unsigned i = 0; i < loads; ++i)
            body += "    ld.global.u8 %r" + std::to_string(10 + i) + ", [%rd3+" + std::to_string(i) + "];\n";
        for (unsigned i = 0; i < loads; ++i)
            body += "    add.u32 %r2, %r2, %r" + std::to_string(10 + i) + ";\n";
        return kernel_text(body + "    st.global.u32 [%rd3], %r2;\n", 1);
    };
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("table", 4096, true);
    const KernelResult one = bench.run(text(1), 1, 32, {buffer});
    const KernelResult all = bench.run(text(16), 1, 32, {buffer});
    const auto data_sectors = [](const KernelResult& result) {
        return result.crossbar_sectors - kSectorsPerLine * (result.code_lines + result.constant_lines);
    };
    CHECK(data_sectors(one) == 16);
    CHECK(data_sectors(all) == 16);
    // 15 more loads pass L1's banks, 4 cycles each, before or after the lines come, and 15 more additions;
    // were one load to wait for another's line, it would be hundreds of cycles.
    CHECK(all.cycles > one.cycles + 15);
    CHECK(all.cycles < one.cycles + 15 * (4 + 5));
}
