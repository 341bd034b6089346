// Blackwell's block-scaled dot products: MXFP8, MXFP6, MXFP4 and NVFP4. Every `scale_block` elements along K
// of a row of A, and of a column of B, share a scale.
//
// Two units do it, both as blocks of the truncated fused sum of dot_product_unit.h:
// - mxf8f6f4 (L = 32): the scales' exponents join those of each product; otherwise as without scales.
// - mxf4, mxf4nvf4 (L = 64): products of fp4 numbers are added exactly in groups of 16; a group's sum times
// its two
//   scales is one term of the fused sum, and the exponent that alignment sees is that of the two scales
//   alone, so F = 35 bits below it must hold the group's sum.
// Results are fp32, cut towards zero.
//
// Source: arXiv 2511.10909 (MMA-Sim, tested there against RTX 50 and B200). No recordings have been compared
// here; e0, which is not published, is that of the units without scales.
#pragma once

#include <cstdint>
#include <span>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {

/// The format of a scale, in 8 bits without sign. ue8m0: 2^(bits - 127), NaN is 0xFF. ue4m3: as e4m3; NaN is
/// 0x7F.
enum class ScaleFormat : std::uint8_t { ue8m0, ue4m3 };

/// What the dot product depends on besides its operands.
struct BlockScaledParameters {
    Format input = Format::e2m1, input_b = Format::e2m1;  ///< of A, and of B
    ScaleFormat scale = ScaleFormat::ue4m3;               ///< of both operands
    unsigned scale_block = 16;                            ///< elements along K that share a scale
    unsigned group_length = 16;        ///< products that are added exactly before they are scaled
    unsigned block_length = 64;        ///< L
    int alignment_fraction_bits = 35;  ///< bits below the largest summand that the sum keeps: F
    int minimum_exponent = -133;       ///< of alignment; summands are aligned at this exponent at least
};

/// mxf8f6f4: any two of e4m3, e5m2, e3m2, e2m3, e2m1, one ue8m0 scale for 32.
BlockScaledParameters mxf8f6f4_parameters(Format input, Format input_b);
/// e2m1 with scales for 32 (ue8m0: MXFP4) or 16 elements (ue4m3: NVFP4; ue8m0 is possible too). Other pairs
/// throw std::invalid_argument.
BlockScaledParameters mxf4nvf4_parameters(ScaleFormat scale, unsigned scale_block);

/// One output element. `a` and `b` hold raw bits, equally many; `scales_a` and `scales_b` one scale for each
/// scale_block of them (the last may be short). `c` and the result are raw bits of fp32.
std::uint32_t block_scaled_dot_product(const BlockScaledParameters& parameters,
                                       std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                                       std::span<const std::uint8_t> scales_a,
                                       std::span<const std::uint8_t> scales_b, std::uint32_t c);

/// D = A B + C: A is row-major m x k, B column-major (k is contiguous); scales lie the same way, ceil(k /
/// scale_block) for each row or column. C and D are row-major m x n; D may be C.
void matrix_multiply_accumulate_block_scaled(const BlockScaledParameters& parameters, std::size_t m,
                                             std::size_t n, std::size_t k, const std::uint8_t* a,
                                             const std::uint8_t* b, const std::uint8_t* scales_a,
                                             const std::uint8_t* scales_b, const float* c, float* d);

}  // namespace heddle::numerics
