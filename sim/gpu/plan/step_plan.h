// The launches of a step, with what each finds in L2.
#pragma once

#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/gpu_config.h"
#include "sim/gpu/plan/launch_plan.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Steps that a device recorded (Op::measured_us) begin amid others: L2 is full of what earlier launches read
/// and wrote (L2InUse). Other steps begin with an empty L2, and what they write is taken as written back when
/// the next launch begins.
std::vector<PlannedLaunch> plan_step(const trace::Trace& trace, const lowering::GpuLowering& lowered,
                                     const models::gpu::GpuConfig& config, ptx::Assembly assembly);

}  // namespace heddle::sim
