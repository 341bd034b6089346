// Blackwell of graphics boards: compute capability 12.0 (RTX 5090) and 12.1. It has no tcgen05; its mma.sync
// reaches the whole tensor core. generation.h names the sources of what has none here.
//
// Its tensor core has the rate of Ada's, for which NVIDIA's RTX Blackwell whitepapers give 503.8 TFLOP/s of fp16
// on 188 SMs at 2617 MHz; GeForce boards have half of it where sums are fp32, which a hardware file says.
#pragma once

#include <array>

#include "isa/target/generations/ampere.h"

namespace heddle::target {

/// The devices differ in their compute capability alone.
constexpr Generation rtx_blackwell_of(unsigned compute_capability) {
    return {
        .name = "RTX Blackwell",
        .compute_capability = compute_capability,
        .has_ldmatrix = true,
        .has_packed_conversion = true,
        .has_bf16 = true,
        .has_tf32 = true,
        .has_fp8 = true,
        .has_cp_async = true,
        .has_bf16_reduction = true,
        .has_tensor_maps = true,
        .has_programmatic_launch = true,
        .has_specific_target = true,
        .ptx_version = "9.0",
        .has_mma_m16n8k16 = true,
        .has_int8_mma_k32 = true,
        .has_fp64_mma = true,
        .has_fp64_mma_m16 = true,
        .gemm_takes_fp8_mma = true,
        // arXiv 2511.10909 and arXiv 2512.07004.
        .tensor_core = {.length_16bit = 16,
                        .length_tf32 = 8,
                        .length_fp8 = 32,
                        .fraction_bits = 25,
                        .fraction_bits_fp8 = 25,
                        .mma_sync_multiplies_narrower = true,
                        .minimum_exponent_fp32 = -133,
                        .minimum_exponent_fp16 = -21},
        .rates = {.fp32 = 128, .fp64 = 2, .tensor_16bit = 512},
        .max_warps_per_sm = 48,
        .max_ctas_per_sm = 24,
        .shared_kib_per_sm = 100,
        .reserved_shared_bytes_per_cta = 1024,
        .shared_kib_offered = kAmpereSharedKib,
        .largest_sm_count = 188,  // RTX PRO 6000
    };
}

inline constexpr std::array kRtxBlackwell{rtx_blackwell_of(120), rtx_blackwell_of(121)};

}  // namespace heddle::target
