// Kernels over operands with any strides, as BLAS has them: vectors with increments, matrices with leading dimensions, triangles. They
// take the place of a BLAS library's routines beside its products; simple ones, with one element for a thread.
#pragma once

#include <optional>
#include <vector>

#include "workloads/expression/expression.h"
#include "workloads/kernels/expression_code.h"
#include "workloads/kernels/kernel.h"

namespace heddle::kernels {

/// Which elements (row, column) of a matrix a kernel computes; the others stay as they are.
enum class MatrixPart : std::uint8_t { all, lower, upper, strictly_lower, strictly_upper };

/// y0(i, j), y1(i, j), ... = expression of x0(i, j), x1(i, j), ... for i < rows and j < columns, for each entry of a batch. An
/// output may be one of the inputs, element for element.
struct StridedMapSpec {
    unsigned compute_capability = 80;
    expression::Expression expression;
    std::vector<ElementType> inputs, outputs;
    MatrixPart part = MatrixPart::all;
    bool vector = false;  ///< columns is 1: all threads of a CTA work along the rows
};

/// Parameters: y0, y1, ..., x0, x1, ... (pointers); rows, columns (u32); <operand>_row, <operand>_column, <operand>_batch (u64: signed
/// distances in bytes); s0, s1, ... (f32, or f64 when an operand is f64, i32 or i64).
GeneratedKernel generate_strided_map(const StridedMapSpec& spec);
/// `batch`: at most 65535.
Extent3 strided_map_grid(const StridedMapSpec& spec, std::uint32_t rows, std::uint32_t columns, std::uint32_t batch);
/// What the kernel computes in.
ComputeType strided_compute_type(const std::vector<ElementType>& inputs, const std::vector<ElementType>& outputs);

/// What a reduction over a strided vector returns.
enum class StridedReduction : std::uint8_t {
    sum,
    largest,  ///< the first position, from 1, of the largest value
    smallest,
};

/// y(o) = finish(sum over r < extent of terms(x0(o, r), x1(o, r), ...)), for o < outputs and each entry of a batch; or the position of
/// the largest or smallest term.
struct StridedReduceSpec {
    unsigned compute_capability = 80;
    StridedReduction reduction = StridedReduction::sum;
    expression::Expression terms;  ///< y0 of x0, x1, ...; no scalars
    /// y0 of x0 = the sum and x1 = the value that y has; scalars s0, s1, ... Without it y is the sum. Not of positions.
    std::optional<expression::Expression> finish = {};
    std::vector<ElementType> inputs;
    ElementType output = ElementType::f32;  ///< positions: i32 or i64
    /// Threads of a CTA that work on neighbouring outputs; the other ones, 256 in all, are spread along r. 1: r is contiguous in
    /// memory; 32: o is.
    unsigned neighbours = 1;
};

/// Parameters: y, x0, x1, ... (pointers); outputs, extent, extent_per_split (u32); y_out, y_split, y_batch, x<i>_out, x<i>_along,
/// x<i>_batch (u64: signed distances in bytes); s0, s1, ... of `finish`.
/// Split s of the grid reduces r from s * extent_per_split.
GeneratedKernel generate_strided_reduce(const StridedReduceSpec& spec);
/// `splits`: 1, or more where y is a workspace that another launch reduces.
Extent3 strided_reduce_grid(const StridedReduceSpec& spec, std::uint32_t outputs, std::uint32_t splits, std::uint32_t batch);

/// Solves L x = b in place by forward substitution, for a lower triangular L of `order` rows and each of many right-hand sides, one CTA
/// each. Other triangles are the same with strides: a transposed one exchanges L's strides, an upper one counts backwards.
struct TriangularSolveSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;  ///< f32 or f64
    bool unit_diagonal = false;
};

/// Parameters: l, x (pointers); order (u32); l_row, l_column, l_batch, x_row, x_side, x_batch (u64: signed distances in bytes); s0 (b is
/// multiplied by it first).
GeneratedKernel generate_triangular_solve(const TriangularSolveSpec& spec);
/// Grid: x is the number of right-hand sides, y the batch.
Extent3 triangular_solve_grid(std::uint32_t sides, std::uint32_t batch);

}  // namespace heddle::kernels
