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

TEST_CASE("a linked DRAM model takes the time that it says, and every byte is accounted for") {
    GpuTestBench bench(with_linked_model());
    const GpuConfig& config = bench.gpu.config();
    const std::uint64_t out = bench.memory.allocate("out", 8, true);
    const auto chase = [](unsigned turns) { return pointer_chase(turns, "cg"); };
    const std::uint64_t ring = bench.pointer_ring(2048, 16384);  // every line for the first time
    RunOptions warm;
    warm.resident = {{ring, 2048 * 16384, false}};
    const double miss = bench.cycles_per_turn(chase, 1, 1, {ring, out}, 200, 1200);
    const std::uint64_t small = bench.pointer_ring(4096, 256);
    RunOptions in_l2;
    in_l2.resident = {{small, 4096 * 256, false}};
    const double hit = bench.cycles_per_turn(chase, 1, 1, {small, out}, 200, 1200, in_l2);
    // The model's own words: 100 ns and a burst at the channel's share of the bandwidth. What else a miss
    // costs (the ways between L2 and memory, and to a line's home) is a matter of L2.
    const double memory =
        (100e-9 + config.hbm.burst_bytes / (config.hbm.bandwidth / config.hbm.channels)) * config.clock;
    CHECK(miss - hit > memory);
    CHECK(miss - hit < memory + 1.5 * config.l2.link_latency + 10);
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
