// Products of few rows, as in decoding: one dot product for each output, on the CUDA cores, without tiles. A
// warp, or all warps of a CTA, read a row of B and a row of A along k, 16 bytes a lane, and add up what their
// lanes have. It asks memory for nothing twice, which is all that such a product costs.
//
// Order: lane l of warp w adds pieces of 16 bytes number w * 32 + l, + 32 * warps, ... in f32 (f64), one
// fused multiply-add after the other; then lanes by a butterfly, halves first; then warps, first to last.
#pragma once

#include "workloads/kernels/gemm_common.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct GemvSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;  ///< of A and B: f16, bf16, f32 or f64
    unsigned warps = 1;                    ///< for one output: 1 (four outputs a CTA), 4, 8 or 16
    /// Elements per load: 16 bytes' worth or a divisor of that; must divide K, leading dimensions and
    /// strides.
    unsigned vector = 1;
    bool batched = false;
    GemmEpilogue epilogue;  ///< vector_width is taken as 1
};

/// Parameters as in gemm_common.h. A is [M, K], B [N, K]: k is contiguous in both.
GeneratedKernel generate_gemv(const GemvSpec& spec);
Extent3 gemv_grid(const GemvSpec& spec, std::uint32_t m, std::uint32_t n, std::uint32_t batch = 1);
/// Products in a row for one lane: 16 bytes' worth.
unsigned gemv_piece(ElementType type);

}  // namespace heddle::kernels
