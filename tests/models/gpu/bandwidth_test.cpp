// Streaming rates of the whole GPU, against measured ones.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

TEST_CASE("a streaming read gets 90 to 93 per cent of an H100's memory bandwidth") {
    GpuTestBench bench;
    constexpr unsigned kBlock = 256, kGrid = 132 * 8 * 8, kChunks = 4;
    const std::uint64_t threads = std::uint64_t{kGrid} * kBlock;
    const std::uint64_t bytes = threads * kChunks * 16;  // 138 MB, of which beginning and end are little
    const std::uint64_t buffer = bench.memory.allocate("stream", bytes, false);
    const KernelResult result =
        bench.run(streaming_read(kChunks, threads, "nc"), kGrid, kBlock, {buffer}, {}, ptx::Mode::timing);
    CHECK(result.dram_read_bytes == bytes);
    CHECK(result.bound_by == "dram bandwidth");
    // Measured on H100 SXM: 3.0 TB/s and a little more of 3.35.
    const double body = static_cast<double>(result.cycles - result.launch_cycles) / bench.gpu.config().clock;
    CHECK(static_cast<double>(bytes) / body / 3.35e12 == Approx(0.915).margin(0.02));
}

TEST_CASE("reading what L2 holds gets 9.7 TB/s") {
    // Measured on an H200, the same chip as an H100 SXM (gpu-benches, gpu-l2-cache, 132 SMs at 1.98 GHz): 9.6
    // to 9.9 TB/s for buffers of 10 to 40 MB, and 6.9 TB/s on the 114 SMs of an H100 PCIe.
    GpuTestBench bench;
    constexpr unsigned kBlock = 1024, kGrid = 132 * 2;
    const std::uint64_t threads = std::uint64_t{kGrid} * kBlock;
    const auto body = [&](unsigned chunks) {
        const std::uint64_t bytes = threads * chunks * 16;
        const std::uint64_t buffer = bench.memory.allocate("stream", bytes, false);
        RunOptions warm;
        warm.resident = {{buffer, bytes, false}};
        const KernelResult result = bench.run(streaming_read(chunks, threads, "cg"), kGrid, kBlock, {buffer},
                                              warm, ptx::Mode::timing);
        CHECK(result.dram_read_bytes == 0);
        CHECK(result.l2.hit_sectors == bytes / 32);
        return result.seconds;
    };
    // 13 MB more in the same run: without its beginning and end.
    const double bytes = static_cast<double>(threads) * 3 * 16;
    CHECK(bytes / (body(5) - body(2)) / 1e12 == Approx(9.75).epsilon(0.06));
}

TEST_CASE("a streaming write is absorbed by L2 while it fits and gets memory's pace beyond") {
    GpuTestBench bench;
    constexpr unsigned kBlock = 256, kGrid = 132 * 8 * 4, kChunks = 8;
    const std::uint64_t threads = std::uint64_t{kGrid} * kBlock;
    const std::uint64_t bytes = threads * kChunks * 16;  // 138 MB
    const std::uint64_t buffer = bench.memory.allocate("stream", bytes, false);
    const KernelResult result =
        bench.run(streaming_write(kChunks, threads), kGrid, kBlock, {buffer}, {}, ptx::Mode::timing);
    CHECK(result.l2_store_sectors == bytes / 32);
    CHECK(result.dram_read_bytes == 0);
    // What L2 does not hold at the end has been written back.
    CHECK(static_cast<double>(result.dram_write_bytes) ==
          Approx(static_cast<double>(bytes) - 50 * (1 << 20)).epsilon(0.05));
    const double body = static_cast<double>(result.cycles - result.launch_cycles) / bench.gpu.config().clock;
    CHECK(static_cast<double>(result.dram_write_bytes) / body < 3.35e12);
}

TEST_CASE("an empty kernel takes 2 to 2.5 microseconds") {
    GpuTestBench bench;
    const KernelResult result = bench.run(kernel_text("", 0), 132, 128, {});
    CHECK(result.seconds == Approx(2.25e-6).margin(0.25e-6));
    CHECK(result.bound_by == "launch");
    CHECK(result.warp_instructions == 132 * 4);
}
