// A neighbour that is the mirror image of the device: bandwidth, latency and values through the link.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "isa/common/error.h"

namespace heddle::models::gpu {
namespace {

GpuConfig linked(double bandwidth = 450e9, double latency = 500e-9, double header = 32) {
    GpuConfig config;
    config.peer = {bandwidth, latency, header};
    return config;
}

std::uint64_t peer(std::uint64_t address) { return address + ptx::kPeerDistance; }

double seconds(const GpuTestBench& bench, const KernelResult& result) {
    return static_cast<double>(result.cycles - result.launch_cycles) / bench.gpu.config().clock;
}

}  // namespace

TEST_CASE("stores to a neighbour and loads from it pass the link's bandwidth, headers included", "[models_gpu]") {
    GpuTestBench bench(linked());
    constexpr unsigned kGrid = 264, kBlock = 256, kChunks = 16;
    constexpr std::uint64_t kThreads = std::uint64_t{kGrid} * kBlock, kBytes = kThreads * kChunks * 16;
    const std::uint64_t buffer = bench.memory.allocate("buffer", kBytes, true);
    bench.memory.mirror();
    const double rate = 450e9 * 128 / (128 + 32);
    const double stores = kBytes / seconds(bench, bench.run(streaming_write(kChunks, kThreads), kGrid, kBlock, {peer(buffer)}));
    CHECK(stores < rate);
    CHECK(stores > 0.9 * rate);
    const double loads = kBytes / seconds(bench, bench.run(streaming_read(kChunks, kThreads, "cg"), kGrid, kBlock, {peer(buffer)}));
    CHECK(loads < rate);
    CHECK(loads > 0.9 * rate);
    // Its own memory is as near as ever.
    const double own = kBytes / seconds(bench, bench.run(streaming_write(kChunks, kThreads), kGrid, kBlock, {buffer}));
    CHECK(own > 2 * rate);
}

TEST_CASE("a load from a neighbour takes the way there and back longer", "[models_gpu]") {
    GpuTestBench bench(linked());
    const std::uint64_t sink = bench.memory.allocate("sink", 256, true);
    constexpr std::uint64_t kElements = 512, kStride = 4096;
    const std::uint64_t near = bench.pointer_ring(kElements, kStride);
    // The same ring, whose pointers lead through the neighbour's memory.
    const std::uint64_t far = bench.pointer_ring(kElements, kStride);
    for (std::uint64_t i = 0; i < kElements; ++i) {
        const std::uint64_t next = peer(far + (i + 1) % kElements * kStride);
        bench.memory.write(far + i * kStride, std::as_bytes(std::span(&next, 1)));
    }
    bench.memory.mirror();
    const auto latency = [&](std::uint64_t first) {
        const auto cycles = [&](unsigned turns) {
            return static_cast<double>(bench.run(pointer_chase(turns, "cg"), 1, 1, {first, sink}).cycles);
        };
        return (cycles(400) - cycles(200)) / 200;
    };
    const double packets = 96 / 450e9;  // a request's header, an answer with a sector and its header
    CHECK(latency(peer(far)) - latency(near) == Approx((2 * 500e-9 + packets) * bench.gpu.config().clock).margin(12));
}

TEST_CASE("what is stored to a neighbour comes from the image", "[models_gpu]") {
    GpuTestBench bench(linked());
    const std::uint64_t mine = bench.memory.allocate("mine", 256, true), result = bench.memory.allocate("result", 256, true);
    bench.memory.mirror();
    // Every thread stores its number to the neighbour, and waits for that of its image.
    const std::string text = kernel_text(
        "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2];"
        "add.u64 %rd4, %rd1, %rd0; add.u64 %rd5, %rd2, %rd0; add.u64 %rd6, %rd3, %rd0; add.u32 %r1, %r0, 7;"
        "st.volatile.global.u32 [%rd5], %r1; again: ld.volatile.global.u32 %r2, [%rd4]; setp.eq.u32 %p0, %r2, 0; @%p0 bra again;"
        "st.global.u32 [%rd6], %r2; ret;",
        3);
    const KernelResult run = bench.run(text, 1, 32, {mine, peer(mine), result});
    CHECK(seconds(bench, run) > 500e-9);
    std::array<std::uint32_t, 32> values{};
    bench.memory.read(result, std::as_writable_bytes(std::span(values)));
    for (std::uint32_t i = 0; i < 32; ++i) CHECK(values[i] == i + 7);
    // Copies of a memory have images of their own.
    ptx::GlobalMemory copy = bench.memory;
    copy.mirror_again();
    const std::uint32_t other = 99;
    copy.write(peer(mine), std::as_bytes(std::span(&other, 1)));
    std::uint32_t seen = 0;
    copy.read(mine, std::as_writable_bytes(std::span(&seen, 1)));
    CHECK(seen == 99);
    bench.memory.read(mine, std::as_writable_bytes(std::span(&seen, 1)));
    CHECK(seen == 7);
}

TEST_CASE("a device without a link has no neighbour", "[models_gpu]") {
    GpuTestBench bench(linked(0));
    const std::uint64_t buffer = bench.memory.allocate("buffer", 4096, true);
    bench.memory.mirror();
    CHECK_THROWS_WITH(bench.run(streaming_write(1, 32), 1, 32, {peer(buffer)}), Catch::Contains("no link to others"));
}

}  // namespace heddle::models::gpu
