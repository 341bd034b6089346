// Turing: compute capability 7.5 (T4). generation.h names the sources of what has none here.
#pragma once

#include <array>

#include "isa/target/generation.h"

namespace heddle::target {

/// Those of Volta up to what the SM has. The CUDA C++ Programming Guide lists 32 and 64 alone.
inline constexpr std::uint16_t kTuringSharedKib[] = {0, 8, 16, 32, 64};

inline constexpr std::array kTuring{Generation{
    .name = "Turing",
    .compute_capability = 75,
    .has_ldmatrix = true,
    // arXiv 2511.10909 and arXiv 2512.07004. e0 of fp16 output is not published; Ampere's, whose other
    // parameters are the same.
    .tensor_core = {.length_16bit = 8,
                    .fraction_bits = 24,
                    .minimum_exponent_fp32 = -132,
                    .minimum_exponent_fp16 = -20,
                    .fp16_output_inferred = true},
    .rates = {.fp32 = 64, .fp64 = 2, .tensor_16bit = 512},
    .max_warps_per_sm = 32,
    .max_ctas_per_sm = 16,
    .shared_kib_per_sm = 64,
    .shared_kib_offered = kTuringSharedKib,
    .largest_sm_count = 40,  // T4
}};

}  // namespace heddle::target
