// GEMM on Hopper's tensor cores: TMA copies tiles into a ring in shared memory, warpgroups multiply them with
// wgmma.mma_async, TMA stores the result. As cuBLAS and CUTLASS build it.
//
// A producer warpgroup gives most of its registers away; one of its threads waits until a stage is empty,
// says how many bytes will come, and starts the copies. Consumer warpgroups wait for a full stage, start its
// products, and give the stage before it back. The grid is persistent: a CTA works on tile after tile.
// Cooperative consumers share a tile by rows; with ping-pong each has tiles of its own, and one multiplies
// while the other stores. CTAs of a cluster have neighbouring tiles and copy their common operand once, in
// parts that each sends to all (multicast).
//
// wgmma's rows come in units of 64, its columns in units of 8. With `swap` the rows are those of op(B)^T:
// fine steps over m, for narrow products. Copies fill with zeros what lies outside the operands, and stores
// leave out what lies outside of D, so that any m, n and k will do; base addresses, leading dimensions and
// batch strides must be multiples of 16 bytes (kTensorAlignment).
#pragma once

#include "isa/target/target.h"
#include "workloads/kernels/gemm_common.h"

namespace heddle::kernels {

/// How consumer warpgroups share the work: both on one tile (cooperative), or in turns on a tile each
/// (ping_pong).
enum class WgmmaSchedule : std::uint8_t { cooperative, ping_pong };

/// The tile of a thread block and the warpgroups that compute it.
struct WgmmaTile {
    unsigned m = 128, n = 256;
    unsigned stages = 4;     ///< of 128 bytes of k each
    unsigned consumers = 2;  ///< warpgroups that multiply
    WgmmaSchedule schedule = WgmmaSchedule::cooperative;
    bool swap =
        false;  ///< n in units of 64 (per consumer when cooperative), m of 8; else the other way round
    unsigned cluster_m = 1, cluster_n = 1;
    unsigned ctas_per_sm = 1;
    bool operator==(const WgmmaTile&) const = default;

    unsigned rows() const { return swap ? n : m; }     ///< of wgmma's A
    unsigned columns() const { return swap ? m : n; }  ///< of wgmma's B
    unsigned cluster_size() const { return cluster_m * cluster_n; }
    unsigned threads() const { return 128 * (consumers + 1); }
};

/// Parameters of the kernel.
struct GemmWgmmaSpec {
    unsigned compute_capability = 90;
    /// The type of A and B: f16 or bf16; with k contiguous in both also e4m3, e5m2, f32, which the tensor
    /// core reads as tf32 (towards zero), and i8, whose sums are stored as i32.
    ElementType type = ElementType::bf16;
    /// The type of B where it is another 8-bit float than that of A.
    std::optional<ElementType> type_b;
    WgmmaTile tile;
    bool transpose_a = false, transpose_b = false;
    unsigned raster_log2 = 0;  ///< see TilePosition
    GemmPartition partition;
    /// Stream-K (Osama et al., arXiv 2301.03598): the stages of all tiles, one tile after the other, are
    /// dealt to the CTAs in equal parts, wherever tiles begin. A CTA stores the sums of each tile that it had
    /// a part of, f32, as a slice of a workspace [slices][m][n]: slice 0 by the CTA that began the tile, and
    /// so on; split_k_reduce adds those that a tile has. With partition.split_k, without clusters, batches,
    /// ping-pong and raster.
    bool stream_k = false;
    GemmEpilogue epilogue;
    /// D leaves through shared memory and TMA. Else, and with an epilogue expression, straight from
    /// registers.
    bool tensor_store = true;
};

/// Whether the kernel multiplies by tcgen05, from Blackwell on, instead of wgmma: the same parameters, ring and grid; the sums lie in tensor
/// memory. A tile then has 128 rows and a multiple of 16 columns, up to 256, one consumer warpgroup, and no `swap`. cluster_m = 2 makes a
/// pair of CTAs that multiplies tiles of 256 rows together (cta_group::2), each with half of B, where k is contiguous in B.
bool multiplies_in_tensor_memory(const GemmWgmmaSpec& spec);

inline constexpr unsigned kTensorAlignment = 16;  ///< bytes
/// k of one stage.
unsigned wgmma_tile_k(ElementType type);
/// Returns the dynamic shared memory of a kernel in bytes, for choosing `stages`.
std::uint32_t gemm_wgmma_shared_bytes(const GemmWgmmaSpec& spec);
/// As kernels of cuBLAS on Hopper have with narrow tiles: nvjet_..._64x8_64x16_4x1_..., 16 of 64.
inline constexpr unsigned kMostStages = 16;
/// Returns the number of stages that fit for `ctas_per_sm`, at most kMostStages.
unsigned wgmma_stages(const GemmWgmmaSpec& spec, const target::GpuTarget& target);

/// Returns whether a consumer's sums fit in its registers.
bool wgmma_sums_fit(const WgmmaTile& tile);

/// Throws heddle::Error for tiles that cannot be built.
GeneratedKernel generate_gemm_wgmma(const GemmWgmmaSpec& spec);

/// One product: sizes, and where its operands lie. Strides in elements.
struct GemmProblem {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
    std::uint64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;  ///< 0: the same for all entries
    KernelArgument a, b, d;  ///< pointer_argument()s; their names do not matter
    unsigned splits = 1;     ///< split-K: stride_d lies between slices; stream-K: StreamK::slices
    unsigned k_per_split = 0;
};

/// The grid and the arguments of a launch.
struct GemmWgmmaLaunch {
    Extent3 grid{1, 1, 1};
    std::vector<KernelArgument>
        arguments;  ///< but c, bias, auxiliary and the scalars s0, ... of the epilogue
};

/// How stream-K divides a product.
struct StreamK {
    std::uint32_t ctas = 1, stages_per_cta = 0, stages_per_tile = 0, tiles_m = 0;
    std::uint32_t slices = 1;  ///< of the workspace: as many as any tile has parts
    /// k of the first slice of a tile, which ends where a CTA's part does; the next ones have
    /// stages_per_cta.
    std::uint32_t first_stages(std::uint32_t tile_m, std::uint32_t tile_n) const;
};

/// Divides a product for stream-K among at most as many CTAs as run at the same time.
StreamK stream_k_of(const GemmWgmmaSpec& spec, const GemmProblem& problem, unsigned sm_count);

/// `sm_count`: of the device; the grid has as many CTAs as run at once, or fewer.
GemmWgmmaLaunch gemm_wgmma_launch(const GemmWgmmaSpec& spec, const GemmProblem& problem, unsigned sm_count);

}  // namespace heddle::kernels
