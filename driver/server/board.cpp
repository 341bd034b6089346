// What a monitor would read of the board: memory, power and how busy it has been.
#include <algorithm>
#include <cmath>

#include "driver/server/virtual_gpu.h"

namespace heddle::driver {
namespace {

std::uint32_t percent(double share) {
    return static_cast<std::uint32_t>(std::lround(100 * std::clamp(share, 0.0, 1.0)));
}

}  // namespace

// A copy of the timeline is settled, so that to look changes nothing.
void VirtualGpu::board(Reader& content, Answer& answer) {
    const auto device = content.get<std::uint32_t>();
    const sim::RunResult result = DeviceTimeline(timeline(device << kDeviceShift)).result("", hardware_);
    const models::gpu::GpuConfig& config = machine_.config;
    const double total_us = result.division.total_us;
    const double idle = config.power.idle + config.power.leakage * config.sm.count;
    double watts = idle, busy = 0, memory = 0;
    if (total_us > 0) {
        double joules = idle * std::max(0.0, total_us - result.energy_time_us) * 1e-6;
        for (const auto& [part, of_part] : result.energy) joules += of_part;
        watts = joules / (total_us * 1e-6);
        busy = result.division.kernels_us / total_us;
        const auto dram = result.utilisation.find("dram");
        if (dram != result.utilisation.end()) memory = dram->second * busy;
    }
    BoardState state{};
    state.memory_bytes = machine_.step.memory_bytes;
    state.free_bytes = machine_.step.memory_bytes - machine_.step.context_bytes - used_bytes_;
    state.power_limit_mw = static_cast<std::uint32_t>(std::lround(config.power.limit * 1e3));
    state.power_mw = static_cast<std::uint32_t>(std::lround(std::min(watts, config.power.limit) * 1e3));
    state.busy_percent = percent(busy);
    state.memory_percent = percent(memory);
    answer.content.put(state);
}

}  // namespace heddle::driver
