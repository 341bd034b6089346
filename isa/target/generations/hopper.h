// Hopper: compute capability 9.0 (H100, H200). generation.h names the sources of what has none here.
#pragma once

#include <array>

#include "isa/target/generations/ampere.h"

namespace heddle::target {

inline constexpr std::array kHopper{Generation{
    .name = "Hopper",
    .compute_capability = 90,
    .has_ldmatrix = true,
    .has_packed_conversion = true,
    .has_bf16 = true,
    .has_tf32 = true,
    .has_fp8 = true,
    .has_cp_async = true,
    .has_bf16_reduction = true,
    .has_tensor_maps = true,
    .has_programmatic_launch = true,
    .has_wgmma = true,
    .has_specific_target = true,
    .has_mma_m16n8k16 = true,
    .has_int8_mma_k32 = true,
    .has_fp64_mma = true,
    .has_fp64_mma_m16 = true,
    .has_fast_fp64_mma = true,
    // arXiv 2511.10909 and arXiv 2512.07004.
    .tensor_core = {.length_16bit = 16,
                    .length_tf32 = 8,
                    .length_fp8 = 32,
                    .fraction_bits = 25,
                    .fraction_bits_fp8 = 13,
                    .fp8_rounds_to_e8m13 = true,
                    .mma_sync_unpacks_fp8 = true,
                    .minimum_exponent_fp32 = -133,
                    .minimum_exponent_fp16 = -21},
    .rates = {.fp32 = 128, .fp64 = 64, .tensor_16bit = 2048, .tensor_fp64 = 128},
    .gemm_fit = GemmFit::h100,
    .max_warps_per_sm = 64,
    .max_ctas_per_sm = 32,
    .shared_kib_per_sm = 228,
    .reserved_shared_bytes_per_cta = 1024,
    .shared_kib_offered = kAmpereSharedKib,
    .largest_sm_count = 132,  // H100
}};

}  // namespace heddle::target
