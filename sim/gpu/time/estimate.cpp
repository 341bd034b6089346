#include "sim/gpu/time/estimate.h"

#include <algorithm>

#include "workloads/trace/trace.h"

namespace heddle::sim {
namespace {

/// Peak rate of the unit that the op would use, in floating-point operations per second.
double peak_rate(const trace::Trace& trace, const trace::Op& op, const models::gpu::GpuConfig& config) {
    const double per_sm_cycle = [&] {
        const bool half = !op.inputs.empty() && trace::bytes_of(trace.tensor(op.inputs[0]).type) == 2;
        return trace::is_product(op.kind) && half ? 2 * config.tensor.f16
                                                  : 256.0;  // 128 fused multiply-adds a cycle
    }();
    return per_sm_cycle * config.sm.count * config.clock;
}

}  // namespace

KernelResult estimate_on_gpu(const trace::Trace& trace, const trace::Op& op,
                             const models::gpu::GpuConfig& config, const std::string& reason) {
    KernelResult kernel;
    kernel.name = reason;
    kernel.gap_us = 1e6 * config.launch.gap;
    const double overhead = config.launch.before + config.launch.after - config.launch.gap;
    const double bytes = trace::bytes_moved(trace, op);
    const double operations = trace::floating_point_operations(trace, op);
    // Not understood, but with operands that were inferred: as long as these take to move, no recorded time.
    const bool inferred = op.kind == trace::OpKind::unknown && op.has(keys::any.assumed);
    if (inferred) kernel.name = "by its bytes: " + op.get(keys::any.reason);
    kernel.fidelity =
        op.kind == trace::OpKind::unknown && !inferred ? Fidelity::unknown : Fidelity::estimated;
    if (op.kind == trace::OpKind::host_copy) {
        kernel.time_us = 1e6 * (config.host.latency + bytes / config.host.bandwidth);
        kernel.bound_by = "host link";
        kernel.gap_us = 0;
        return kernel;
    }
    // What nobody understands takes its recorded time; without one, at least what its operands take to move.
    const bool nothing_known = op.inputs.empty() && op.outputs.empty();
    if (nothing_known || (op.kind == trace::OpKind::unknown && !inferred && op.measured_us)) {
        kernel.fidelity = Fidelity::unknown;
        kernel.bound_by = op.measured_us ? "recorded time" : "launch";
        kernel.time_us = op.measured_us ? *op.measured_us : 1e6 * overhead;
        return kernel;
    }
    const double memory_time = bytes / config.hbm.bandwidth;
    const double compute_time = operations / peak_rate(trace, op, config);
    kernel.time_us = 1e6 * (overhead + std::max(memory_time, compute_time));
    kernel.bound_by = overhead > std::max(memory_time, compute_time) ? "launch"
                      : memory_time > compute_time                   ? "dram bandwidth"
                                                                     : "arithmetic";
    return kernel;
}

}  // namespace heddle::sim
