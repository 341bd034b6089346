// The launches of a step, with the contents of L2 that each of them finds.
#pragma once

#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/gpu_config.h"
#include "sim/gpu/plan/launch_plan.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Plans the launches of a lowered step. Steps that were recorded on a device (Op::measured_us) ran between
/// other steps: they begin with an L2 full of what earlier launches read and wrote (L2InUse). Other steps
/// begin with an empty L2, and what a launch writes is assumed to be written back before the next launch
/// begins. `lowered` must outlive the result.
std::vector<PlannedLaunch> plan_step(const trace::Trace& trace, const lowering::GpuLowering& lowered,
                                     const models::gpu::GpuConfig& config, ptx::Assembly assembly);

}  // namespace heddle::sim
