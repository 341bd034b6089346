// A DRAM model that is linked, not loaded: MemoryConfig::make_model.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "models/memory/dram_plugin.h"

namespace heddle::models::gpu {
namespace {

/// With examples/dram-model in place of the memory: 100 ns after the last byte, channel by channel.
GpuConfig with_linked_model() {
    GpuConfig config;
    config.sm.count = 16;
    config.sm.gpcs = 1;
    config.hbm.make_model = [](const char* name, const DramModelSettings& settings) {
        return std::shared_ptr<DramModel>(heddle_make_dram(name, &settings));
    };
    return config;
}

}  // namespace

TEST_CASE("a linked DRAM model takes the time that it says") {
    GpuTestBench bench(with_linked_model());
    const GpuConfig& config = bench.gpu.config();
    const std::uint64_t out = bench.memory.allocate("out", 8, true);
    const auto chase = [](unsigned turns) { return pointer_chase(turns, "cg"); };
    const std::uint64_t ring = bench.pointer_ring(2048, 16384);  // every line for the first time
    const double fast = bench.cycles_per_turn(chase, 1, 1, {ring, out}, 200, 1200);
    bench.gpu.set_clock(config.clock / 2);
    const double slow = bench.cycles_per_turn(chase, 1, 1, {ring, out}, 200, 1200);
    // Everything else counts cycles; the model's own words are in seconds: 100 ns, and 64 bytes at the
    // channel's share of the bandwidth.
    const double seconds = 100e-9 + 64 / (config.hbm.bandwidth / config.hbm.channels);
    CHECK(fast - slow == Approx(seconds * 0.99e9).margin(1.5));
}

TEST_CASE("a linked DRAM model limits streams to its bandwidth", "[models_gpu]") {
    GpuConfig config = with_linked_model();
    config.hbm.bandwidth = 2e11;
    GpuTestBench bench(config);
    constexpr std::uint64_t kThreads = 16 * 1024;
    constexpr unsigned kChunks = 32;
    const std::uint64_t bytes = kThreads * kChunks * 16;
    const std::uint64_t from = bench.memory.allocate("from", bytes, true);
    const KernelResult result =
        bench.run(streaming_read(kChunks, kThreads, "cg"), 16, 1024, {from}, {}, ptx::Mode::timing);
    CHECK(result.dram_read_bytes == bytes);
    const double seconds = static_cast<double>(result.cycles - result.launch_cycles) / config.clock;
    CHECK(static_cast<double>(bytes) / seconds < 2e11);
    CHECK(static_cast<double>(bytes) / seconds > 0.85 * 2e11);
}

}  // namespace heddle::models::gpu
