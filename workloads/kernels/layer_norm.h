// Layer normalisation over rows: y = (x - mean) * rstd * gamma + beta, and its gradient. Rows stay in
// registers; mean and variance by two passes over them, f32. RMS normalisation is the same without mean and
// beta, rstd = 1 / sqrt(mean(x^2) + epsilon): Transformer Engine's kernels for the two are built alike.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters: y, mean, rstd, x, gamma, beta (pointers; mean and rstd f32 per row); rows (u32); epsilon
/// (f32). Rows are dense. At most 16,384 columns. RMS norm has no mean and no beta.
struct LayerNormSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32, weight = ElementType::f32;
    std::uint32_t columns = 0;
    unsigned vector_width = 1;  ///< upper bound; reduced until it divides columns
    bool rms = false;
};
GeneratedKernel generate_layer_norm(const LayerNormSpec& spec);
Extent3 layer_norm_grid(const LayerNormSpec& spec, std::uint32_t rows);

/// dx, and partial sums of d gamma and d beta: [workers, columns] in f32 each, where worker w, a CTA, did
/// every workers-th row, or four rows, one for each warp, from row 4 w on (at most 1,024 columns);
/// reduce_columns finishes them. At most 8,192 columns. Parameters: dx, partial_gamma, partial_beta, dy, x,
/// mean, rstd, gamma (pointers); rows (u32). RMS norm has no mean and no partial_beta.
struct LayerNormGradSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, dy = ElementType::f32, dx = ElementType::f32, weight = ElementType::f32;
    std::uint32_t columns = 0;
    unsigned vector_width = 1;
    bool rms = false;
};
GeneratedKernel generate_layer_norm_grad(const LayerNormGradSpec& spec);
/// `workers` may be any number; layer_norm_grad_workers() gives as many CTAs as Transformer Engine's kernels
/// have room for on the SMs (three of warps with a row each, else two), or fewer when there are fewer rows.
Extent3 layer_norm_grad_grid(std::uint32_t workers);
std::uint32_t layer_norm_grad_workers(const LayerNormGradSpec& spec, std::uint32_t rows, unsigned sm_count);

}  // namespace heddle::kernels
