// Sums along an axis of everything up to an element: along rows by thread blocks that scan a piece of a row
// at a time, as PyTorch's tensor_kernel_scan_innermost_dim does; along other axes by a thread for each line,
// as its tensor_kernel_scan_outer_dim.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y[line, i] = x[line, 0] + ... + x[line, i], or x[line, i] + ... + x[line, extent - 1] with `reverse`.
/// Lines are rows, or (not `rows`) lie `inner` elements apart: element i of line (o, l) is at (o * extent +
/// i) * inner
/// + l. Computed in f32, in f64 where a type is f64 or an integer. Within a warp's 32 elements sums double
/// (shuffles), warps' sums are added the same way, pieces one after the other; along lines in order.
/// Parameters: y, x (pointers); lines, extent (u32); inner (divider; not `rows`).
struct CumulativeSumSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32;
    bool reverse = false;
    bool rows = true;
    unsigned threads = 32;  ///< of a row: 32, 64, ... 1,024; a block of 32 has four rows
};
GeneratedKernel generate_cumulative_sum(const CumulativeSumSpec& spec);
/// Returns the number of threads for rows of this many elements.
unsigned cumulative_sum_threads(const CumulativeSumSpec& spec, std::uint32_t extent);
Extent3 cumulative_sum_grid(const CumulativeSumSpec& spec, std::uint32_t lines);

}  // namespace heddle::kernels
