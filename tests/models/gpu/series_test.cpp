// Time series against the totals of the same kernel, which are counted without them.
#include <catch2/catch.hpp>
#include <numeric>

#include "gpu_launches.h"
#include "models/gpu/gpu.h"

namespace heddle::models::gpu {
namespace {

GpuConfig quarter() {
    GpuConfig config;
    config.sm.count = 32;
    config.sm.gpcs = 3;  // of 12, 10 and 10 SMs
    return config;
}

struct Totals {
    std::uint64_t instructions = 0, l2_sectors = 0, l2_hits = 0, dram_bytes = 0, cycles = 0;
    InstructionCycles reasons{};
    double tensor = 0, energy = 0;
};

Totals add_up(const Series& series) {
    Totals totals;
    for (const SeriesPoint& point : series.points) {
        REQUIRE(point.groups.size() == series.group_sms.size());
        totals.cycles += point.end - point.begin;
        totals.l2_sectors += point.l2_sectors;
        totals.l2_hits += point.l2_hit_sectors;
        totals.dram_bytes += point.dram_bytes;
        totals.energy += point.energy;
        // A line that the home has for another partition is found an interval later, perhaps.
        CHECK(static_cast<double>(point.l2_hit_sectors) <=
              1.01 * static_cast<double>(point.l2_load_sectors) + 64);
        for (std::size_t g = 0; g < point.groups.size(); ++g) {
            const SeriesGroup& group = point.groups[g];
            totals.instructions += group.instructions;
            totals.tensor += group.tensor_cycles;
            // Each sub-core's every cycle has one reason; an instruction of several issue slots counts at
            // once.
            std::uint64_t cycles = 0;
            for (std::size_t r = 0; r < kCycleReasonCount; ++r) {
                totals.reasons[r] += group.cycles[r];
                cycles += group.cycles[r];
            }
            const double sub_cores = series.group_sms[g] * kSubCores;
            REQUIRE(static_cast<double>(cycles) ==
                    Approx(static_cast<double>(point.end - point.begin) * sub_cores).margin(4 * sub_cores));
        }
    }
    return totals;
}

void check_totals(const kernels::LibraryKernel& kernel, const SeriesSettings& settings, std::size_t groups) {
    Gpu gpu("gpu", quarter());
    const benchmarks::PreparedLaunch launch(kernel, ptx::Mode::timing);
    const KernelResult plain = gpu.run(launch.context());
    CHECK(plain.series.points.empty());
    RunOptions options;
    options.series = settings;
    const KernelResult result = gpu.run(launch.context(), options);
    CHECK(result.cycles == plain.cycles);
    CHECK(result.sub_core_cycles == plain.sub_core_cycles);

    const Series& series = result.series;
    REQUIRE(series.group_sms.size() == groups);
    CHECK(std::accumulate(series.group_sms.begin(), series.group_sms.end(), 0u) == 32);
    REQUIRE(series.points.size() > 3);
    for (std::size_t i = 1; i < series.points.size(); ++i)
        REQUIRE(series.points[i].begin == series.points[i - 1].end);
    for (std::size_t i = 1; i + 1 < series.points.size(); ++i)
        REQUIRE(series.points[i].end - series.points[i].begin == series.interval);

    const Totals totals = add_up(series);
    CHECK(totals.cycles == plain.cycles - plain.launch_cycles);
    CHECK(totals.instructions == plain.machine_instructions);
    CHECK(totals.l2_sectors == plain.l2.sectors);
    CHECK(totals.l2_hits == plain.l2.hit_sectors);
    CHECK(totals.dram_bytes == plain.dram.bytes);
    for (std::size_t r = 0; r < kCycleReasonCount; ++r) {
        const bool around = static_cast<CycleReason>(r) == CycleReason::not_launched;
        CHECK(totals.reasons[r] ==
              plain.sub_core_cycles[r] - (around ? plain.launch_cycles * 32 * kSubCores : 0));
    }
    // Around the thread blocks' run the board takes its idle and active power alone.
    const PowerConfig& power = gpu.config().power;
    const double around =
        power.constant(gpu.config().sm.count) * static_cast<double>(plain.launch_cycles) / gpu.config().clock;
    CHECK(totals.energy + around == Approx(plain.energy.total()).epsilon(1e-9));
    if (plain.tensor_macs != 0) CHECK(totals.tensor >= plain.tensor_full_cycles * 0.999);
}

}  // namespace

TEST_CASE("a series of a product adds up to its totals, by GPC", "[models_gpu_series]") {
    check_totals(benchmarks::gemm_wgmma(1024, 1024, 1024, 32), {500, false}, 3);
}

TEST_CASE("a series of a copy adds up to its totals, by SM", "[models_gpu_series]") {
    check_totals(benchmarks::copy(1u << 20), {777, true}, 32);
}

TEST_CASE("a series of a sampled run covers what was simulated", "[models_gpu_series]") {
    Gpu gpu("gpu", quarter());
    const benchmarks::PreparedLaunch launch(benchmarks::gemm_wgmma(2048, 4096, 4096, 32), ptx::Mode::timing);
    RunOptions options;
    options.sample = true;
    const KernelResult plain = gpu.run(launch.context(), options);
    REQUIRE(plain.sampling.simulated < 0.8);
    options.series = {1000, false};
    const KernelResult result = gpu.run(launch.context(), options);
    CHECK(result.cycles == plain.cycles);
    const Totals totals = add_up(result.series);
    CHECK(static_cast<double>(totals.cycles) ==
          Approx(plain.sampling.simulated * static_cast<double>(plain.cycles))
              .margin(static_cast<double>(plain.launch_cycles) + 1));
    Cycle gaps = 0;
    const std::vector<SeriesPoint>& points = result.series.points;
    for (std::size_t i = 1; i < points.size(); ++i) gaps += points[i].begin - points[i - 1].end;
    CHECK(static_cast<double>(gaps) ==
          Approx((1 - plain.sampling.simulated) * static_cast<double>(plain.cycles)).epsilon(0.02));
}

}  // namespace heddle::models::gpu
