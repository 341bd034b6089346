// Matrix products by Heddle's own kernels (workloads/kernels), behind the interface of a vendor's library.
#pragma once

#include <memory>

#include "validation/capture/blas.h"
#include "validation/capture/simulator/machine.h"

namespace heddle::capture {

/// Products of f64, of f32 without tf32, of f16 and of bf16 with f32 sums, each in every layout, batched,
/// with alpha, beta, bias, ReLU and GELU (the tanh form). For anything else algorithms() is empty. Algorithms
/// are those of kernels::gemm_candidates(), the lowest estimate first, told as gemm_algorithm.h says. The
/// machine must outlive it. Functions throw DeviceError.
std::unique_ptr<Blas> make_simulator_blas(Machine& machine);

}  // namespace heddle::capture
