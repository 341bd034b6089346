// GEMM on the CUDA cores: one chain of fused multiply-adds per output, k ascending, in f32 or f64.
//
// Tile tile_m x tile_n x 8, each thread computes 8x8 outputs (f64: 4x4) from double-buffered shared memory.
// The next tile travels through registers while the present one is multiplied. Warps cover 32x64 outputs
// (f64: 16x32): four 128-bit shared loads without bank conflicts feed 64 FMAs.
#pragma once

#include "workloads/kernels/gemm_common.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct GemmSimtSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;  ///< of A, B and the accumulator: f32 or f64
    unsigned tile_m = 128,
             tile_n = 128;  ///< multiples of the warp's tile; at most 256 * 64 outputs (f64: 256 * 16)
    bool transpose_a = false, transpose_b = false;
    /// Elements per global load: 16 bytes' worth, or fewer (a divisor) when the contiguous extent, the
    /// leading dimension or a batch stride of the operand is not a multiple of that.
    unsigned vector_a = 1, vector_b = 1;
    /// K (and k_per_split) is a multiple of 8: no check of k in the main loop.
    bool full_k = false;
    unsigned raster_log2 = 0;
    GemmPartition partition;
    GemmEpilogue epilogue;
};

inline constexpr unsigned kGemmSimtTileK = 8;

/// Writes the kernel. Throws heddle::Error for parameters that do not fit together.
GeneratedKernel generate_gemm_simt(const GemmSimtSpec& spec);
/// `batch_times_splits`: grid z.
Extent3 gemm_simt_grid(const GemmSimtSpec& spec, std::uint32_t m, std::uint32_t n,
                       std::uint32_t batch_times_splits = 1);

}  // namespace heddle::kernels
