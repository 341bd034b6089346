// Concatenation in one launch, as PyTorch's CatArrayBatchedCopy_contig: a row of CTAs for each operand,
// elements one by one, their places in the result by division (aten/src/ATen/native/cuda/Shape.cu).
#pragma once

#include <vector>

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Dense operands of 1, 2, 4 or 8 bytes an element, copied bit by bit. Parameters: y; x0, x1, ... (pointers);
/// elements<i>, extent<i>, begin<i> (u32, of each operand: its elements, its extent along the axis, the
/// element of y that its first one becomes); size<d>, stride<d> (u32, d = 0 (innermost) ...: of y; size of
/// the outermost is left out).
struct ConcatSpec {
    unsigned compute_capability = 80;
    unsigned element_bytes = 4;
    unsigned operands = 2;    ///< at most 32
    unsigned dimensions = 2;  ///< of y, 1 ... 8
    unsigned axis = 0;        ///< counted from the innermost
};
GeneratedKernel generate_concat(const ConcatSpec& spec);
/// Returns the grid: a thread for every 16 bytes of the largest operand, at most 32 CTAs per SM.
Extent3 concat_grid(const ConcatSpec& spec, std::uint64_t most_elements, unsigned sm_count);

}  // namespace heddle::kernels
