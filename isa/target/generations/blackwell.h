// Blackwell of data centres: compute capability 10.0 (B200), 10.1, 10.3 (B300) and 11.0 (Thor, in CUDA
// 12 10.1), which multiply by tcgen05. generation.h names the sources of what has none here.
//
// The rate of its tensor core is that of NVIDIA's HGX B200 datasheet, 2.25 PFLOP/s of dense fp16; the estimates of GEMMs are those of Hopper.
// (The CUDA C++ Programming Guide lists 64 results of fp64 for 10.0.)
#pragma once

#include <array>

#include "isa/target/generations/ampere.h"

namespace heddle::target {

/// The data-centre devices differ in their compute capability and in the residency limits of an SM alone.
constexpr Generation blackwell_of(unsigned compute_capability, unsigned warps = 64, unsigned ctas = 32) {
    return {
        .name = "Blackwell",
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
        .has_tcgen05 = true,
        .has_specific_target = true,
        .ptx_version = "9.0",
        .has_mma_m16n8k16 = true,
        .has_int8_mma_k32 = true,
        .has_fp64_mma = true,
        .has_fp64_mma_m16 = true,
        // arXiv 2511.10909 and arXiv 2512.07004. mma.sync with fp8: recorded on a B200, see
        // validation/recorded/tensor_core_vectors.h.
        .tensor_core = {.length_16bit = 16,
                        .length_tf32 = 8,
                        .length_fp8 = 32,
                        .fraction_bits = 25,
                        .fraction_bits_fp8 = 25,
                        .mma_sync_unpacks_fp8 = true,
                        .minimum_exponent_fp32 = -133,
                        .minimum_exponent_fp16 = -21},
        .rates = {.fp32 = 128, .fp64 = 2, .tensor_16bit = 4096},
        .gemm_fit = GemmFit::h100,
        .max_warps_per_sm = warps,
        .max_ctas_per_sm = ctas,
        .shared_kib_per_sm = 228,
        .reserved_shared_bytes_per_cta = 1024,
        .shared_kib_offered = kAmpereSharedKib,
        .largest_sm_count = 148,
    };
}

inline constexpr std::array kBlackwell{blackwell_of(100), blackwell_of(101, 48, 24), blackwell_of(103),
                                       blackwell_of(110, 48, 24)};

}  // namespace heddle::target
