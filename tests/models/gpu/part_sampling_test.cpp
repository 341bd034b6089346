// Sampled runs on a part of the device against full ones on all of it.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "gpu_launches.h"
#include "models/gpu/sampled_gpu.h"

namespace heddle::models::gpu {
namespace {

/// Half of an H100, so that full runs are quick and a part has SMs enough.
GpuConfig half() {
    GpuConfig config;
    config.sm.count = 64;
    config.sm.gpcs = 4;
    config.l2.slices = 40;
    config.l2.bytes /= 2;
    config.hbm.channels /= 2;
    config.hbm.bandwidth /= 2;
    return config;
}

RunOptions sampled() {
    RunOptions options;
    options.sample = true;
    return options;
}

void check_alike(const KernelResult& part, const KernelResult& full) {
    CAPTURE(full.cycles, part.cycles, part.sampling.error, part.sampling.note);
    const double difference = static_cast<double>(part.cycles) / static_cast<double>(full.cycles) - 1;
    CHECK(std::abs(difference) <= part.sampling.error);
    CHECK(part.sampling.error <= 0.02);
    const auto close = [](std::uint64_t a, std::uint64_t b, double error) {
        CHECK(static_cast<double>(a) == Approx(static_cast<double>(b)).epsilon(error));
    };
    close(part.warp_instructions, full.warp_instructions, 0.005);
    close(part.machine_instructions, full.machine_instructions, 0.005);
    close(part.dram.bytes, full.dram.bytes, 0.05);
    close(part.l2.bytes, full.l2.bytes, 0.02);
    CHECK(part.ctas == full.ctas);
    CHECK(part.energy.total() == Approx(full.energy.total()).epsilon(0.02));
    std::uint64_t cycles = 0;
    for (const std::uint64_t one : part.sub_core_cycles) cycles += one;
    close(cycles, part.cycles * half().sm.count * kSubCores, 0.001);
}

}  // namespace

TEST_CASE("a part of the device has its share of all that SMs have in common", "[models_gpu_sampling]") {
    const GpuConfig whole;
    const std::optional<DevicePart> part = part_of(whole);
    REQUIRE(part);
    const GpuConfig& config = part->config;
    CHECK(check(config).empty());
    CHECK(part->share == Approx(config.sm.count / 132.0));
    CHECK(config.hbm.bandwidth == Approx(part->share * whole.hbm.bandwidth));
    CHECK(config.l2.slices * config.l2.bytes_per_cycle ==
          Approx(part->share * whole.l2.slices * whole.l2.bytes_per_cycle));
    CHECK(static_cast<double>(config.l2.bytes) ==
          Approx(part->share * static_cast<double>(whole.l2.bytes)).epsilon(0.001));
    CHECK(config.sm.gpcs * config.crossbar.gpc_response_bytes ==
          Approx(part->share * whole.sm.gpcs * whole.crossbar.gpc_response_bytes));
    CHECK(config.launch.cta_interval == Approx(whole.launch.cta_interval / part->share));
}

TEST_CASE("streams and rows of any size take as long on a part of the device", "[models_gpu_sampling]") {
    SampledGpu gpu("gpu", half());
    std::mt19937 dice(7);  // the engine alone is the same on every host
    const auto between = [&](std::uint32_t low, std::uint32_t high) {
        return low + dice() % (high - low + 1);
    };
    unsigned on_parts = 0;
    for (unsigned i = 0; i < 5; ++i) {
        const std::uint32_t elements = 4 * between(1'500'000, 2'500'000);
        const std::uint32_t columns = 4 * between(128, 384), rows = 9'000'000 / columns;
        INFO(i << ": copy of " << elements << ", softmax of " << rows << " x " << columns);
        const kernels::LibraryKernel kernel =
            i % 2 == 0 ? benchmarks::copy(elements) : benchmarks::softmax(rows, columns);
        const benchmarks::PreparedLaunch launch(kernel, ptx::Mode::timing);
        const KernelResult full = gpu.run(launch.context()), part = gpu.run(launch.context(), sampled());
        CHECK_FALSE(full.sampling.asked);
        on_parts += part.sampling.note.find("on 16 of 64 SMs") == 0 ? 1 : 0;
        check_alike(part, full);
        CHECK(gpu.run(launch.context(), sampled()).cycles == part.cycles);
    }
    CHECK(on_parts >= 3);
}

TEST_CASE("what L2 holds at the start, a part of the device holds in proportion", "[models_gpu_sampling]") {
    SampledGpu gpu("gpu", half());
    const benchmarks::PreparedLaunch launch(benchmarks::copy(8'000'000), ptx::Mode::timing);
    const std::uint64_t base = launch.context().memory->allocations()[1].base;
    RunOptions options = sampled();
    RunOptions in_full;
    // The end of what is read, as a kernel leaves it that has just written it.
    options.resident = in_full.resident = {{base + 20'000'000, 12'000'000, true}};
    const KernelResult full = gpu.run(launch.context(), in_full), part = gpu.run(launch.context(), options);
    CHECK(part.sampling.simulated < 0.3);
    check_alike(part, full);
}

TEST_CASE("products whose thread blocks share operands run on the whole device", "[models_gpu_sampling]") {
    SampledGpu gpu("gpu", half());
    const benchmarks::PreparedLaunch launch(benchmarks::gemm_mma(2048, 2048, 128), ptx::Mode::timing);
    CHECK(choose_blocks(launch.context(), 64, 0.25).obstacle == "its thread blocks use the same memory");
    const KernelResult part = gpu.run(launch.context(), sampled());
    CHECK(part.sampling.note.find("SMs") == std::string::npos);
}

}  // namespace heddle::models::gpu
