// From the GPU model's result of a launch to the part that a run keeps.
#pragma once

#include <cstdint>
#include <string>

#include "isa/ptx/extent.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::sim {

/// Converts the model's result. `shared_bytes` is the static and dynamic shared memory of a thread block.
LaunchOutcome outcome_of(models::gpu::KernelResult result, std::uint64_t shared_bytes);

/// Makes the entry for the run's result. `overlap` is the number of the launch's cycles in which the previous
/// launch still ran; the entry's time does not include them.
KernelResult kernel_result(const std::string& name, const ptx::Dim3& grid, const ptx::Dim3& block,
                           const LaunchOutcome& outcome, const models::gpu::GpuConfig& config,
                           std::uint64_t overlap = 0);

}  // namespace heddle::sim
