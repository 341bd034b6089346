// Kernels drawn at random, and machines small enough for them to be simulated in full: does the error bar of
// a sampled run cover its error?
#pragma once

#include <cstdint>

#include "models/gpu/gpu_config.h"
#include "sampling_cases.h"

namespace heddle::benchmarks {

/// An eighth of a GPU: SMs, slices of L2, memory channels; one GPC and one partition of L2.
models::gpu::GpuConfig an_eighth(models::gpu::GpuConfig config);

/// Case number `seed`: products of any tile and shape on CUDA cores and tensor cores, streams, rows,
/// attention. At most a few million warp instructions. The same on every host.
SamplingCase random_case(std::uint64_t seed, const models::gpu::GpuConfig& config);

}  // namespace heddle::benchmarks
