// Which GEMMs of mma.sync a library has to choose from: tile, warps, stages, CTAs per SM and slices of K, by
// rules; gemm_estimate.h ranks them.
#pragma once

#include <vector>

#include "workloads/kernels/gemm_choice.h"

namespace heddle::kernels {

/// Every kernel worth a look, in no order, with its estimate. Copies of few elements rule out tiles whose
/// addresses would not fit in registers.
std::vector<GemmChoice> mma_candidates(const GemmShape& shape, ElementType type,
                                       const target::GpuTarget& target, const GemmConditions& conditions,
                                       unsigned copy_elements, bool allow_split_k);

/// The same with the k of a stage and the number of stages chosen for `ctas_per_sm` of them on an SM: nothing
/// when two stages do not fit.
std::optional<GemmTile> staged_tile(unsigned m, unsigned n, unsigned k, unsigned ctas_per_sm,
                                    const target::GpuTarget& target);

/// CTAs of a tile that an SM has room for. Registers of a thread: its sums, two sets of fragments, addresses.
unsigned resident_mma_ctas(const GemmTile& tile, const target::GpuTarget& target);

}  // namespace heddle::kernels
