// Sums, maxima and minima over leading axes as PyTorch's reduce_kernel computes them
// (ATen/native/cuda/Reduce.cuh).
//
// A CTA is column_lanes threads side by side, each with `vector_width` neighbouring columns, times row_lanes
// threads one below the other. A thread walks its rows with four loads in flight (vt0) and four accumulators;
// the rows of a CTA are combined through shared memory by halves. Where several CTAs share columns, each
// leaves its result in `partial`, and the last to come (a semaphore tells) combines them: one launch in all.
#pragma once

#include <cstdint>

#include "workloads/kernels/reduction.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct TorchReduceColumnsSpec {
    unsigned compute_capability = 80;
    Reduction reduction = Reduction::sum;
    ElementType input = ElementType::f32, output = ElementType::f32;
    unsigned vector_width =
        1;  ///< columns of a thread: 1, 2 or 4; divides the number of columns and row_stride
    unsigned column_lanes = 32, row_lanes = 16;  ///< powers of two; 32 to 1,024 threads in all
    bool shared_columns = false;                 ///< several CTAs, one below the other, share columns
    bool batched = false;  ///< grid z matrices of rows * row_stride elements, results one after the other
};

/// Parameters: y, x (pointers); rows, columns, row_stride (u32; elements between rows); scale (f32; ignored
/// by maximum and minimum). With `shared_columns` also, after x: partial, f32[grid x * grid y * column_lanes
/// * vector_width], and semaphores, u32[grid x], zero before and after.
GeneratedKernel generate_torch_reduce_columns(const TorchReduceColumnsSpec& spec);

/// The block and the grid that setReduceConfig chooses.
struct TorchReducePlan {
    unsigned column_lanes = 32, row_lanes = 16;
    std::uint32_t ctas_wide = 1;  ///< grid x
    std::uint32_t ctas_deep = 1;  ///< grid y: CTAs that share columns
};

/// `most_threads`: the first template argument of reduce_kernel, `vector_width` the second. `threads_of_sm`
/// threads have room on each of `sm_count` SMs.
TorchReducePlan torch_reduce_columns_plan(std::int64_t rows, std::int64_t columns, unsigned most_threads,
                                          unsigned vector_width, std::int64_t sm_count,
                                          std::int64_t threads_of_sm = 2048);

}  // namespace heddle::kernels
