// Which Hopper GEMM a library would launch: tile, orientation, schedule, cluster and split of K, by an
// estimate of what a k step, a tile and the whole product take.
#pragma once

#include <vector>

#include "workloads/kernels/gemm_choice.h"

namespace heddle::kernels {

/// Every kernel worth a look, in no order, with estimated_cycles. `tensor_store`: D can be stored by TMA.
std::vector<GemmChoice> wgmma_candidates(const GemmShape& shape, ElementType type,
                                         const target::GpuTarget& target, bool allow_split_k,
                                         bool tensor_store);

}  // namespace heddle::kernels
