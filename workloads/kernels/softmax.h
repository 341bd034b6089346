// Softmax over rows, its gradient, and softmax with cross-entropy loss. Exponentials are ex2.approx of a
// fused multiply-add, about 4 ulp; sums are f32 in a fixed order.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Rows of up to 16,384 columns stay in registers between the passes (their number is part of the code);
/// longer ones are read twice, with a running maximum. One launch does `rows` rows.
struct SoftmaxSpec {
    unsigned compute_capability = 80;
    ElementType input = ElementType::f32, output = ElementType::f32;
    std::uint32_t columns = 0;
    unsigned vector_width =
        1;  ///< upper bound; reduced until it divides columns. Row strides must be multiples of it.
    bool cross_entropy = false;            ///< also the loss of each row
    ElementType label = ElementType::i64;  ///< i32 or i64
    ElementType loss = ElementType::f32;
};

/// y = softmax(x). Parameters: y, x (pointers); rows, row_stride (u32, of both). With cross_entropy also
/// labels, loss (pointers, after x): loss[r] = log(sum exp(x[r, :])) - x[r, labels[r]]; labels outside [0,
/// columns) (PyTorch's ignore_index) give loss 0.
GeneratedKernel generate_softmax(const SoftmaxSpec& spec);
Extent3 softmax_grid(const SoftmaxSpec& spec, std::uint32_t rows);

/// dx = y * (dy - sum(dy * y)). Parameters: dx, y, dy (pointers); rows, row_stride (u32).
struct SoftmaxGradSpec {
    unsigned compute_capability = 80;
    ElementType y = ElementType::f32, dy = ElementType::f32, dx = ElementType::f32;
    std::uint32_t columns = 0;  ///< at most 16,384
    unsigned vector_width = 1;
};
GeneratedKernel generate_softmax_grad(const SoftmaxGradSpec& spec);
Extent3 softmax_grad_grid(const SoftmaxGradSpec& spec, std::uint32_t rows);

/// dx[r, c] = scale * (p[r, c] - (c == labels[r])), and 0 in rows whose label lies outside [0, columns).
/// Parameters: dx, p, labels (pointers); rows, columns (u32); scale (f32).
struct CrossEntropyGradSpec {
    unsigned compute_capability = 80;
    ElementType probability = ElementType::f32, output = ElementType::f32, label = ElementType::i64;
    unsigned vector_width = 1;  ///< divides columns
};
GeneratedKernel generate_cross_entropy_grad(const CrossEntropyGradSpec& spec);
Extent3 cross_entropy_grad_grid(const CrossEntropyGradSpec& spec, std::uint32_t rows, std::uint32_t columns);

}  // namespace heddle::kernels
