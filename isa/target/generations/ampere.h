// Ampere: compute capability 8.0 (A100), 8.6 (A10, RTX A6000), 8.7 (AGX Orin) and 8.8 (of CUDA 13).
// generation.h names the sources of what has none here.
#pragma once

#include <array>

#include "isa/target/generation.h"

namespace heddle::target {

/// CUDA C++ Programming Guide, "Compute Capabilities": the sizes of all generations from Ampere on.
inline constexpr std::uint16_t kAmpereSharedKib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

inline constexpr Generation kAmpere80{
    .name = "Ampere",
    .compute_capability = 80,
    .has_ldmatrix = true,
    .has_packed_conversion = true,
    .has_bf16 = true,
    .has_tf32 = true,
    .has_cp_async = true,
    .has_mma_m16n8k16 = true,
    .has_int8_mma_k32 = true,
    .has_fp64_mma = true,
    .has_fast_fp64_mma = true,
    // arXiv 2511.10909 and arXiv 2512.07004.
    .tensor_core = {.length_16bit = 8,
                    .length_tf32 = 4,
                    .fraction_bits = 24,
                    .minimum_exponent_fp32 = -132,
                    .minimum_exponent_fp16 = -20},
    .rates = {.fp32 = 64, .fp64 = 32, .tensor_16bit = 1024},
    .max_warps_per_sm = 64,
    .max_ctas_per_sm = 32,
    .shared_kib_per_sm = 164,
    .reserved_shared_bytes_per_cta = 1024,
    .shared_kib_offered = kAmpereSharedKib,
    .largest_sm_count = 108,  // A100
};

/// The smaller chips have twice the fp32 of 8.0, and half of its tensor core.
constexpr Generation small_ampere(unsigned compute_capability, unsigned shared_kib, unsigned largest) {
    Generation small = kAmpere80;
    small.compute_capability = compute_capability;
    small.has_fast_fp64_mma = false;
    small.rates = {.fp32 = 128, .fp64 = 2, .tensor_16bit = 512};
    small.max_warps_per_sm = 48;
    small.max_ctas_per_sm = 16;
    small.shared_kib_per_sm = shared_kib;
    small.largest_sm_count = largest;
    return small;
}

inline constexpr std::array kAmpere{
    kAmpere80, small_ampere(86, 100, 84),  // A10
    small_ampere(87, 164, 16),             // AGX Orin
    small_ampere(88, 164, 132),            // limits as 8.7, number of SMs not its own
};

}  // namespace heddle::target
