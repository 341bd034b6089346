// The k largest of each row by a warp, k turns of a maximum over its registers: how fused gates of a mixture
// of experts choose (topk_gating_softmax and its like); rows of a few hundred experts, k of a few.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// values[row, j], indices[row, j]: the j-th largest of x[row, :], of equal ones the first. Parameters:
/// values, indices, x (pointers); rows (u32). At most 1,024 columns; k is part of the code.
struct TopKSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, index = ElementType::i64;  ///< values have the type of x
    std::uint32_t columns = 0, k = 1;
};
GeneratedKernel generate_top_k(const TopKSpec& spec);
Extent3 top_k_grid(const TopKSpec& spec, std::uint32_t rows);

}  // namespace heddle::kernels
