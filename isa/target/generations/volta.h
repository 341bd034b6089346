// Volta: compute capability 7.0 (V100) and 7.2 (Xavier). generation.h names the sources of what has none
// here.
#pragma once

#include <array>

#include "isa/target/generation.h"

namespace heddle::target {

/// CUDA C++ Programming Guide, "Compute Capabilities".
inline constexpr std::uint16_t kVoltaSharedKib[] = {0, 8, 16, 32, 64, 96};

inline constexpr Generation kVolta70{
    .name = "Volta",
    .compute_capability = 70,
    .mma_by_quads = true,
    // arXiv 2511.10909 and arXiv 2512.07004.
    .tensor_core = {.length_16bit = 4,
                    .fraction_bits = 23,
                    .minimum_exponent_fp32 = -131,
                    .minimum_exponent_fp16 = -19},
    .rates = {.fp32 = 64, .fp64 = 32, .tensor_16bit = 512},
    .max_warps_per_sm = 64,
    .max_ctas_per_sm = 32,
    .shared_kib_per_sm = 96,
    .shared_kib_offered = kVoltaSharedKib,
    .largest_sm_count = 80,  // V100
};

inline constexpr std::array kVolta{
    kVolta70,
    [] {
        Generation xavier = kVolta70;
        xavier.compute_capability = 72;
        xavier.rates.fp64 = 2;
        xavier.largest_sm_count = 132;  // not its own: Xavier has no preset
        return xavier;
    }(),
};

}  // namespace heddle::target
