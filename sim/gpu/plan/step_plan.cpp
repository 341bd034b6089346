#include "sim/gpu/plan/step_plan.h"

#include <algorithm>
#include <set>

namespace heddle::sim {
namespace {

/// By launch, what it does with the buffers that its arguments name. A launch reads what its op reads, writes
/// what its op makes, and writes workspace that no launch of its op named before; later ones read that.
std::vector<LaunchUse> uses_of(const trace::Trace& trace, const lowering::GpuLowering& lowered) {
    std::vector<bool> of_tensor(lowered.program.buffers.size());
    for (const program::BufferId buffer : lowered.buffer_of_tensor) of_tensor[buffer] = true;
    std::vector<LaunchUse> uses;
    uses.reserve(lowered.program.launches.size());
    std::set<program::BufferId> workspace;  // that launches of this op have named
    for (std::size_t i = 0; i < lowered.program.launches.size(); ++i) {
        const program::KernelLaunch& launch = lowered.program.launches[i];
        if (i > 0 && lowered.program.launches[i - 1].op != launch.op) workspace.clear();
        const trace::Op& op = trace.ops.at(launch.op);
        LaunchUse use;
        for (const trace::TensorId id : op.inputs) use.reads.insert(lowered.buffer_of_tensor.at(id));
        for (const trace::TensorId id : op.outputs) use.writes.insert(lowered.buffer_of_tensor.at(id));
        for (const program::Argument& argument : launch.arguments) {
            const std::optional<program::BufferId> buffer = program::buffer_of(argument);
            if (!buffer || of_tensor[*buffer]) continue;
            (workspace.count(*buffer) != 0 ? use.reads : use.writes).insert(*buffer);
        }
        workspace.insert(use.writes.begin(), use.writes.end());
        uses.push_back(std::move(use));
    }
    return uses;
}

}  // namespace

std::vector<PlannedLaunch> plan_step(const trace::Trace& trace, const lowering::GpuLowering& lowered,
                                     const models::gpu::GpuConfig& config, ptx::Assembly assembly) {
    const bool recorded = std::any_of(trace.ops.begin(), trace.ops.end(),
                                      [](const trace::Op& op) { return op.measured_us.has_value(); });
    if (!recorded) return plan_launches(lowered.program, config.l2.bytes_per_partition(), assembly);
    return plan_launches(
        lowered.program,
        L2InUse{config.l2.bytes_per_partition(), config.l2.partitions, uses_of(trace, lowered)}, assembly);
}

}  // namespace heddle::sim
