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

/// Returns the kernels with a tile of m x n, the lowest estimate first, also those that wgmma_candidates()
/// does not list: wgmma's rows along m (as recorded kernels of 96x64 and 32x64 have them, whose first extent
/// lies along n), columns in steps of 8 (192x88), tiles that are half empty. None where wgmma has no such
/// tile. `k_contiguous`: in both operands, which leaves room for more stages.
std::vector<GemmChoice> wgmma_kernels_with_tile(const GemmShape& shape, ElementType type,
                                                const target::GpuTarget& target,
                                                const GemmConditions& conditions, bool tensor_store,
                                                bool k_contiguous, unsigned m, unsigned n);

/// The same for tcgen05, which multiplies in tensor memory (multiplies_in_tensor_memory()). Pairs of CTAs where k is contiguous in B.
std::vector<GemmChoice> tensor_memory_candidates(const GemmShape& shape, ElementType type, const target::GpuTarget& target,
                                                 const GemmConditions& conditions, bool allow_split_k, bool tensor_store, bool k_contiguous_in_b);

/// Returns the width of the raster, a power of two, in columns of clusters: choose_raster_log2()'s, or less where the places that only
/// fill the raster would cost a wave more.
unsigned wgmma_raster_log2(const WgmmaTile& tile, const GemmShape& shape, unsigned splits, unsigned sm_count);

}  // namespace heddle::kernels
