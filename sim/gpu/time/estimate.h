// The declared simpler way: what an op costs when no program of it could be made. A roofline, and it says so.
#pragma once

#include <string>

#include "models/gpu/gpu_config.h"
#include "sim/run/assemble/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Launch overhead plus the larger of bytes over DRAM bandwidth and operations over peak rate; host copies
/// take the host link's latency plus bytes over its bandwidth. Fidelity is `estimated`, or `unknown` for what
/// nobody understands: its recorded time stands in, else the least that it can take.
KernelResult estimate_on_gpu(const trace::Trace& trace, const trace::Op& op,
                             const models::gpu::GpuConfig& config, const std::string& reason);

}  // namespace heddle::sim
