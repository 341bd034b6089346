// Which GEMM kernel a library would launch: tile, warps, stages and split of K, by a simple estimate of
// waves.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "isa/target/target.h"
#include "workloads/kernels/gemm_estimate.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"

namespace heddle::kernels {

/// A kernel that can compute a product.
struct GemmChoice {
    bool tensor_cores = false;
    GemmTile tile;                   ///< SIMT: m and n count, k is 8; wgmma: m, n, k and stages
    std::optional<WgmmaTile> wgmma;  ///< gemm_wgmma, else gemm_mma or gemm_simt
    unsigned gemv_warps = 0;         ///< gemv with so many warps for an output; 0: a kernel with tiles
    unsigned splits = 1;             ///< slices of K; more than one needs a workspace and split_k_reduce
    unsigned k_per_split = 0;        ///< multiple of tile.k
    std::optional<StreamK> stream;   ///< wgmma by stream-K; `splits` and `k_per_split` say what it says
    unsigned raster_log2 = 0;
    double estimated_cycles = 0;
    double estimated_seconds = 0;  ///< of the whole product, at estimated_clock (hertz)
    double estimated_clock = 0;
};

/// The alignments on which a kernel can rely.
struct GemmAlignment {
    unsigned copy_a = 8, copy_b = 8;  ///< elements that a copy of A and of B takes: 8, 4, 2 or 1
    bool tensor_maps = true;          ///< A and B satisfy kTensorAlignment
    bool tensor_store = true;         ///< D does
    bool k_contiguous = true;         ///< in both operands: what wgmma asks of all types but those of 16 bits
    bool rows_along_k = false;        ///< the same, said by callers that can launch gemv
    unsigned copy_elements() const { return std::min(copy_a, copy_b); }
};

/// `alignment` as a library has it where rows of D are multiples of `result` elements, up to 16 bytes' worth:
/// the tensor-core kernels for rows that are not whole 16 bytes have one alignment for A, B and D
/// ("..._tn_align1"; of tf32 there are none between align1 and align4). On A100s tf32 takes align1 for every
/// product of a recorded step of which rows of A, of B or of D alone are not whole 16 bytes (docs/gemm.md),
/// and so does bf16 with a D of 248077 columns (pegainfer, pull request 1046). Only for types of 16 bits and
/// for tf32; others stay as they are.
GemmAlignment with_one_alignment(GemmAlignment alignment, ElementType type, bool tf32, unsigned result);

/// The conditions that the ranking assumes: the machine, and the contents of L2 before the product.
struct GemmConditions {
    GemmMachine machine;
    GemmSurroundings surroundings;
};

/// The sizes of a product D[m, n] = A[m, k] B[k, n].
struct GemmShape {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    bool tf32 = false;  ///< operands of f32 may be read as tf32
};

/// Every kernel that could do it, the lowest estimate first, for callers that measure some. Copies of few
/// bytes rule out tiles whose copies would not fit in registers. Deterministic. On Hopper wgmma where tensor
/// maps can be made (all but 16-bit types: with k contiguous in both); else mma.sync where the device
/// multiplies the type by it at full rate (f16 since 7.0; bf16, i8, f32 read as tf32 since 8.0; f64 on 8.0
/// and 9.0; e4m3 and e5m2 on 8.9; 8 bits with k contiguous); else f32 and f64 on the CUDA cores; anything
/// else is an error. `conditions`: of the device at hand; nullptr: what is usual for its generation.
std::vector<GemmChoice> gemm_candidates(const GemmShape& shape, ElementType type,
                                        const target::GpuTarget& target, const GemmAlignment& alignment = {},
                                        bool allow_split_k = true,
                                        const GemmConditions* conditions = nullptr);
/// Stream-K with the tile of a wgmma candidate; nothing where it would divide nothing: k of one stage,
/// several products, sums that a cooperative schedule has no registers for. No candidate is one by itself:
/// kernel names of cuBLAS on Hopper tell of split-K, never of this. `--autotune` tries it, a recorded name
/// with "stream_k" (CUTLASS) asks for it.
std::optional<GemmChoice> streamed(const GemmChoice& choice, const GemmShape& shape, ElementType type,
                                   const target::GpuTarget& target);
/// A wgmma candidate with the tile multiplied by so many warpgroups, cooperatively, as a recorded name says;
/// false, and nothing changed, where rows of 64 or registers do not allow it.
bool take_warpgroups(GemmChoice& choice, unsigned warpgroups, ElementType type,
                     const target::GpuTarget& target);
/// Returns the first of gemm_candidates().
GemmChoice choose_gemm(const GemmShape& shape, ElementType type, const target::GpuTarget& target,
                       const GemmAlignment& alignment = {}, bool allow_split_k = true);

/// Returns the warps and stages for a tile of given extents on a device. Throws heddle::Error when its two
/// smallest stages do not fit in shared memory.
GemmTile complete_tile(unsigned m, unsigned n, unsigned k, const target::GpuTarget& target,
                       ElementType type = ElementType::bf16, const GemmAlignment& alignment = {});

/// The information in a recorded kernel's name about a GEMM; `m` and `n` are in Heddle's terms.
struct RecordedGemm {
    GemmTile tile;                          ///< warps 0; k and stages 0 when the name does not tell
    unsigned cluster_m = 0, cluster_n = 0;  ///< 0: it does not tell
    std::optional<bool> split_k;
    bool stream_k = false;
    unsigned warpgroups = 0;  ///< that multiply a tile together ("..._warpgroupsize1x1x1_..."); 0: not told
};

/// Or nothing, when it carries no tile: "nvjet_..._128x256_64x3_2x1_...", "..._128x256_64x3_..." (CUTLASS),
/// "..._128x64_ldg8_f2f_stages_64x4_..." (cuBLAS), "sm90_xmma_gemm_..._tilesize128x128x64_...", "128x128x64"
/// (ours). Libraries that think in columns write the extent along our n first.
std::optional<RecordedGemm> gemm_from_kernel_name(const std::string& name);

}  // namespace heddle::kernels
