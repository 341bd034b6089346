// The size of L2 with which a launch is simulated, chosen so that designs whose difference the launch cannot
// notice share one simulation.
#pragma once

#include <cstdint>

#include "isa/program/program.h"
#include "models/gpu/gpu_config.h"
#include "sim/gpu/plan/launch_plan.h"

namespace heddle::sim {

/// Returns that size in bytes. A launch whose memory and code fit in L2 replaces no line, so it takes the
/// same time with every L2 that is large enough: it is simulated with a size that depends only on its lines
/// and the device's other parameters. Other launches are simulated with the device's own L2, as are those
/// that begin with a full L2 (PlannedLaunch::others_dirty).
std::uint64_t canonical_l2_bytes(const models::gpu::GpuConfig& config, const program::GpuProgram& program,
                                 const PlannedLaunch& planned);

}  // namespace heddle::sim
