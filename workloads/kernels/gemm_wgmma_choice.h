// Which Hopper GEMMs a library has to choose from: tile, orientation, schedule, cluster and split of K, by
// rules; gemm_estimate.h ranks them.
#pragma once

#include <vector>

#include "workloads/kernels/gemm_choice.h"

namespace heddle::kernels {

/// Returns every kernel worth considering, in no order, with its estimate. `tensor_store` says that D can be
/// stored by TMA.
std::vector<GemmChoice> wgmma_candidates(const GemmShape& shape, ElementType type,
                                         const target::GpuTarget& target, const GemmConditions& conditions,
                                         bool allow_split_k, bool tensor_store);

/// The same for tcgen05, which multiplies in tensor memory (multiplies_in_tensor_memory()). Pairs of CTAs where k is contiguous in B.
std::vector<GemmChoice> tensor_memory_candidates(const GemmShape& shape, ElementType type, const target::GpuTarget& target,
                                                 const GemmConditions& conditions, bool allow_split_k, bool tensor_store, bool k_contiguous_in_b);

}  // namespace heddle::kernels
