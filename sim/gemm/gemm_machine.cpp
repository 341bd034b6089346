#include <algorithm>

#include "isa/target/generation.h"
#include "sim/gemm/gemm_question.h"

namespace heddle::sim {

kernels::GemmMachine gemm_machine(const models::gpu::GpuConfig& config, kernels::ElementType type) {
    kernels::GemmMachine machine = kernels::gemm_machine(models::gpu::target_of(config), type);
    machine.clock = config.clock;
    switch (type) {
        case kernels::ElementType::f16:
        case kernels::ElementType::bf16:
            machine.macs_per_cycle = config.tensor.f16;
            break;
        case kernels::ElementType::f32:
            machine.macs_per_cycle = config.tensor.tf32 > 0 ? config.tensor.tf32 : 128;
            break;
        case kernels::ElementType::e4m3:
        case kernels::ElementType::e5m2:
            machine.macs_per_cycle = config.tensor.f8;
            break;
        case kernels::ElementType::i8:
            machine.macs_per_cycle = config.tensor.s8;
            break;
        default:
            machine.macs_per_cycle = config.tensor.f64;
    }
    // From L2 comes 87.5 % of what the GPCs' ports take on an A100, which the fit is of. Chips for graphics with
    // many SMs have narrower ports than their number of SMs says. (Older ones keep the rate by SMs.)
    const target::Generation& generation = target::nearest_generation(config.compute_capability);
    if (generation.has_fp8 && generation.gemm_fit == target::GemmFit::a100)
        machine.l2_load_bytes =
            std::min(machine.l2_load_bytes, 0.875 * config.crossbar.gpc_response_bytes * config.sm.gpcs);
    // Operands reach 84 % of the peak on an H100, 80 % on an A100, 92 % of what the driver says of a B200; what is
    // left goes to refresh, turns of the bus and activations.
    machine.memory_read =
        (generation.has_tcgen05 ? 0.92 : machine.warpgroups ? 0.842 : 0.8) * config.hbm.bandwidth;
    machine.memory_write = config.hbm.bandwidth;
    // An empty kernel beside what the launch itself takes: handing out the block, its first and last cycles.
    machine.launch =
        config.launch.graph_before + config.launch.after + (machine.warpgroups ? 0.89e-6 : 0.36e-6);
    const models::gpu::PowerConfig& power = config.power;
    machine.static_power = power.constant(config.sm.count) / power.limit;
    machine.power_clock = power.nominal_clock;
    machine.tensor_power =
        power.tensor * models::gpu::kSubCores * config.sm.count * power.nominal_clock / power.limit;
    machine.memory_power = power.dram_byte * config.hbm.bandwidth / power.limit;
    machine.minimum_clock = power.minimum_clock;
    machine.boost = power.allowance;
    machine.boost_seconds = power.allowance_time;
    if (power.governor == 0) machine.tensor_power = 0;
    return machine;
}

}  // namespace heddle::sim
