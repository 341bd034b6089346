// Operands taken apart once for many products, and a block of the truncated fused dot product on them: what
// the matrix multiplication does per block, without the checks of the definition. Private to this folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {

/// Exponents of operands that are not finite nonzero numbers. Sums of two stay apart from every real
/// exponent, and a special one wins against a zero.
inline constexpr std::int16_t kZeroExponent = -8000;
inline constexpr std::int16_t kSpecialExponent = 24000;
/// Any exponent beyond this has a special operand in it.
inline constexpr int kSpecialLimit = 12000;
/// Any exponent below this is that of a zero.
inline constexpr int kZeroLimit = -4000;

/// value = significand * 2^(exponent - fraction bits of the format).
struct Operand {
    std::int32_t significand = 0;           ///< with the sign; of fp32 24 bits, of inputs 11 at most
    std::int16_t exponent = kZeroExponent;  ///< see above; or the mark of a zero or a special number
};

/// `bits` of any format up to 32 bits.
inline Operand operand_of(Format format, std::uint32_t bits) {
    const FormatTraits layout = traits(format);
    bits >>= layout.padding_bits;
    const std::uint32_t sign = 1u << ((layout.exponent_bits + layout.fraction_bits) % 32);
    const std::uint32_t magnitude = bits & (sign - 1);
    if (magnitude == 0) return {};
    const std::uint32_t fraction = magnitude & ((1u << layout.fraction_bits) - 1);
    const std::uint32_t field = magnitude >> layout.fraction_bits;
    const std::uint32_t largest_field = (1u << layout.exponent_bits) - 1;
    const bool special = layout.has_infinity()
                             ? field == largest_field
                             : layout.special_numbers == SpecialNumbers::nan_only && magnitude == sign - 1;
    Operand operand;
    const std::int32_t significand =
        static_cast<std::int32_t>(field == 0 ? fraction : fraction | 1u << layout.fraction_bits);
    operand.significand = (bits & sign) != 0 ? -significand : significand;
    operand.exponent =
        special ? kSpecialExponent
                : static_cast<std::int16_t>((field == 0 ? 1 : static_cast<int>(field)) - layout.bias());
    return operand;
}

/// Step 3: `significand` * 2^shift, the magnitude cut towards zero.
inline std::int64_t align(std::int64_t significand, int shift) {
    if (shift >= 0) return significand << shift;
    if (shift <= -63) return 0;
    const std::int64_t magnitude = significand < 0 ? -significand : significand;
    const std::int64_t cut = magnitude >> -shift;
    return significand < 0 ? -cut : cut;
}

/// Step 4: the sum of a block, in units of 2^(emax - F), becomes the output.
inline std::uint32_t round_sum(const DotProductParameters& parameters, std::int64_t sum, int emax) {
    if (sum == 0) return 0;
    const bool negative = sum < 0;
    const std::uint64_t magnitude =
        negative ? -static_cast<std::uint64_t>(sum) : static_cast<std::uint64_t>(sum);
    const std::uint64_t bits =
        encode(parameters.output, negative, magnitude, emax - parameters.alignment_fraction_bits,
               {.rounding = parameters.rounding, .overflow = Overflow::infinity});
    // Cutting off fraction bits is rounding toward zero, whether the number is normal, subnormal or an
    // infinity.
    const unsigned removed = traits(parameters.output).fraction_bits - parameters.result_fraction_bits;
    return static_cast<std::uint32_t>(bits >> removed << removed);
}

/// One block of one output element, as raw bits of the output format. The caller has seen to it that nothing
/// in it is special: `emax` is the largest exponent of `a[i]` times `b[i]` and `c`, below kSpecialLimit.
inline std::uint32_t block_sum(const DotProductParameters& parameters, std::size_t length, const Operand* a,
                               const Operand* b, Operand c, int emax) {
    emax = std::max(emax, parameters.minimum_exponent);
    const int unit_exponent = emax - parameters.alignment_fraction_bits;
    const int product_fraction =
        static_cast<int>(traits(parameters.input).fraction_bits + traits(parameters.input_b).fraction_bits);
    const int c_fraction = static_cast<int>(traits(parameters.output).fraction_bits);
    std::int64_t sum = align(c.significand, c.exponent - c_fraction - unit_exponent);
    for (std::size_t i = 0; i < length; ++i) {
        const int exponent = a[i].exponent + b[i].exponent;
        sum += align(std::int64_t{a[i].significand} * b[i].significand,
                     exponent - product_fraction - unit_exponent);
    }
    return round_sum(parameters, sum, emax);
}

/// Infinities and NaN have one mark, zeros another, in place of the exponent; subnormal numbers have neither.
inline bool is_special(const Operand& operand) {
    return operand.exponent == kSpecialExponent;
}
inline bool is_zero(const Operand& operand) {
    return operand.exponent == kZeroExponent;
}
inline bool is_nan(Format format, const Operand& operand) {
    const FormatTraits layout = traits(format);
    const std::int32_t of_infinity = 1 << layout.fraction_bits;
    const bool infinity = operand.significand == of_infinity || operand.significand == -of_infinity;
    return is_special(operand) && !(layout.has_infinity() && infinity);
}

/// A block with a NaN or an infinity in it. No finite number matters.
inline std::uint32_t special_block(const DotProductParameters& parameters, std::size_t length,
                                   const Operand* a, const Operand* b, Operand c) {
    const std::uint32_t nan = static_cast<std::uint32_t>(traits(parameters.output).nan);
    if (is_nan(parameters.output, c)) return nan;
    bool positive = is_special(c) && c.significand > 0, negative = is_special(c) && c.significand < 0;
    for (std::size_t i = 0; i < length; ++i) {
        if (is_nan(parameters.input, a[i]) || is_nan(parameters.input_b, b[i])) return nan;
        if (!is_special(a[i]) && !is_special(b[i])) continue;
        if (is_zero(a[i]) || is_zero(b[i])) return nan;
        ((a[i].significand < 0) != (b[i].significand < 0) ? negative : positive) = true;
    }
    if (positive && negative) return nan;
    // Encoding a number far too large gives the infinity.
    return static_cast<std::uint32_t>(
        encode(parameters.output, negative, 1, 1000, {.overflow = Overflow::infinity}));
}

}  // namespace heddle::numerics
