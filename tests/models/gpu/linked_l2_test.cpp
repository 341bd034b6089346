// An L2 model that is linked, not loaded: L2Config::make_model, with examples/l2-model, beside Heddle's own.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "models/memory/l2_plugin.h"

namespace heddle::models::gpu {
namespace {

GpuConfig small() {
    GpuConfig config;
    config.sm.count = 8;
    config.sm.gpcs = 2;
    config.l2.slices = 16;
    config.l2.partitions = 1;
    config.l2.bytes = 4 << 20;
    config.hbm.channels = 8;
    return config;
}

/// Every access takes so many cycles longer.
GpuConfig with_linked_model(unsigned extra) {
    GpuConfig config = small();
    config.l2.make_model = [extra](const char* name, L2ModelSettings settings) {
        settings.latency += extra;
        settings.fill_latency += extra;
        return std::shared_ptr<L2Model>(heddle_make_l2(name, &settings));
    };
    return config;
}

}  // namespace

namespace {

/// Cycles of a load in a chain, on Heddle's own L2, on the model with the same latencies, and with longer ones.
struct Latencies {
    double own, same, slow;
};
Latencies chase(std::uint64_t elements, std::uint64_t stride) {
    // SystemC elaborates once: all before the first run.
    GpuTestBench own(small(), "own"), same(with_linked_model(0), "same"), slow(with_linked_model(300), "slow");
    const auto turn = [&](GpuTestBench& bench) {
        const std::uint64_t out = bench.memory.allocate("out", 8, true);
        return bench.cycles_per_turn([](unsigned turns) { return pointer_chase(turns, "cg"); }, 1, 1,
                                     {bench.pointer_ring(elements, stride), out}, 400, 1400);
    };
    return {turn(own), turn(same), turn(slow)};
}

}  // namespace

TEST_CASE("hits of a linked L2 model take the time that it says") {
    const Latencies latencies = chase(64, 128);  // after the first round
    CHECK(latencies.same - latencies.own >= 0);
    CHECK(latencies.same - latencies.own <= 2);
    CHECK(latencies.slow - latencies.same == Approx(300).margin(1.5));
}

TEST_CASE("misses of a linked L2 model take the time that it says") {
    const Latencies latencies = chase(2048, 16384);  // every line for the first time
    CHECK(latencies.same - latencies.own >= 0);
    CHECK(latencies.same - latencies.own <= 5);
    CHECK(latencies.slow - latencies.same == Approx(300).margin(6));
}

TEST_CASE("a linked L2 model moves the same bytes in nearly the same time") {
    GpuTestBench own(small(), "own"), same(with_linked_model(0), "same");
    constexpr unsigned kChunks = 16;
    constexpr std::uint64_t kThreads = 16 * 1024, kBytes = kThreads * kChunks * 16;
    const auto run = [&](GpuTestBench& bench, const std::string& text, const RunOptions& options = {}) {
        const std::uint64_t buffer = bench.memory.allocate("buffer", kBytes, true);
        return bench.run(text, 64, 256, {buffer}, options, ptx::Mode::timing);
    };
    const std::string read = streaming_read(kChunks, kThreads, "cg"),
                      write = streaming_write(kChunks, kThreads);
    for (const std::string& text : {read, write}) {
        const KernelResult of_own = run(own, text), of_same = run(same, text);
        CHECK(of_same.warp_instructions == of_own.warp_instructions);
        CHECK(of_same.l2.sectors == of_own.l2.sectors);
        CHECK(of_same.dram_read_bytes == of_own.dram_read_bytes);
        // The port of Heddle's slices is slower for stores (l2.write_cost), which this model does not know.
        if (text == read) CHECK(static_cast<double>(of_same.cycles) == Approx(of_own.cycles).epsilon(0.05));
    }
    // What a kernel before has left there is no matter for memory.
    RunOptions options;
    const std::uint64_t base = same.memory.allocate("there", 1 << 20, true);
    options.resident.push_back({base, 1 << 20, false});
    const std::string once = streaming_read(4, kThreads, "cg");
    CHECK(same.run(once, 64, 256, {base}, options, ptx::Mode::timing).dram_read_bytes == 0);
    CHECK(same.run(once, 64, 256, {base}, {}, ptx::Mode::timing).dram_read_bytes == 1 << 20);
    // A sampled run is one in full.
    options.sample = true;
    const KernelResult sampled = run(same, read, options);
    CHECK(sampled.sampling.note == "simulated in full: l2.model is not looked into");
    // The same twice: nothing is left behind.
    CHECK(run(same, write).cycles == run(same, write).cycles);
}

TEST_CASE("atomics are performed in a linked L2 model") {
    GpuTestBench same(with_linked_model(0), "same");
    const std::uint64_t counter = same.memory.allocate("counter", 128, true);
    const std::string text = kernel_text(
        "ld.param.u64 %rd0, [p0]; mov.u32 %r0, 1; atom.global.add.u32 %r1, [%rd0], %r0; "
        "red.global.add.u32 [%rd0], %r1; ret;",
        1);
    const KernelResult result = same.run(text, 16, 128, {counter});
    CHECK(result.atomic_sectors == 2 * 16 * 4);
    CHECK(result.cycles > 0);
}

}  // namespace heddle::models::gpu
