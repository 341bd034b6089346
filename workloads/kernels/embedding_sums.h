// The gradient of an embedding without atomics, its sums in a fixed order: PyTorch's
// embedding_backward_feature_kernel, which takes up to 3,072 indices.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y[index[i], :] += x[i, :] for i = 0, 1, ... A CTA has 32 columns and all rows: its 32 warps bring 32 rows
/// into shared memory, then the first warp of those with one index adds their rows up in f32, rounds the sum
/// to y's type and adds it to y. So the time is that of rows / 32 round trips to memory, one after the other,
/// whatever the number of columns.
struct EmbeddingSumsSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32;
    ElementType index = ElementType::i64;  ///< i32 or i64, each within the table
};
/// Parameters: y, x, index (pointers); rows, columns (u32). Rows of x and y are dense.
GeneratedKernel generate_embedding_sums(const EmbeddingSumsSpec& spec);
Extent3 embedding_sums_grid(std::uint32_t columns);

}  // namespace heddle::kernels
