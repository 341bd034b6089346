// From what the GPU model says of a launch to what a run keeps of it.
#pragma once

#include <cstdint>
#include <string>

#include "isa/ptx/extent.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::sim {

/// `shared_bytes`: of a thread block, static and dynamic.
LaunchOutcome outcome_of(models::gpu::KernelResult result, std::uint64_t shared_bytes);

/// `overlap`: cycles of the launch that lie beside the one before; they are left out of its time.
KernelResult kernel_result(const std::string& name, const ptx::Dim3& grid, const ptx::Dim3& block,
                           const LaunchOutcome& outcome, const models::gpu::GpuConfig& config,
                           std::uint64_t overlap = 0);

}  // namespace heddle::sim
