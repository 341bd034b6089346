// What the GEMM generators share: parameters, epilogue, position of a CTA's tile.
//
// D[m, n] = epilogue(op(A)[m, k] op(B)[k, n], bias[n], C[m, n]), row-major with leading dimensions.
// op(A): A is stored [M, K] (transpose_a false) or [K, M]; op(B): B is stored [K, N] (transpose_b false) or
// [N, K].
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/expression/expression.h"
#include "workloads/kernels/expression_code.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y0 (and y1, when there is one) of x0 = the accumulator, x1 = bias of the column, x2 = element of C, x3 and
/// x4 = factors, one f32 in memory each, such as the scales of 8-bit floats (cublasLt's A_SCALE_POINTER and
/// B_SCALE_POINTER), and scalars s0, s1, ... which become parameters. Without an expression D is the
/// accumulator, rounded.
struct GemmEpilogue {
    std::optional<expression::Expression> expression;
    ElementType output = ElementType::f32;  ///< of D
    ElementType auxiliary =
        ElementType::f32;  ///< of the second output (y1), e.g. the value before the activation
    ElementType bias = ElementType::f32;
    ElementType c = ElementType::f32;
    /// Elements per access to D, C and the bias: 1, 2, 4 or 8; must divide N and their leading dimensions.
    unsigned vector_width = 1;

    static constexpr unsigned kFactors = 2, kFirstFactor = 3;  ///< inputs of the expression
};

/// The parameters of every GEMM kernel, in this order:
///   a, b, c, bias, d, auxiliary       pointers; what the epilogue does not read may be null
///   m, n, k                            u32
///   lda, ldb, ldc, ldd                 u32 elements; ldd also for the auxiliary output
///   stride_a, stride_b, stride_c, stride_d   u64 elements between batch entries (split-K: stride_d between
///   slices) k_per_split, splits                u32: grid z = batch * splits + slice; slice s does k in [s,
///   s+1) * k_per_split s0, s1, ...                        f32 (f64 for f64 kernels)
///   factor0, factor1                   pointers; those that the epilogue reads
struct GemmParameters {
    Reg a, b, c, bias, d, auxiliary, m, n, k, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d,
        k_per_split, splits;
    std::vector<Reg> scalars;
    Reg factors[GemmEpilogue::kFactors];  ///< values, of the compute type; empty where they are not read
};

/// Which part of the work the grid's z coordinate selects.
struct GemmPartition {
    bool batched = false;
    bool split_k = false;  ///< raw accumulators go to a workspace; see split_k.h
};

/// Declares the parameters, adds batch offsets to the pointers, and narrows the range of k for a slice:
/// returns the first k in `k_begin` (empty: 0) and puts the end into `k`.
GemmParameters emit_gemm_parameters(PtxWriter& w, const GemmPartition& partition,
                                    const GemmEpilogue& epilogue, ElementType a, ElementType b, ElementType d,
                                    ComputeType compute, Reg& k_begin);

/// The position of the CTA's tile. The grid is x = tiles_m << raster_log2, y = ceil(tiles_n >> raster_log2),
/// so that 2^raster_log2 neighbouring columns of tiles run at the same time and share A in L2. CTAs beyond
/// the edge exit.
struct TilePosition {
    Reg row, column;  ///< first element
};
TilePosition emit_tile_position(PtxWriter& w, const Reg& n, unsigned tile_m, unsigned tile_n,
                                unsigned raster_log2);
Extent3 gemm_grid(std::uint32_t m, std::uint32_t n, std::uint32_t batch_times_splits, unsigned tile_m,
                  unsigned tile_n, unsigned raster_log2);
/// Returns the widest group of 2^s columns of tiles, s up to 3, that leaves few CTAs beyond the edge.
unsigned choose_raster_log2(std::uint32_t n, unsigned tile_n);

/// Declares the pointers to the factors that an epilogue reads, and loads them.
void load_factors(PtxWriter& w, const GemmEpilogue& epilogue, ComputeType compute,
                  GemmParameters& parameters);

/// Applies the epilogue to rows of accumulators and stores them.
class GemmOutput {
  public:
    /// `row`, `column`: b32 registers, the element at which a thread starts.
    GemmOutput(PtxWriter& w, const GemmParameters& parameters, const GemmEpilogue& epilogue, bool raw,
               ComputeType compute, const Reg& row, const Reg& column);
    /// One row: accumulators for columns column + offset + [0, accumulators.size()).
    void store(unsigned column_offset, const std::vector<Reg>& accumulators);
    /// Moves down by a constant number of rows.
    void advance_rows(unsigned rows);

  private:
    struct Surface {
        Reg address;
        Reg row_bytes;  // b64
        ElementType type = ElementType::f32;
    };
    Surface make_surface(const Reg& base, const Reg& leading, ElementType type);
    void advance(Surface& surface, unsigned rows);
    const Reg& column_guard(unsigned offset);
    void store_piece(unsigned offset, const std::vector<Reg>& accumulators);

    PtxWriter& w_;
    const GemmParameters& parameters_;
    const GemmEpilogue& epilogue_;
    expression::Expression expression_;
    ComputeType compute_;
    Reg row_, column_, row_guard_;
    bool reads_bias_, reads_c_;
    Surface d_, c_, auxiliary_;
    Reg bias_address_;
    std::map<unsigned, Reg> column_guards_;
    std::map<unsigned, std::vector<Reg>> bias_;
    std::optional<ExpressionCode> code_;
};

/// Returns the name of a layout: "nn", "nt", "tn" or "tt".
std::string layout_name(bool transpose_a, bool transpose_b);
/// Returns a short tag of an epilogue for kernel names: "" when there is none, else a hash of its text.
std::string epilogue_name(const GemmEpilogue& epilogue);

}  // namespace heddle::kernels
