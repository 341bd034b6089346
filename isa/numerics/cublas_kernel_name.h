// What the names of cuBLAS kernels tell of the order in which they add.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::numerics {

enum class KernelFamily : std::uint8_t {
    unknown,
    nvjet,    ///< nvjet_sm90_hsh_128x256_64x4_1x2_h_bz_coopA_NTN
    cutlass,  ///< cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8, cutlass_80_simt_sgemm_...
    xmma,     ///< sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16
    architecture,  ///< ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn,
                   ///< volta_sgemm_128x64_nn
    vector,        ///< gemv, dot: no tiles
};

/// Numbers that the name does not tell are 0.
struct CublasKernelName {
    KernelFamily family = KernelFamily::unknown;
    unsigned tile_m = 0, tile_n = 0;
    unsigned block_k = 0, stages = 0;
    unsigned instruction_k = 0;  ///< of one MMA: 16 of s16816 and of tensor16x8x16
    unsigned slices_of_k = 1;  ///< parts of every tile that other warps add: 2 of sliced1x2 and warpsize2x2x2
    bool scalar = false;       ///< CUDA cores: simt, sgemm, dgemm, ffma
    bool followed_by_reduce = false;  ///< a splitKreduce kernel stands after it
};

/// `kernels`: every kernel of a launch in order, separated by "; ". The first one that multiplies counts.
CublasKernelName parse_cublas_kernels(const std::string& kernels);

}  // namespace heddle::numerics
