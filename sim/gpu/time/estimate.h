// The fallback for ops for which no program could be made: a roofline estimate that is marked as such.
#pragma once

#include <string>

#include "models/gpu/gpu_config.h"
#include "sim/run/assemble/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Estimates an op as the launch overhead plus the larger of bytes over DRAM bandwidth and operations over
/// peak rate; copies between host and device take the host link's latency plus bytes over its bandwidth. The
/// fidelity is `estimated`, or `unknown` for an op that is not understood: it takes its recorded time, or,
/// where none was recorded, the lower bound from its operands. `reason`, why no program was made, becomes the
/// kernel's name.
KernelResult estimate_on_gpu(const trace::Trace& trace, const trace::Op& op,
                             const models::gpu::GpuConfig& config, const std::string& reason);

}  // namespace heddle::sim
