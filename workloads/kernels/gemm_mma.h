// GEMM on the tensor cores, as built for Ampere: f16 or bf16 inputs, f32 accumulators, mma.sync m16n8k16.
//
// A ring of `stages` tiles of A and B in shared memory is filled by cp.async; 16-byte chunks are XOR-swizzled
// so that neither the copies nor ldmatrix meet bank conflicts. The loop over k is unrolled by the ring, so
// that every shared address is a register plus a constant. Fragments are double-buffered in registers. Each
// output is one chain over k in ascending order (per slice with split-K). Accumulators leave through shared
// memory so that rows are stored in 16-byte pieces. On compute capability 7.5 (f16 only) tiles travel through
// registers, and mma.sync is m16n8k8.
#pragma once

#include "workloads/kernels/gemm_common.h"

namespace heddle::kernels {

/// Tile of a CTA, its warps and the depth of the ring.
struct GemmTile {
    unsigned m = 128, n = 128, k = 32;
    unsigned warps_m = 2, warps_n = 2;
    unsigned stages = 3;
    bool operator==(const GemmTile&) const = default;
    unsigned threads() const { return warps_m * warps_n * 32; }
};

struct GemmMmaSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;  ///< of A and B: f16 or bf16
    GemmTile tile;                         ///< m, n: warps times a multiple of 16, powers of two; k: 32 or 64
    bool transpose_a = false, transpose_b = false;
    /// Elements per copy, 8, 4, 2 or 1: must divide the contiguous extent, leading dimension and batch stride
    /// of the operand. 1 goes through registers, 16 bits at a time.
    unsigned copy_a = 8, copy_b = 8;
    /// K (and k_per_split) is a multiple of tile.k: no zero fill.
    bool full_k = false;
    unsigned raster_log2 = 0;
    GemmPartition partition;
    GemmEpilogue epilogue;
};

GeneratedKernel generate_gemm_mma(const GemmMmaSpec& spec);
/// `batch_times_splits`: grid z.
Extent3 gemm_mma_grid(const GemmMmaSpec& spec, std::uint32_t m, std::uint32_t n,
                      std::uint32_t batch_times_splits = 1);
/// Dynamic shared memory that a tile takes, for choosing `stages`.
std::uint32_t gemm_mma_shared_bytes(const GemmTile& tile);

}  // namespace heddle::kernels
