// Sums, maxima and sums of squares over rows, columns or everything; f32 accumulation, a fixed order, no
// atomics.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

enum class Reduction : std::uint8_t { sum, maximum, sum_of_squares };

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
/// / columns; ignored by maximum). A reduction of everything is two launches: rows of equal chunks with
/// `elements` set, then one row of their results.
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
};
/// Parameters: y, x (pointers); rows, columns, row_stride, rows_per_cta (u32); scale (f32).
GeneratedKernel generate_reduce_columns(const ReduceColumnsSpec& spec);
Extent3 reduce_columns_grid(const ReduceColumnsSpec& spec, std::uint32_t columns, std::uint32_t splits);

}  // namespace heddle::kernels
