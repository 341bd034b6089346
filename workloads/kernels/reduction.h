// Sums, maxima and sums of squares over rows, columns or everything; f32 accumulation, a fixed order, no
// atomics.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// What a reduction computes.
enum class Reduction : std::uint8_t { sum, maximum, sum_of_squares, minimum };

/// y[row] = scale * reduce(x[row, :]): one warp per row (for rows of up to about 1,024 elements) or one CTA.
struct ReduceRowsSpec {
    unsigned compute_capability = 80;
    Reduction reduction = Reduction::sum;
    ElementType input = ElementType::f32, output = ElementType::f32;
    unsigned vector_width = 1;  ///< divides columns and row_stride
    bool warp_per_row = false;
    unsigned threads = 256;
};

/// Parameters: y, x (pointers); rows, columns, row_stride (u32; elements between rows); elements (u32: x ends
/// there, so that the last row may be shorter; rows * row_stride when it is not); scale (f32; a mean passes 1
/// / columns; ignored by maximum and minimum). A reduction of everything is two launches: rows of equal
/// chunks with `elements` set, then one row of their results.
GeneratedKernel generate_reduce_rows(const ReduceRowsSpec& spec);
Extent3 reduce_rows_grid(const ReduceRowsSpec& spec, std::uint32_t rows);

/// y[s, column] = scale * reduce over rows s * rows_per_cta ... of x[:, column]. One launch with grid y = 1
/// finishes; with more, y is a workspace [splits, columns] in f32, and a second launch with rows = splits
/// finishes.
struct ReduceColumnsSpec {
    unsigned compute_capability = 80;
    Reduction reduction = Reduction::sum;
    ElementType input = ElementType::f32, output = ElementType::f32;
    unsigned vector_width = 1;  ///< divides columns and row_stride; at most 16 bytes' worth
    unsigned row_lanes = 8;     ///< warps of a CTA, each with rows of its own: 8 or 32
    bool pair = false;          ///< two matrices of one shape in one launch: grid z is 2
};

/// Parameters: y, x (pointers), of a pair also y1, x1 after them; rows, columns, row_stride, rows_per_cta
/// (u32); scale (f32).
GeneratedKernel generate_reduce_columns(const ReduceColumnsSpec& spec);
Extent3 reduce_columns_grid(const ReduceColumnsSpec& spec, std::uint32_t columns, std::uint32_t splits);

/// y[column] = scale * sum over all rows of x[:, column], one CTA for each column: thread t has rows t, t +
/// threads,
/// ... What torch.compile makes of a sum over the leading axis where it takes it for an inner one (XBLOCK 1);
/// most of every sector that it reads is not used.
struct ReduceColumnAloneSpec {
    unsigned compute_capability = 80;
    ElementType input = ElementType::f32, output = ElementType::f32;
    unsigned threads = 256, rows_per_turn = 2048;
};

/// Parameters: y, x (pointers); rows, columns (u32); scale (f32). Grid x is the number of columns.
GeneratedKernel generate_reduce_column_alone(const ReduceColumnAloneSpec& spec);

/// The extremum of each row and its first position: value[row], index[row] (i64), one CTA per row, in
/// PyTorch's order (reduce_kernel with ArgMaxOps or MaxOps). NaN counts as larger than everything, as in
/// PyTorch.
struct ExtremumSpec {
    unsigned compute_capability = 80;
    bool maximum = true;
    ElementType input = ElementType::f32, value = ElementType::f32, index = ElementType::i64;
    bool write_value = true;
    unsigned threads = 512;
};

/// Parameters: value, index, x (pointers); rows, columns, row_stride (u32).
GeneratedKernel generate_extremum(const ExtremumSpec& spec);

}  // namespace heddle::kernels
