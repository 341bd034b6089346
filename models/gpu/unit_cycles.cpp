#include "models/gpu/unit_cycles.h"

#include <algorithm>

namespace heddle::models::gpu {

UnitCycles::UnitCycles(const Sm& sm, const GpuConfig& config)
    : tensor(sm.warpgroup_unit().busy_cycles() + sm.tensor_unit().busy_cycles()),
      issue(static_cast<double>(sm.statistics().machine_instructions)),
      shared_memory(sm.load_store().busy_cycles() + sm.warpgroup_unit().fetch_cycles() + sm.tensor_unit().fetch_cycles()) {
    const bool both_halves = config.pipelines[ptx::Operation::fp32].port == Unit::fma;
    for (unsigned i = 0; i < kSubCores; ++i) {
        const SubCore& sub_core = sm.sub_core(i);
        tensor += sub_core.busy_cycles(Port::tensor);
        fp32 += sub_core.busy_cycles(Port::fma_heavy);
        if (both_halves) fp32 += sub_core.busy_cycles(Port::fma_lite);
    }
}

double UnitCycles::busiest(const UnitCycles& before, double cycles, const GpuConfig& config) const {
    const double fp32_ports = has_two_ports(config.pipelines[ptx::Operation::fp32].port) ? 2 : 1;
    const double of_sub_cores =
        std::max({tensor - before.tensor, (fp32 - before.fp32) / fp32_ports, issue - before.issue}) /
        kSubCores;
    return std::max(of_sub_cores, shared_memory - before.shared_memory) / cycles;
}

}  // namespace heddle::models::gpu
