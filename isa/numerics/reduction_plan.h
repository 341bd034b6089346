// The order in which a GEMM adds, as data: enough to compute its output bit for bit, and to draw its tree.
//
// From the inside outwards:
//   chain        products are added to an accumulator, k ascending: one after the other (CUDA cores, FP64),
//   or
//                in fused blocks (tensor core). Tiles of block_k follow each other; a block never crosses the
//                end of a tile, which matters where the first tile is a short one.
//   promotion    every promotion_interval of k a fresh accumulator, and the finished one is added to the sum
//                of those before (fp8 without fast accumulation).
//   accumulators several per output, dealt over k, combined at the end.
//   split-K      slices of K by different CTAs, merged.
//   epilogue     alpha, beta C, bias, activation, rounding to D.
// Every addition outside of a tensor core rounds to nearest even in the accumulator's format. Accumulators
// and sums of slices start from +0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isa/numerics/dot_product_unit.h"
#include "isa/numerics/formats.h"
#include "isa/numerics/summation_tree.h"

namespace heddle::numerics {

/// What matrices hold. tf32 means fp32 numbers of which the tensor core reads 19 bits.
enum class Element : std::uint8_t { fp64, fp32, tf32, bf16, fp16, e5m2, e4m3, int8, int32 };
const char* name_of(Element element);
unsigned bytes_of(Element element);
/// Throws std::invalid_argument for integers.
Format format_of(Element element);
bool is_integer(Element element);

/// How two numbers are added.
enum class Arithmetic : std::uint8_t {
    tensor_core,         ///< `tensor_core` below
    fused_multiply_add,  ///< also the FP64 tensor core
    multiply_then_add,   ///< two roundings
    integer,             ///< exact, modulo 2^32
};

/// Where the tile of K mod block_k products is.
enum class ResidueTile : std::uint8_t {
    last,
    first,    ///< the first K mod block_k products form the first tile (CUTLASS)
    wrapped,  ///< the last K mod block_k products are added first
};

/// How the sums of several accumulators become one.
enum class Combination : std::uint8_t {
    forward,             ///< ((a0 + a1) + a2) + a3
    neighbours_first,    ///< (a0 + a1) + (a2 + a3): butterfly with distances 1, 2, 4, ...
    halves_first,        ///< (a0 + a2) + (a1 + a3): butterfly with distances n/2, ..., 2, 1
    warps_then_forward,  ///< 32 neighbours halves first (shuffles of a warp), then these sums forward
    warps_then_halves,   ///< the same, then these sums halves first
};

/// How split-K divides K.
enum class ChunkRule : std::uint8_t {
    ceiling,   ///< ceil(ceil(K / grain) / splits) * grain each; the last ones get less, or nothing
    balanced,  ///< floor(K / grain / splits) grains each, one more for the first of them
};

/// How the sums of the slices become D. The numbers are those of cublasLtReductionScheme_t.
enum class SliceMerge : std::uint8_t {
    accumulators,     ///< forward, in the accumulator's format; the epilogue once (cublasLt scheme 2)
    output_partials,  ///< partial sums are rounded to D's format, added forward in fp32 (scheme 4)
    output_chain,     ///< every slice goes through the epilogue and adds the D of the slice before (1)
};

/// What the epilogue applies last.
enum class Activation : std::uint8_t {
    none,
    relu,
    gelu,  ///< by tanh; the device's tanh is an approximation, so that this one is not exact in every bit
};

/// From the sum to the element of D: D = activation(alpha * sum + beta * C + bias).
struct PlanEpilogue {
    double alpha = 1, beta = 0;  ///< numbers of the GEMM
    /// alpha * sum + (beta * C) with one rounding of product and sum, or two.
    bool fused = true;
    bool bias = false;  ///< one number for each column, added after alpha and beta
    Activation activation = Activation::none;
    bool saturate = false;  ///< beyond the largest number of D: that number, instead of an infinity

    bool operator==(const PlanEpilogue&) const = default;
};

/// From matrices to one number of D: products in tiles, tiles in accumulators, accumulators in slices, slices
/// in D.
struct ReductionPlan {
    Element a = Element::fp16, b = Element::fp16, c = Element::fp16, d = Element::fp16,
            bias = Element::fp16;         ///< in memory
    Element accumulator = Element::fp32;  ///< fp32, fp16, fp64 or int32; alpha too, but fp16's in fp32

