// GEMM on the tensor cores by mma.sync, as built before Hopper, and on Hopper for what wgmma does not read:
// f16 and bf16, f32 read as tf32 and f64 in every layout; i8 and 8-bit floats with k contiguous in both.
//
// A ring of `stages` tiles of A and B in shared memory is filled by cp.async; 16-byte chunks are XOR-swizzled
// so that neither the copies nor the loads of fragments meet bank conflicts. The loop over k is unrolled by
// the ring, so that every shared address is a register plus a constant. Fragments are double-buffered in
// registers. Each output is one chain over k in ascending order (per slice with split-K). Accumulators leave
// through shared memory so that rows are stored in 16-byte pieces; those of f64 go straight to memory.
//
// Instructions: m16n8k16 (f16, bf16), m16n8k8 (tf32, read towards zero; f64 on Hopper), m16n8k32 (8 bits),
// m8n8k4 (f64 on Ampere). Before compute capability 8.0 tiles travel through registers; f16 is m16n8k8 on
// Turing, m8n8k4 for each quad pair on Volta.
#pragma once

#include "isa/target/generation.h"
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

/// The largest number of stages of a ring; CUTLASS's kernels have up to 10 (64x64_16x10).
inline constexpr unsigned kMostRingStages = 16;

/// Parameters of the kernel.
struct GemmMmaSpec {
    unsigned compute_capability = 80;
    /// The type of A and B: f16, bf16, f32 (as tf32), f64, i8 (D is i32, without an epilogue), e4m3 or e5m2.
    ElementType type = ElementType::bf16;
    GemmTile tile;  ///< m, n: warps times a multiple of 16, powers of two; k: 64 or 128 bytes, f64 128
    bool transpose_a = false, transpose_b = false;
    /// Elements per copy, 16 bytes' worth or a divisor of that: must divide the contiguous extent, leading
    /// dimension and batch stride of the operand. Two bytes go through registers; one byte is too few.
    unsigned copy_a = 8, copy_b = 8;
    /// K (and k_per_split) is a multiple of tile.k: no zero fill.
    bool full_k = false;
    unsigned raster_log2 = 0;
    GemmPartition partition;
    GemmEpilogue epilogue;
};

/// Writes the kernel. Throws heddle::Error for parameters that do not fit together.
GeneratedKernel generate_gemm_mma(const GemmMmaSpec& spec);
/// `batch_times_splits`: grid z.
Extent3 gemm_mma_grid(const GemmMmaSpec& spec, std::uint32_t m, std::uint32_t n,
                      std::uint32_t batch_times_splits = 1);
/// Returns the dynamic shared memory of a tile in bytes, for choosing `stages`.
std::uint32_t gemm_mma_shared_bytes(const GemmTile& tile, unsigned element_bytes = 2);
/// Rows of A and B in a tile whose elements of 16 bits are copied one by one, by way of registers.
unsigned rows_by_elements(const GemmTile& tile, ElementType type, unsigned copy_a, unsigned copy_b);
/// Parts in which they are copied: half a stage at a time where a thread would need more than 64 registers
/// for all of it.
unsigned parts_by_elements(unsigned compute_capability, const GemmTile& tile, ElementType type,
                           unsigned copy_a, unsigned copy_b);
/// Returns the type of the sums: f32, f64 or i32.
ElementType mma_accumulator(ElementType type);
/// Returns the feature that a generation must have to multiply a type by mma.sync; null when none has it.
target::Feature mma_feature(ElementType type);

}  // namespace heddle::kernels
