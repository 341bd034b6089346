// Dropout with Philox: one counter for four elements, as PyTorch's fused_dropout_kernel_vec (Dropout.cu).
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Element i is kept, times 1 / (1 - probability), when numerics::philox_uniform(seed, offset, i) >=
/// probability. Parameters: y, with a mask also mask (boolean, 1: kept), x (pointers); elements (u32);
/// seed_low, seed_high, offset_low, offset_high (u32); probability, scale (f32).
struct DropoutSpec {
    unsigned compute_capability = 80;
    ElementType x = ElementType::f32, y = ElementType::f32;
    bool mask = true;
};
GeneratedKernel generate_dropout(const DropoutSpec& spec);
/// At most as many CTAs as the device holds; they loop over the tensor.
Extent3 dropout_grid(const DropoutSpec& spec, std::uint32_t elements, unsigned sm_count);

}  // namespace heddle::kernels
