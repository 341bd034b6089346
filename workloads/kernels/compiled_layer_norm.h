// Layer norm as torch.compile writes it (Inductor of PyTorch 2.0, Triton): rows of more than 1,024 columns
// are read three times, in pieces of 2,048, for the mean, for the squares of differences and for the result.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y = (x - mean) / sqrt(variance + epsilon) [* gamma + beta]. Parameters: y, x (pointers), with weights also
/// gamma, beta (pointers); rows (u32); epsilon (f32). Rows are dense; one CTA does one row.
struct CompiledLayerNormSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32;
    bool weights = false;
    ElementType weight = ElementType::f32;
    std::uint32_t columns = 0;
    std::uint32_t piece = 2048;  ///< RBLOCK; Inductor's for inner reductions
    unsigned threads = 256;      ///< 8 warps: Inductor's for pieces of 1,024 elements and more
};
GeneratedKernel generate_compiled_layer_norm(const CompiledLayerNormSpec& spec);
Extent3 compiled_layer_norm_grid(const CompiledLayerNormSpec& spec, std::uint32_t rows);

}  // namespace heddle::kernels
