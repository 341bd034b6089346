#include "isa/numerics/formats.h"

#include <stdexcept>

namespace heddle::numerics {
namespace {

std::uint64_t mask(unsigned bits) {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// The unpadded bits of the largest finite number, without sign.
std::uint64_t largest_magnitude(const FormatTraits& format) {
    const std::uint64_t all = mask(format.exponent_bits + format.fraction_bits);
    switch (format.special_numbers) {
        case SpecialNumbers::infinity_and_nan:
            return all - (std::uint64_t{1} << format.fraction_bits);
        case SpecialNumbers::nan_only:
            return all - 1;
        case SpecialNumbers::none:
            break;
    }
    return all;
}

std::uint64_t pack(const FormatTraits& format, bool negative, std::uint64_t magnitude) {
    const std::uint64_t sign = std::uint64_t{negative} << (format.exponent_bits + format.fraction_bits);
    return (sign | magnitude) << format.padding_bits;
}

std::uint64_t infinity_of(Format to, bool negative) {
    const FormatTraits format = traits(to);
    if (format.special_numbers == SpecialNumbers::none)
        return pack(format, negative, largest_magnitude(format));
    if (!format.has_infinity()) return format.nan;
    return pack(format, negative, mask(format.exponent_bits) << format.fraction_bits);
}

bool overflow_gives_infinity(const Conversion& conversion, bool negative) {
    if (conversion.overflow == Overflow::infinity) return true;
    switch (conversion.rounding) {
        case Rounding::toward_zero:
            return false;
        case Rounding::up:
            return !negative;
        case Rounding::down:
            return negative;
        default:
            return true;
    }
}

/// Drops the low `shift` bits of `value` and rounds what is left.
std::uint64_t shift_right_and_round(std::uint64_t value, int shift, Rounding rounding, bool negative) {
    // To the left by at most the fraction's bits: exponents below the smallest only add to `shift`.
    if (shift <= 0) return value << -shift;  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult)
    const std::uint64_t kept = shift >= 64 ? 0 : value >> shift;
    const std::uint64_t rest = shift >= 64 ? value : value & mask(static_cast<unsigned>(shift));
    if (rest == 0) return kept;
    // A half exists in 64 bits only up to a shift of 64; beyond it everything is less than half.
    const std::uint64_t half = shift > 64 ? 0 : std::uint64_t{1} << (shift - 1);
    const bool tie = half != 0 && rest == half;
    const bool above = half != 0 && rest > half;
    switch (rounding) {
        case Rounding::nearest_even:
            return kept + (above || (tie && (kept & 1)) ? 1 : 0);
        case Rounding::nearest_away:
            return kept + (above || tie ? 1 : 0);
        case Rounding::toward_zero:
            return kept;
        case Rounding::up:
            return kept + (negative ? 0 : 1);
        case Rounding::down:
            return kept + (negative ? 1 : 0);
    }
    return kept;
}

}  // namespace

Decoded decode(Format from, std::uint64_t bits) {
    const FormatTraits format = traits(from);
    bits >>= format.padding_bits;
    const unsigned magnitude_bits = format.exponent_bits + format.fraction_bits;
    Decoded number;
    number.negative = ((bits >> magnitude_bits) & 1) != 0;
    const std::uint64_t magnitude = bits & mask(magnitude_bits);
    if (magnitude > largest_magnitude(format)) {
        const bool is_infinity = format.has_infinity() && magnitude == mask(format.exponent_bits)
                                                                           << format.fraction_bits;
        number.number_class = is_infinity ? NumberClass::infinity : NumberClass::nan;
        return number;
    }
    const std::uint64_t fraction = magnitude & mask(format.fraction_bits);
    const int field = static_cast<int>(magnitude >> format.fraction_bits);
    number.exponent = (field == 0 ? 1 : field) - format.bias();
    number.significand = field == 0 ? fraction : fraction | std::uint64_t{1} << format.fraction_bits;
    number.number_class = magnitude == 0 ? NumberClass::zero : NumberClass::finite;
    return number;
}

std::uint64_t encode(Format to, bool negative, std::uint64_t magnitude, int lsb_exponent,
                     Conversion conversion) {
    const FormatTraits format = traits(to);
    if (magnitude == 0) return pack(format, negative, 0);
    const int fraction_bits = static_cast<int>(format.fraction_bits);
    const int leading = 63 - std::countl_zero(magnitude);
    int exponent = leading + lsb_exponent;
    if (exponent < format.minimum_exponent()) exponent = format.minimum_exponent();
    // The result counts units of 2^(exponent - fraction bits).
    const int shift = exponent - fraction_bits - lsb_exponent;
    const std::uint64_t significand = shift_right_and_round(magnitude, shift, conversion.rounding, negative);
    // With the hidden bit in place of the exponent field's lowest bit, a carry out of the significand comes
    // out right.
    const std::uint64_t hidden = std::uint64_t{1} << format.fraction_bits;
    std::uint64_t result = ~std::uint64_t{0};
    if (exponent <= format.maximum_exponent()) {
        const std::uint64_t field = static_cast<std::uint64_t>(exponent - format.minimum_exponent());
        result = (field << format.fraction_bits) + significand;
    }
    if (result > largest_magnitude(format)) {
        if (conversion.overflow != Overflow::saturate && overflow_gives_infinity(conversion, negative))
            return infinity_of(to, negative);
        result = largest_magnitude(format);
    }
    if (conversion.flush_subnormal_result && result < hidden) result = 0;
    return pack(format, negative, result);
}

std::uint64_t convert(Format to, Format from, std::uint64_t bits, Conversion conversion) {
    const FormatTraits source = traits(from), format = traits(to);
    const Decoded number = decode(from, bits);
    switch (number.number_class) {
        case NumberClass::nan:
            return format.nan;
        case NumberClass::infinity:
            if (conversion.overflow == Overflow::saturate)
                return pack(format, number.negative, largest_magnitude(format));
            return infinity_of(to, number.negative);
        case NumberClass::zero:
            return pack(format, number.negative, 0);
        case NumberClass::finite:
            break;
    }
    const bool subnormal = number.significand >> source.fraction_bits == 0;
    if (subnormal && conversion.flush_subnormal_input) return pack(format, number.negative, 0);
    return encode(to, number.negative, number.significand,
                  number.exponent - static_cast<int>(source.fraction_bits), conversion);
}

float to_float(Format format, std::uint32_t bits) {
    if (format == Format::fp64) throw std::invalid_argument("fp64 does not fit into a float");
    return std::bit_cast<float>(static_cast<std::uint32_t>(convert(Format::fp32, format, bits)));
}

std::uint32_t from_float(Format format, float value, Conversion conversion) {
    if (format == Format::fp64) throw std::invalid_argument("fp64 does not fit into 32 bits");
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint32_t>(convert(format, Format::fp32, bits, conversion));
}

double to_double(Format format, std::uint64_t bits) {
    return std::bit_cast<double>(convert(Format::fp64, format, bits));
}

}  // namespace heddle::numerics
