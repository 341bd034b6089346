// Rows chosen by an index per row: embedding lookup, index select, scatter, and the embedding's gradient.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Which way rows are moved.
enum class RowMove : std::uint8_t {
    gather,       ///< y[i, :] = x[index[i], :]
    scatter,      ///< y[index[i], :] = x[i, :]
    scatter_add,  ///< y[index[i], :] += x[i, :] by atomics; the order of additions is not fixed. y is f32, or
                  ///< f16 or bf16, where each sum is rounded (bf16: compute capability 9.0 onward)
};

/// Whether an atomic addition to this type exists.
bool adds_atomically(ElementType type, unsigned compute_capability);

/// Rows whose index lies outside [0, limit) are left alone (gather: filled with zeros).
struct RowsByIndexSpec {
    unsigned compute_capability = 80;
    RowMove move = RowMove::gather;
    ElementType x = ElementType::f32, y = ElementType::f32;
    ElementType index = ElementType::i64;  ///< i32 or i64
    unsigned vector_width = 1;             ///< divides columns and both row strides
};

/// Parameters: y, x, index (pointers); rows (u32: number of indices), limit (u32: rows of the indexed
/// tensor); x_stride, y_stride (u32 elements); row_vectors, row_vectors_multiplier, row_vectors_shift
/// (columns / vector_width).
GeneratedKernel generate_rows_by_index(const RowsByIndexSpec& spec);
Extent3 rows_by_index_grid(const RowsByIndexSpec& spec, std::uint32_t rows, std::uint32_t columns);

/// Gathers like RowsByIndexSpec, element by element: a thread takes every so manieth element of y and asks
/// for the index of each anew, so that index, element and result are waited for in turn (PyTorch's
/// indexSelectLargeIndex).
struct ElementsByIndexSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::f32;
    ElementType index = ElementType::i64;  ///< i32 or i64
};

/// Parameters: y, x, index (pointers); elements (u32: rows x columns), columns, limit (u32). Rows of x and y
/// are dense.
GeneratedKernel generate_elements_by_index(const ElementsByIndexSpec& spec);
/// Eight CTAs of 128 threads for each SM, or fewer.
Extent3 elements_by_index_grid(std::uint32_t elements, unsigned sm_count);

}  // namespace heddle::kernels
