#include "sim/cli/other_device.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/config/gpu_names.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

namespace heddle::cli {

std::string keep_to_recorded_device(trace::Trace& trace, const trace::RecordedDevice& device,
                                    const sim::Hardware& hardware) {
    if (device.name.empty()) return {};
    const std::string recorded_on = sim::hardware_of_gpu(device.name, device.memory_bytes);
    if (recorded_on == hardware.name) return {};
    double bandwidth = 0;
    if (!recorded_on.empty())
        bandwidth =
            sim::gpu_config(sim::load_hardware(recorded_on), "recorded kernels are those of GPUs").hbm.bandwidth;
    std::size_t removed = 0, scaled = 0;
    for (trace::Op& op : trace.ops) {
        if (!op.measured_us) continue;
        const bool stands_in = op.kind == trace::OpKind::collective ||
                               (op.kind == trace::OpKind::unknown && !op.has(keys::any.assumed));
        if (!stands_in) continue;
        const double bytes = *op.measured_us * 1e-6 * bandwidth;
        op.measured_us.reset();
        ++removed;
        if (op.kind == trace::OpKind::collective || bytes < 1 || !op.inputs.empty() || !op.outputs.empty()) continue;
        trace::Tensor moved;
        moved.name = "what " + op.name + " moves at most";
        moved.type = trace::ElementType::u8;
        moved.shape = {std::llround(bytes)};
        op.inputs.push_back(trace.add(std::move(moved)));
        op.set(keys::any.assumed, fmt::format("inferred: at most the bytes that {} moves in the recorded time",
                                              recorded_on));
        ++scaled;
    }
    if (removed == 0) return {};
    return fmt::format(
        "recorded on {}: its times stand for none of {}'s; of {} ops that are not understood or communicate {} are "
        "estimated from the bytes that the recording's device moves in their time",
        device.name, hardware.name, removed, scaled);
}

}  // namespace heddle::cli
