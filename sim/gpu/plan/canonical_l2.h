// The size of L2 that a launch is simulated with: designs that differ in nothing that it could notice have
// its simulation in common.
#pragma once

#include <cstdint>

#include "isa/program/program.h"
#include "models/gpu/gpu_config.h"
#include "sim/gpu/plan/launch_plan.h"

namespace heddle::sim {

/// Bytes. A launch for all of whose memory and code L2 has room replaces no line, so that it takes as long
/// with every L2 for which that holds: it is simulated with a size that follows from its lines and the
/// device's other parameters alone. Other launches have the device's own L2, as have those that find it full
/// (PlannedLaunch::others_dirty).
std::uint64_t canonical_l2_bytes(const models::gpu::GpuConfig& config, const program::GpuProgram& program,
                                 const PlannedLaunch& planned);

}  // namespace heddle::sim
