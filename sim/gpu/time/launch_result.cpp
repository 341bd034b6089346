#include "sim/gpu/time/launch_result.h"

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

/// Thread blocks of a launch for each that the GPU has room for.
double waves_of(const ptx::Dim3& grid, const LaunchOutcome& outcome, std::uint32_t sms) {
    const double blocks = static_cast<double>(grid.x) * grid.y * grid.z;
    return outcome.ctas_per_sm == 0 ? 1 : blocks / (static_cast<double>(outcome.ctas_per_sm) * sms);
}

}  // namespace

KernelResult kernel_result(const std::string& name, const ptx::Dim3& grid, const ptx::Dim3& block,
                           const LaunchOutcome& outcome, const models::gpu::GpuConfig& config,
                           std::uint64_t overlap) {
    KernelResult kernel;
    kernel.name = name;
    const double beside_us = outcome.seconds * 1e6 * static_cast<double>(overlap) /
                             std::max(1.0, static_cast<double>(outcome.cycles));
    kernel.gap_us = std::max(0.0, config.launch.gap * 1e6 - beside_us);
    kernel.time_us = outcome.seconds * 1e6 - beside_us - kernel.gap_us;
    kernel.overlap_cycles = overlap;
    kernel.cycles = outcome.cycles;
    kernel.warp_instructions = outcome.warp_instructions;
    kernel.grid[0] = grid.x;
    kernel.grid[1] = grid.y;
    kernel.grid[2] = grid.z;
    kernel.block[0] = block.x;
    kernel.block[1] = block.y;
    kernel.block[2] = block.z;
    kernel.registers_per_thread = outcome.registers_per_thread;
    kernel.shared_bytes = outcome.shared_bytes;
    kernel.ctas_per_sm = outcome.ctas_per_sm;
    kernel.waves = waves_of(grid, outcome, config.sm.count);
    kernel.dram_bytes = outcome.dram_bytes;
    kernel.l2_bytes = outcome.l2_bytes;
    kernel.l2_hit_rate = outcome.l2_hit_rate;
    kernel.bound_by = outcome.bound_by;
    kernel.time_by_reason = outcome.time_by_reason;
    kernel.utilisation = outcome.utilisation;
    kernel.energy = outcome.energy;
    kernel.throughputs = outcome.throughputs;
    kernel.sampled = outcome.sampled;
    kernel.series = outcome.series;
    return kernel;
}

LaunchOutcome outcome_of(models::gpu::KernelResult result, std::uint64_t shared_bytes) {
    LaunchOutcome outcome;
    outcome.cycles = result.cycles;
    outcome.dependents_start = result.dependents_start;
    outcome.seconds = result.seconds;
    outcome.warp_instructions = result.warp_instructions;
    outcome.registers_per_thread = result.registers_per_thread;
    outcome.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
    outcome.ctas_per_sm = result.ctas_per_sm;
    outcome.dram_bytes = static_cast<double>(result.dram_read_bytes + result.dram_write_bytes);
    outcome.l2_bytes = static_cast<double>(result.l2.bytes);
    const double loaded = static_cast<double>(result.l2.sectors) -
                          static_cast<double>(result.l2_store_sectors + result.atomic_sectors);
    if (loaded > 0) outcome.l2_hit_rate = std::min(1.0, static_cast<double>(result.l2.hit_sectors) / loaded);
    outcome.bound_by = result.bound_by;
    double total = 0;
    for (const std::uint64_t cycles : result.sub_core_cycles) total += static_cast<double>(cycles);
    for (std::size_t i = 0; i < result.sub_core_cycles.size() && total > 0; ++i) {
        outcome.time_by_reason[models::gpu::name_of(static_cast<models::gpu::CycleReason>(i))] =
            static_cast<double>(result.sub_core_cycles[i]) / total;
    }
    for (const auto& [resource, fraction] : result.utilisation) outcome.utilisation[resource] = fraction;
    for (const auto& [part, joules] : result.energy.parts()) outcome.energy[part] = joules;
    for (const models::gpu::Throughput& one : result.throughputs)
        outcome.throughputs[one.name] = {one.unit, one.amount, one.ceiling};
    if (result.sampling.asked)
        outcome.sampled = {result.sampling.simulated, result.sampling.error, result.sampling.note};
    if (result.series.interval != 0)
        outcome.series = std::make_shared<const models::gpu::Series>(std::move(result.series));
    return outcome;
}

}  // namespace heddle::sim
