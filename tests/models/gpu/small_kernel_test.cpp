// One-shot kernels of every size, against times recorded on an H200.
//
// Source: gpu-benches (https://github.com/te42kyfo/gpu-benches), results gpu-small-kernels/h200_graph.txt and
// gpu-stream/h200.txt: 132 SMs at 1.98 GHz, kernels launched from a CUDA graph or back to back.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

/// The same chip as an H100 SXM with 4.8 TB/s of memory, of which streams get 3.89 (gpu-l2-cache/h200.txt).
GpuConfig h200() {
    GpuConfig config;
    config.hbm.bandwidth = 4.8e12;
    config.hbm.latency = 180e-9;
    config.hbm.refresh = RefreshPolicy::all_bank;
    config.hbm.timing.refi = 1.95e-6;
    config.hbm.timing.rfc = 250e-9;
    return config;
}

/// What nvcc makes of: if (i < n) a[i] = b[i] * 0.25, on doubles.
std::string scale_kernel(bool loads, bool stores) {
    std::string body = R"(
    .reg .f64 %fd<4>;
    ld.param.u64 %rd2, [p0];
    ld.param.u64 %rd3, [p1];
    ld.param.u64 %rd4, [p2];
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, %r1, %r3;
    cvt.s64.s32 %rd1, %r4;
    setp.ge.u64 %p1, %rd1, %rd4;
    @%p1 bra done;
    shl.b64 %rd6, %rd1, 3;
)";
    if (loads)
        body +=
            "    add.s64 %rd7, %rd3, %rd6;\n    ld.global.nc.f64 %fd1, [%rd7];\n    mul.f64 %fd2, %fd1, "
            "0d3FD0000000000000;\n";
    if (!loads) body += "    mov.f64 %fd2, 0d3FD0000000000000;\n";
    if (loads && !stores) body += "    setp.neu.f64 %p2, %fd2, 0d405EC00000000000;\n    @%p2 bra done;\n";
    body += "    add.s64 %rd10, %rd2, %rd6;\n    st.global.f64 [%rd10], %fd2;\ndone:\n";
    return kernel_text(body, 3);
}

}  // namespace

TEST_CASE(
    "a copy of doubles takes the time recorded on an H200, from 65 kB to 31 MB and blocks of 16 to 1024 "
    "threads") {
    GpuTestBench bench(h200());
    const std::string text = scale_kernel(true, true);
    struct Recorded {
        std::uint64_t elements;
        unsigned block;
        double gigabytes_per_second;
    };
    double sum = 0;
    int count = 0;
    for (const Recorded& r : {Recorded{4096, 16, 28},
                              {4096, 256, 29},
                              {28017, 16, 141},
                              {28017, 128, 189},
                              {111943, 16, 284},
                              {111943, 64, 560},
                              {111943, 1024, 735},
                              {447307, 16, 378},
                              {447307, 128, 1682},
                              {447307, 512, 2031},
                              {1042953, 128, 2364},
                              {1042953, 512, 3329},
                              {1930430, 256, 4218},
                              {1930430, 1024, 4187}}) {
        INFO(r.elements << " elements, blocks of " << r.block);
        const std::uint64_t bytes = r.elements * 8;
        const std::uint64_t a = bench.memory.allocate("a", bytes, false),
                            b = bench.memory.allocate("b", bytes, false);
        RunOptions options;  // the kernel before copied the other way
        options.resident = {{a, bytes, true}, {b, bytes, true}};
        const KernelResult result = bench.run(text, static_cast<unsigned>(r.elements / r.block + 1), r.block,
                                              {a, b, r.elements}, options, ptx::Mode::timing);
        const double recorded = static_cast<double>(2 * bytes) / (r.gigabytes_per_second * 1e9);
        CHECK(result.seconds == Approx(recorded).epsilon(0.09));
        sum += std::abs(result.seconds / recorded - 1);
        ++count;
    }
    CHECK(sum / count < 0.04);
}

TEST_CASE("one-shot kernels at low occupancy are bound by the turnover of their blocks as on an H200") {
    GpuTestBench bench(h200());
    struct Recorded {
        bool loads, stores;
        unsigned block;
        double gigabytes_per_second;
    };
    for (const Recorded& r : {Recorded{false, true, 32, 297},
                              {true, false, 32, 123},
                              {true, true, 32, 240},
                              {false, true, 128, 1163},
                              {true, false, 128, 485},
                              {true, true, 128, 852},
                              {true, false, 512, 1707}}) {
        INFO((r.loads ? "loads " : "") << (r.stores ? "stores " : "") << "in blocks of " << r.block);
        // Two blocks per SM, as in the recording: shared memory allows no more.
        const auto seconds = [&](unsigned turns) {
            const unsigned grid = 132 * 2 * turns;
            const std::uint64_t elements = std::uint64_t{grid} * r.block;
            const std::uint64_t a = bench.memory.allocate("a", elements * 8, false);
            const std::uint64_t b = bench.memory.allocate("b", elements * 8, true);
            const TestLaunch launch = bench.launch(scale_kernel(r.loads, r.stores), grid, r.block,
                                                   {a, b, elements}, ptx::Mode::timing, 80 << 10);
            return bench.gpu.run(launch.context).seconds;
        };
        const double bytes = 132.0 * 2 * 12 * r.block * 8 * (r.loads && r.stores ? 2 : 1);
        CHECK(bytes / (seconds(16) - seconds(4)) / 1e9 == Approx(r.gigabytes_per_second).epsilon(0.12));
    }
}
