// Which GEMMs of mma.sync a library has to choose from: tile, warps, stages, CTAs per SM and slices of K, by
// rules; gemm_estimate.h ranks them.
#pragma once

#include <vector>

#include "workloads/kernels/gemm_choice.h"

namespace heddle::kernels {

/// Returns every kernel worth considering, in no order, with its estimate. Copies of few bytes exclude tiles
/// whose addresses would not fit in registers.
std::vector<GemmChoice> mma_candidates(const GemmShape& shape, ElementType type,
                                       const target::GpuTarget& target, const GemmConditions& conditions,
                                       const GemmAlignment& alignment, bool allow_split_k);

/// Does the same and chooses the k of a stage and the number of stages so that `ctas_per_sm` thread blocks
/// fit on an SM. Returns nothing when two stages do not fit.
std::optional<GemmTile> staged_tile(unsigned m, unsigned n, unsigned k, unsigned ctas_per_sm,
                                    const target::GpuTarget& target, ElementType type = ElementType::bf16);

/// Returns how many CTAs of a tile fit on an SM. The registers of a thread hold its sums, two sets of
/// fragments, addresses, and the elements of a stage that are copied one by one.
unsigned resident_mma_ctas(const GemmTile& tile, const target::GpuTarget& target,
                           ElementType type = ElementType::bf16, const GemmAlignment& alignment = {});

/// Whether a tile is one for copies of fewer than 16 bytes: up to 128x256, of 2 bytes, by way of registers,
/// up to 64x128 (a profile names 128x64, docs/gemm.md).
bool narrow_copies_fit(const GemmTile& tile, ElementType type, const GemmAlignment& alignment);

/// Whether mma.sync multiplies the type on the device at its peak, or as near as it comes: f64 on 8.0
/// and 9.0, 8-bit floats on 8.9 (Hopper's assembler unpacks them).
bool has_mma(ElementType type, const target::GpuTarget& target);

}  // namespace heddle::kernels
