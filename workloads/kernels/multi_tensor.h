// Kernels over lists of tensors, shaped like PyTorch's multi_tensor_apply: one launch updates many
// parameters, or takes the norms of many gradients. A thread block works through one chunk of one tensor.
//
// PyTorch passes addresses, sizes and a table of chunks as one struct of kernel arguments; here each is a
// parameter of its own, and a thread block finds its tensor by comparing with the first chunk of each.
// Tensors are dense; operand i of a list has one type. Lists longer than kMostListedTensors take several
// launches.
#pragma once

#include <vector>

#include "workloads/kernels/expression_code.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// The largest number of tensors of one launch. In PyTorch it is 110, 64, 48, 36 or 30 for lists of one to
/// five operands.
inline constexpr unsigned kMostListedTensors = 48;

/// Parameters of the kernel.
struct MultiTensorSpec {
    unsigned compute_capability = 80;
    unsigned tensors = 1;
    /// y0 ... of x0 ..., for each element of each tensor. An output may be the same memory as an input. No
    /// random() and no position.
    expression::Expression expression;
    std::vector<ElementType> inputs, outputs;
    /// Inputs that are the same for all tensors: one element in memory (a step size, a clip coefficient)
    /// instead of a tensor.
    std::vector<bool> input_is_scalar;
    /// Elements per access, 1, 2 or 4, and of a multiple of which every tensor must have.
    unsigned vector_width = 1;
    unsigned threads = 512, elements_per_thread = 4;  ///< of one turn; PyTorch's kILP is 4
    std::uint32_t chunk_elements = 65536;             ///< a multiple of threads * elements_per_thread
};

/// Parameters, in order, t counting tensors:
///   t<t>_y0, ..., t<t>_x0, ...    pointers; of scalars none
///   t<t>_elements, t<t>_first     u32; the first chunk of the tensor
///   x<i>                          pointers to scalars
///   s0, s1, ...                   f32
GeneratedKernel generate_multi_tensor(const MultiTensorSpec& spec);

/// Sums of squares of chunks, f32: sums[chunk], as LpNormFunctor with p = 2.
struct MultiTensorNormSpec {
    unsigned compute_capability = 80;
    unsigned tensors = 1;
    ElementType input = ElementType::f32;
    unsigned vector_width = 1, threads = 512, elements_per_thread = 4;
    std::uint32_t chunk_elements = 65536;
};

/// Parameters: t<t>_x0 (pointer), t<t>_elements, t<t>_first for each tensor; sums (pointer).
GeneratedKernel generate_multi_tensor_norm(const MultiTensorNormSpec& spec);

/// A thread block for each tensor: y0 = sum of `count` of the `sums` from `first` on, f32, as the clean-up
/// kernel of PyTorch's foreach_norm. Parameters: sums (pointer); t<t>_y0 (pointer), t<t>_first, t<t>_count
/// (u32) for each tensor.
GeneratedKernel generate_multi_tensor_sums(unsigned compute_capability, unsigned tensors);

/// One thread block of 512 threads: total = sqrt(sum of `sums`), and by how much gradients are to be
/// multiplied so that their norm is at most `limit`: min(1, limit / (total + 1e-6)), as clip_grad_norm_ does.
/// Parameters: total, coefficient, sums (pointers to f32), count (u32), limit (f32).
GeneratedKernel generate_clip_coefficient(unsigned compute_capability);
inline constexpr unsigned kClipThreads = 512;

/// Chunks, and the scalar arguments t<t>_elements and t<t>_first for tensors of these sizes.
struct MultiTensorLaunch {
    Extent3 grid{1, 1, 1};
    std::vector<KernelArgument> arguments;
};
MultiTensorLaunch multi_tensor_launch(const std::vector<std::uint64_t>& elements,
                                      std::uint32_t chunk_elements);

}  // namespace heddle::kernels
