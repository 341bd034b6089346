#include "isa/numerics/compare.h"

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace heddle::numerics {
namespace {

/// Maps sign and magnitude to a line on which neighbouring numbers differ by one and both zeros are 0.
std::int64_t place_on_line(std::uint32_t bits, unsigned width) {
    const std::uint32_t sign = 1u << (width - 1);
    const std::int64_t magnitude = bits & (sign - 1);
    return (bits & sign) != 0 ? -magnitude : magnitude;
}

std::uint32_t distance(std::uint32_t a, std::uint32_t b, unsigned width, std::uint32_t infinity) {
    const std::uint32_t magnitude = (1u << (width - 1)) - 1;
    const bool a_nan = (a & magnitude) > infinity, b_nan = (b & magnitude) > infinity;
    if (a_nan || b_nan) return a_nan && b_nan ? 0 : magnitude * 2 + 1;
    const std::int64_t apart = place_on_line(a, width) - place_on_line(b, width);
    return static_cast<std::uint32_t>(apart < 0 ? -apart : apart);
}

template <typename Number>
double relative_error(std::span<const Number> actual, std::span<const Number> expected) {
    if (actual.size() != expected.size())
        throw std::invalid_argument("comparison of arrays of unequal length");
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double right = static_cast<double>(expected[i]);
        const double wrong = static_cast<double>(actual[i]) - right;
        error += wrong * wrong;
        norm += right * right;
    }
    if (norm == 0) return error == 0 ? 0 : std::numeric_limits<double>::infinity();
    return std::sqrt(error / norm);
}

}  // namespace

std::uint32_t ulp_distance(float a, float b) {
    return distance(std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b), 32, 0x7F800000u);
}

std::uint64_t ulp_distance(Format format, std::uint64_t a, std::uint64_t b) {
    const FormatTraits layout = traits(format);
    const std::uint64_t sign = std::uint64_t{1} << (layout.exponent_bits + layout.fraction_bits);
    const auto place = [&](std::uint64_t bits) {
        bits >>= layout.padding_bits;
        const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
        return (bits & sign) != 0 ? -magnitude : magnitude;
    };
    const bool a_nan = decode(format, a).number_class == NumberClass::nan;
    const bool b_nan = decode(format, b).number_class == NumberClass::nan;
    if (a_nan || b_nan) return a_nan && b_nan ? 0 : std::numeric_limits<std::uint64_t>::max();
    // Both are below 2^63 in magnitude: the difference of fp64's largest numbers needs 64 bits.
    const std::int64_t from = place(a), to = place(b);
    return from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                     : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
}

std::uint32_t ulp_distance_fp16(std::uint16_t a, std::uint16_t b) {
    return distance(a, b, 16, 0x7C00u);
}

double relative_frobenius_error(std::span<const float> actual, std::span<const float> expected) {
    return relative_error(actual, expected);
}

double relative_frobenius_error(std::span<const double> actual, std::span<const double> expected) {
    return relative_error(actual, expected);
}

Difference difference(std::span<const float> actual, std::span<const float> expected) {
    if (actual.size() != expected.size())
        throw std::invalid_argument("comparison of arrays of unequal length");
    Difference result;
    result.count = result.first_different = actual.size();
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (std::bit_cast<std::uint32_t>(actual[i]) == std::bit_cast<std::uint32_t>(expected[i])) {
            ++result.identical_bits;
        } else if (result.first_different == result.count) {
            result.first_different = i;
        }
        const std::uint32_t ulp = ulp_distance(actual[i], expected[i]);
        if (ulp > result.largest_ulp) result.largest_ulp = ulp;
    }
    return result;
}

std::uint64_t hash_bits(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
    return hash;
}

}  // namespace heddle::numerics
