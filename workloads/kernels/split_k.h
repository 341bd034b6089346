// Second kernel of a split-K GEMM: adds the slices of the workspace, first to last, and applies the epilogue.
#pragma once

#include "workloads/kernels/gemm_common.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct SplitKReduceSpec {
    unsigned compute_capability = 80;
    ElementType accumulator = ElementType::f32;  ///< of the workspace: f32, or f64 after an f64 gemm_simt
    bool batched = false;                        ///< grid y is the batch
    /// After a stream-K kernel with tiles of so many rows and columns, how many slices there are depends on
    /// the tile. Not batched. 0: `splits` for all.
    unsigned stream_tile_m = 0, stream_tile_n = 0;
    GemmEpilogue epilogue;  ///< vector_width also for the workspace, at most 4 are used
};

/// Workspace: [batch][splits][m][n], dense. Parameters, in order:
///   workspace, c, bias, d, auxiliary   pointers
///   m, n, ldc, ldd, splits             u32
///   slice_stride, stride_c, stride_d   u64 elements: between slices, and between batch entries of C and D
///   row_vectors, row_vectors_multiplier, row_vectors_shift   FastDivider of n / width
///   tiles_m, stages_per_tile           u32, stream-K
///   stages_per_cta, ..._multiplier, ..._shift      stream-K
///   s0, s1, ...
GeneratedKernel generate_split_k_reduce(const SplitKReduceSpec& spec);
unsigned split_k_reduce_width(const SplitKReduceSpec& spec);  ///< columns per thread
/// Returns the grid for a result of m x n elements in each of `batch` products.
Extent3 split_k_reduce_grid(const SplitKReduceSpec& spec, std::uint32_t m, std::uint32_t n,
                            std::uint32_t batch = 1);

}  // namespace heddle::kernels
