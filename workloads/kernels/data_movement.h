// Fill, copy of rows (slices, concatenation, casts), transpose. Permutations of more dimensions are
// elementwise kernels with strided inputs.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y[0, elements) = value. Parameters: y (pointer); elements (u32); value (f32, or f64 for f64, i32 and i64).
struct FillSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;
    unsigned vector_width = 1;  ///< divides elements
};
GeneratedKernel generate_fill(const FillSpec& spec);
Extent3 fill_grid(const FillSpec& spec, std::uint32_t elements);

/// y[r, c] = x[r, c] for rows of `columns` elements with row strides: a slice, a part of a concatenation
/// (offsets go into the pointers), a cast. Equal types are copied bit by bit. Parameters: y, x (pointers);
/// rows (u32); x_stride, y_stride (u32 elements); row_vectors, row_vectors_multiplier, row_vectors_shift
/// (columns / vector_width).
struct CopyRowsSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32;
    unsigned vector_width = 1;  ///< divides columns, both strides and offsets
};
GeneratedKernel generate_copy_rows(const CopyRowsSpec& spec);
Extent3 copy_rows_grid(const CopyRowsSpec& spec, std::uint32_t rows, std::uint32_t columns);

/// y[b, c, r] = x[b, r, c] through a 32x32 tile of shared memory. Elements of 1, 2, 4 or 8 bytes, copied bit
/// by bit. Parameters: y, x (pointers); rows, columns (u32, of x). Grid z is the batch.
struct TransposeSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;
};
GeneratedKernel generate_transpose(const TransposeSpec& spec);
Extent3 transpose_grid(const TransposeSpec& spec, std::uint32_t rows, std::uint32_t columns,
                       std::uint32_t batch = 1);

}  // namespace heddle::kernels
