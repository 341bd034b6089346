// How two results differ: in units of the last place, relatively, in bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/numerics/formats.h"

namespace heddle::numerics {

/// Numbers of fp32 that lie between, plus one; 0 for equal bits and for +0 against -0. Two NaNs are 0 apart,
/// a NaN and anything else UINT32_MAX.
std::uint32_t ulp_distance(float a, float b);

/// The same among fp16 numbers, given as raw bits. A NaN and anything else are 65535 apart.
std::uint32_t ulp_distance_fp16(std::uint16_t a, std::uint16_t b);

/// The same for raw bits of any format up to 32 bits wide, and of fp64, in numbers of that format; a NaN and
/// anything else are UINT64_MAX apart.
std::uint64_t ulp_distance(Format format, std::uint64_t a, std::uint64_t b);

/// |actual - expected| / |expected| in the Frobenius norm, summed in double. 0 when both are zero; infinity
/// when only `expected` is. Spans of unequal length throw std::invalid_argument.
double relative_frobenius_error(std::span<const float> actual, std::span<const float> expected);
double relative_frobenius_error(std::span<const double> actual, std::span<const double> expected);

/// What a comparison of two arrays says of them.
struct Difference {
    std::size_t count = 0;            ///< elements compared
    std::size_t identical_bits = 0;   ///< elements
    std::uint32_t largest_ulp = 0;    ///< over all elements, in units of the last place
    std::size_t first_different = 0;  ///< `count` when none
    /// Part of the elements whose bits are equal, 0 to 1; 1 for empty arrays.
    double identical_fraction() const {
        return count == 0 ? 1.0 : static_cast<double>(identical_bits) / static_cast<double>(count);
    }
};

/// Spans of unequal length throw std::invalid_argument.
Difference difference(std::span<const float> actual, std::span<const float> expected);

/// FNV-1a, 64 bits: to tell apart runs whose results should be equal in every bit.
std::uint64_t hash_bits(std::span<const std::byte> bytes);

}  // namespace heddle::numerics
