// Layer normalisation and its gradient as PyTorch's eager mode computes them
// (ATen/native/cuda/layer_norm_kernel.cu): a CTA of 128 threads for each row, and the gradients of gamma and
// beta by CTAs of 16 columns.
#pragma once

#include <cstdint>

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the kernels.
struct TorchLayerNormSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32;       ///< also of y, dy and dx: PyTorch has one type for all
    ElementType weight = ElementType::f32;  ///< of gamma, beta and their gradients
    std::uint32_t columns = 0;
};

/// vectorized_layer_norm_kernel: `columns` is a multiple of 4; mean and variance by Welford's method.
/// Parameters: y, mean, rstd, x, gamma, beta (pointers; mean and rstd f32 per row); epsilon (f32). Grid x is
/// the number of rows.
GeneratedKernel generate_torch_layer_norm(const TorchLayerNormSpec& spec);

/// layer_norm_grad_input_kernel. Parameters: dx, dy, x, mean, rstd, gamma (pointers). Grid x is the number of
/// rows.
GeneratedKernel generate_torch_layer_norm_grad_input(const TorchLayerNormSpec& spec);

/// GammaBetaBackwardCUDAKernel, for 128 rows or more. Parameters: dgamma, dbeta, dy, x, mean, rstd
/// (pointers); rows (u32).
GeneratedKernel generate_torch_gamma_beta_grad(const TorchLayerNormSpec& spec);
Extent3 torch_gamma_beta_grad_grid(const TorchLayerNormSpec& spec);

}  // namespace heddle::kernels
