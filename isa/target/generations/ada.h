// Ada: compute capability 8.9 (L40S). generation.h names the sources of what has none here.
#pragma once

#include <array>

#include "isa/target/generations/ampere.h"

namespace heddle::target {

inline constexpr std::array kAda{Generation{
    .name = "Ada",
    .compute_capability = 89,
    .has_ldmatrix = true,
    .has_packed_conversion = true,
    .has_bf16 = true,
    .has_tf32 = true,
    .has_fp8 = true,
    .has_cp_async = true,
    // 8-bit floats came to Ada later than to Hopper: conversions with 8.1, mma.sync with 8.4.
    .ptx_version = "8.4",
    .has_mma_m16n8k16 = true,
    .has_int8_mma_k32 = true,
    .has_fp64_mma = true,
    .gemm_takes_fp8_mma = true,
    // arXiv 2511.10909 and arXiv 2512.07004.
    .tensor_core = {.length_16bit = 8,
                    .length_tf32 = 4,
                    .length_fp8 = 16,
                    .fraction_bits = 24,
                    .fraction_bits_fp8 = 13,
                    .fp8_rounds_to_e8m13 = true,
                    .minimum_exponent_fp32 = -132,
                    .minimum_exponent_fp16 = -20},
    .rates = {.fp32 = 128, .fp64 = 2, .tensor_16bit = 512},
    .max_warps_per_sm = 48,
    .max_ctas_per_sm = 24,
    .shared_kib_per_sm = 100,
    .reserved_shared_bytes_per_cta = 1024,
    .shared_kib_offered = kAmpereSharedKib,
    .largest_sm_count = 142,  // L40S
}};

}  // namespace heddle::target
