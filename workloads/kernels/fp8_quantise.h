// A matrix to 8-bit floats with one scale for all of it: the largest magnitude first, then the division.
//
// As libraries quantise the activations of a linear layer (TensorRT-LLM's per-tensor kernels): the scale is
// cleared; 1,024 thread blocks of 1,024 threads find the largest magnitude, one element after the other, and
// join by an atomic maximum of the scale's bits; 1,024 thread blocks of 256 threads divide. Loops are
// unrolled four times, as compilers do. quantise.h has the kernels of another library, whose scale is known
// beforehand.
#pragma once

#include "workloads/kernels/kernel.h"

namespace heddle::kernels {

/// Parameters of the kernels.
struct Fp8QuantiseSpec {
    unsigned compute_capability = 90;
    ElementType input = ElementType::bf16;
    ElementType output = ElementType::e4m3;  ///< or e5m2
    unsigned ctas = 1024;                    ///< of both grids
};

/// Returns the largest finite number of the type: 448 or 57,344.
double largest_finite(ElementType fp8);

/// Parameters: scale (f32, one). One thread block.
GeneratedKernel generate_clear_scale(unsigned compute_capability);
/// Parameters: x, scale, elements (at most 2^31). The scale becomes the largest |x| / largest_finite(output),
/// at least 1 / (512 largest_finite(output)); it must be zero before.
GeneratedKernel generate_amax_scale(const Fp8QuantiseSpec& spec);
/// Parameters: x, scale, y, elements. y = x / scale, to nearest even.
GeneratedKernel generate_quantise(const Fp8QuantiseSpec& spec);

}  // namespace heddle::kernels
