#include "sim/sass/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/gpu/gpu_machine.h"
#include "sim/gpu/settle/power_limit.h"
#include "sim/sass/kernel_name.h"

namespace heddle::sass {
namespace {

sim::KernelResult kernel_of(const TraceEntry& entry, double gap_seconds) {
    sim::KernelResult kernel;
    if (entry.kind == TraceEntry::Kind::host_to_device) {
        kernel.name = kernel.kind = "copy from host";
        kernel.op_name = fmt::format("copy from host, {} bytes", entry.copied_bytes);
        kernel.bytes = static_cast<double>(entry.copied_bytes);
        kernel.time_us = entry.seconds * 1e6;
        kernel.bound_by = "host";
        kernel.fidelity = sim::Fidelity::estimated;
        return kernel;
    }
    kernel.name = readable_name(entry.name);
    kernel.kind = function_name(entry.name);
    kernel.recorded_kernel = entry.name;
    const auto count = [](const std::uint32_t(&size)[3]) {
        return std::uint64_t{size[0]} * size[1] * size[2];
    };
    kernel.op_name = fmt::format("{} {}x{}", kernel.kind, count(entry.grid), count(entry.block));
    // As of every launch: what a profiler does not count as the kernel's lies before it.
    kernel.gap_us = std::min(gap_seconds, entry.seconds) * 1e6;
    kernel.time_us = entry.seconds * 1e6 - kernel.gap_us;
    kernel.cycles = entry.cycles;
    kernel.warp_instructions = entry.warp_instructions;
    std::copy(std::begin(entry.grid), std::end(entry.grid), kernel.grid);
    std::copy(std::begin(entry.block), std::end(entry.block), kernel.block);
    kernel.registers_per_thread = entry.registers_per_thread;
    kernel.shared_bytes = entry.shared_bytes;
    kernel.ctas_per_sm = entry.ctas_per_sm;
    kernel.dram_bytes = entry.dram_read_bytes + entry.dram_write_bytes;
    kernel.l2_bytes = entry.l2.bytes;
    kernel.bound_by = entry.bound_by;
    kernel.time_by_reason = entry.time_by_reason;
    kernel.utilisation = entry.utilisation;
    kernel.energy = entry.energy;
    kernel.throughputs = entry.throughputs;
    kernel.series = entry.series;
    return kernel;
}

void add_to_group(const sim::KernelResult& kernel, std::map<std::string, sim::OpSummary>& groups) {
    sim::OpSummary& group = groups[kernel.op_name];
    if (group.count++ == 0) {
        group.name = kernel.op_name;
        group.kind = kernel.kind;
        group.bound_by = kernel.bound_by;
        group.fidelity = kernel.fidelity;
    }
    group.time_us += kernel.time_us;
    group.bytes += kernel.bytes;
}

}  // namespace

sim::RunResult run_result(const TraceRun& run, const sim::Hardware& hardware) {
    sim::RunResult result;
    result.workload = workload_name(run.list);
    result.hardware = hardware.name;
    result.hardware_description = hardware.description;
    result.clock_hz = sim::gpu_config(hardware).clock;
    result.power_limit = sim::gpu_config(hardware).power.limit;
    std::map<std::string, sim::OpSummary> groups;
    std::map<std::string, double> seconds_at_ceiling;
    double now_us = 0;
    for (const TraceEntry& entry : run.entries) {
        sim::KernelResult kernel = kernel_of(entry, sim::gpu_config(hardware).launch.gap);
        now_us += kernel.gap_us;
        kernel.start_us = now_us;
        now_us += kernel.time_us;
        result.launch_gap_us += kernel.gap_us;
        const bool copy = entry.kind == TraceEntry::Kind::host_to_device;
        (copy ? result.communication_us : result.device_busy_us) += kernel.time_us;
        for (const auto& [resource, fraction] : kernel.utilisation)
            result.utilisation[resource] += fraction * kernel.time_us;
        for (const auto& [part, joules] : kernel.energy) result.energy[part] += joules;
        if (!kernel.energy.empty()) result.energy_time_us += kernel.time_us + kernel.gap_us;
        for (const auto& [name, one] : kernel.throughputs) {
            sim::Throughput& sum = result.throughputs[name];
            sum.unit = one.unit;
            sum.amount += one.amount;
            seconds_at_ceiling[name] += one.amount / one.ceiling;
        }
        add_to_group(kernel, groups);
        result.simulation.warp_instructions += kernel.warp_instructions;
        if (!copy) ++result.simulation.kernels_simulated;
        result.kernels.push_back(std::move(kernel));
    }
    result.step_time_us = result.device_busy_us + result.launch_gap_us + result.communication_us;
    for (auto& [name, sum] : result.throughputs)
        sum.ceiling = seconds_at_ceiling[name] > 0 ? sum.amount / seconds_at_ceiling[name] : 0;
    for (auto& [resource, sum] : result.utilisation) sum /= std::max(result.device_busy_us, 1e-9);
    for (auto& [name, group] : groups) result.ops.push_back(std::move(group));
    std::stable_sort(result.ops.begin(), result.ops.end(),
                     [](const auto& a, const auto& b) { return a.time_us > b.time_us; });
    result.coverage.cycle = result.device_busy_us > 0 ? 1 : 0;
    result.notes = run.notes;
    const sim::PowerDraw draw = sim::power_draw(sim::gpu_config(hardware).power, sim::gpu_config(hardware).sm.count,
                                                sim::mean_power(result), result.clock_hz);
    if (const std::string excess = describe_excess(draw); !excess.empty()) result.notes.push_back(excess);
    result.simulation.wall_s = run.wall_seconds;
    result.simulation.workers = run.workers;
    return result;
}

std::string workload_name(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path file = fs::absolute(path).lexically_normal();
    if (file.extension() == ".g") {
        const fs::path folder = file.parent_path();
        const bool inner = folder.filename() == "traces" && folder.has_parent_path();
        const std::string name = (inner ? folder.parent_path() : folder).filename();
        return name.empty() ? "traces" : name;
    }
    const std::string name = file.filename();
    return name.substr(0, name.find(".trace"));
}

}  // namespace heddle::sass
