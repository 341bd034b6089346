// Quantisation to 8-bit floats with the largest magnitude of what was quantised, as Transformer Engine's cast
// kernels.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// y = x times scale, limited to the largest finite value, rounded to nearest even. Parameters: y; with a
/// scale also scale (f32 in memory); with amax also amax (f32 in memory, zero before); x (pointers); elements
/// (u32). Compute capability 8.9 and later.
struct QuantiseSpec {
    unsigned compute_capability = 90;
    ElementType x = ElementType::bf16;  ///< f32, f16, bf16
    bool e5m2 = false;                  ///< else e4m3
    bool scale = true, amax = true;
    unsigned vector_width = 1;  ///< 1, 2, 4 or 8; divides elements
};
GeneratedKernel generate_quantise(const QuantiseSpec& spec);
Extent3 quantise_grid(const QuantiseSpec& spec, std::uint32_t elements, unsigned sm_count);

}  // namespace heddle::kernels
