// The GPU model of this process.
#pragma once

#include "models/gpu/gpu.h"

namespace heddle::capture {

/// Built at the first call; later calls must be for the same configuration, since SystemC elaborates once in
/// a process. Throws heddle::Error otherwise, and when the machine is impossible.
models::gpu::Gpu& timing_model(const models::gpu::GpuConfig& config);

}  // namespace heddle::capture