    Arithmetic arithmetic = Arithmetic::tensor_core;  ///< between products of one accumulator
    DotProductParameters tensor_core;                 ///< for Arithmetic::tensor_core
    Rounding tf32_input = Rounding::toward_zero;  ///< how fp32 numbers become tf32
    bool flush_subnormals = false;                ///< CUDA cores with .ftz; not for tensor cores

    unsigned instruction_k = 16;  ///< of one MMA: fused blocks are no longer
    unsigned block_k = 64;        ///< of a tile of the main loop
    ResidueTile residue = ResidueTile::last;  ///< place of the short tile
    /// A short tile is filled up with zeros: that makes +0 of a sum of -0 (CUDA cores; tensor cores have no
    /// -0).
    bool zero_fill = false;
    unsigned promotion_interval = 0;  ///< k that one accumulator takes; a multiple of instruction_k; 0: all

    unsigned accumulators = 1;       ///< that take turns; Combination adds them up
    unsigned accumulator_group = 1;  ///< products in a row for one accumulator; 0: each takes one part of K
    Combination combination = Combination::forward;  ///< for more than one accumulator

    unsigned splits = 1;                        ///< slices of split-K; 1: none
    ChunkRule chunk_rule = ChunkRule::ceiling;  ///< how many k each slice gets
    unsigned split_grain = 1;                   ///< k; slices are multiples of it
    unsigned k_per_split = 0;  ///< when not 0: instead of the rule
    unsigned first_slice_k = 0;  ///< with k_per_split: of the first slice (stream-K); 0: as the others
    SliceMerge merge = SliceMerge::accumulators;  ///< for more than one slice
    /// cuBLAS, nvjet with split-K: when K / block_k is a multiple of the number of slices, and there are more
    /// slices than products in the last, short tile, that tile is never read.
    bool drops_tail = false;

    PlanEpilogue epilogue;  ///< of every element

    bool operator==(const ReductionPlan&) const = default;
};

/// A part [begin, end) of K.
struct KRange {
    std::size_t begin = 0, end = 0;                   ///< first k, and one past the last
    std::size_t size() const { return end - begin; }  ///< number of k
    bool operator==(const KRange&) const = default;
};

/// The slices that split-K makes, without empty ones.
std::vector<KRange> slices_of(const ReductionPlan& plan, std::size_t k);
/// Products that are added at all: less than k with the defect above.
std::size_t products_read(const ReductionPlan& plan, std::size_t k);

/// Throws std::invalid_argument when the plan contradicts itself: types that its arithmetic does not have,
/// lengths of zero.
void check_plan(const ReductionPlan& plan);

/// The tree in which the plan adds k products, for drawings and comparisons. Checks the plan first.
SummationTree summation_tree(const ReductionPlan& plan, std::size_t k);

/// Operands of one GEMM, raw bits, dense, little endian. Other layouts: transposed() below.
struct PlanOperands {
    std::size_t m = 0, n = 0, k = 0;  ///< D is m x n, sums are k long
    std::span<const std::byte> a;     ///< [m][k]
    std::span<const std::byte> b;     ///< [n][k]: as the weight of a linear layer
    std::span<const std::byte> c;     ///< [m][n]; may be empty when beta is 0
    std::span<const std::byte> bias;  ///< [n]; may be empty without bias
};

/// D, [m][n], raw bits. Tensor cores at the speed of matrix_multiply_accumulate(). Throws
/// std::invalid_argument when the operands' sizes do not fit.
std::vector<std::byte> evaluate(const ReductionPlan& plan, const PlanOperands& operands);

/// (row, column) of D.
using OutputPlace = std::pair<std::size_t, std::size_t>;
/// Some elements of D only, in the order of `places`.
std::vector<std::byte> evaluate_elements(const ReductionPlan& plan, const PlanOperands& operands,
                                         std::span<const OutputPlace> places);

/// A matrix [rows][columns] as [columns][rows].
std::vector<std::byte> transposed(std::span<const std::byte> matrix, std::size_t rows, std::size_t columns,
                                  unsigned element_bytes);

/// One line for people: "tensor core, L 16, block_k 64, residue first, split in 4 by 64, fp32 forward".
std::string describe(const ReductionPlan& plan);

}  // namespace heddle::numerics
