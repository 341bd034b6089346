// Kernels of Heddle's library at sizes that keep a GPU busy.
#pragma once

#include <vector>

#include "workloads/kernels/library.h"

namespace heddle::capture {

/// GEMMs on CUDA cores and tensor cores, elementwise kernels, softmax, layer norm, reductions, attention,
/// transposes, each at two or three sizes.
std::vector<kernels::LibraryKernel> large_kernels(unsigned compute_capability);

}  // namespace heddle::capture
