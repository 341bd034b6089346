// Scalar pieces of floating-point semantics: flushing, saturation, NaN, 16-bit formats. Branch-free where it
// matters, so that loops over lanes vectorise. Included by the handler files only, see lanes.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {

/// The NaN that single-precision instructions return: PTX manual, "Floating Point Instructions".
inline constexpr std::uint32_t kNan32 = 0x7FFFFFFFu;
inline constexpr std::uint16_t kNan16 = 0x7FFFu;

/// NaN as the hardware returns it: one pattern for fp32; fp64 keeps the payload.
inline float canonical(float value) {
    return value != value ? std::bit_cast<float>(kNan32) : value;
}
inline double canonical(double value) {
    return value;
}

/// Subnormals to zero of the same sign.
inline float flush(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x7F800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : value;
}
inline double flush(double value) {
    return value;
}

/// flush() if the instruction has .ftz, which the handler knows at compile time.
template <bool kFlush, class T>
inline T flush_if(T value) {
    if constexpr (kFlush)
        return flush(value);
    else
        return value;
}

/// Clamps to [0, 1], as .sat does; NaN becomes +0.
template <class T>
inline T saturate(T value) {
    const T low = value > T{0} ? value : T{0};  // false for NaN
    return low < T{1} ? low : T{1};
}

/// The last step of every f32 and f64 operation: .ftz, .sat and the pattern of NaN.
template <bool kFlush, bool kSaturate, class T>
inline T finish(T value) {
    value = flush_if<kFlush>(value);
    if constexpr (kSaturate)
        return saturate(value);
    else
        return canonical(value);
}

/// The result of an operation on these operands. Doubles keep a NaN's payload: the first operand that is one,
/// made quiet, is the result. The PTX manual leaves open which, and so do the host's instructions, whose
/// operands the compiler may exchange. Singles have one NaN only, which finish() gives.
inline float with_first_nan(float value, float, float, float) {
    return value;
}
inline double with_first_nan(double value, double a, double b, double c) {
    const double nan = a != a ? a : b != b ? b : c;
    const double quiet = std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | std::uint64_t{1} << 51);
    return nan != nan ? quiet : value;
}

// IEEE half to single and back. Subnormals are exact; NaNs become canonical.
inline float to_float(Half half) {
    const std::uint32_t magnitude = half.bits & 0x7FFFu;
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
    // Placed 112 exponents too low, then multiplied up: exact for normal and subnormal numbers alike.
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
    const std::uint32_t special = magnitude == 0x7C00u ? 0x7F800000u : kNan32;
    const std::uint32_t result = magnitude >= 0x7C00u ? special : finite;
    return std::bit_cast<float>(magnitude > 0x7C00u ? kNan32 : (result | sign));
}
inline float to_float(Bfloat value) {
    const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
    return std::bit_cast<float>((bits & 0x7FFFFFFFu) > 0x7F800000u ? kNan32 : bits);
}

/// Rounds to nearest, ties to even.
inline Half to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    // Below 2^-14 the addition of 0.5 rounds at the last subnormal bit.
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f) -
        0x3F000000u;
    const std::uint32_t normal = (magnitude + 0xFFFu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    std::uint32_t result = magnitude < 0x38800000u ? small : normal;
    result = magnitude >= 0x477FF000u ? 0x7C00u : result;  // rounds up to 65536
    result |= sign;
    return {static_cast<std::uint16_t>(magnitude > 0x7F800000u ? kNan16 : result)};
}
inline Bfloat to_bfloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return {static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? kNan16 : rounded)};
}

/// Rounds to nearest even; T is Half or Bfloat.
template <class T>
inline T from_float(float value) {
    if constexpr (std::is_same_v<T, Half>)
        return to_half(value);
    else
        return to_bfloat(value);
}

/// Whether the pattern is a NaN, by exponent and fraction.
inline bool is_nan(Half value) {
    return (value.bits & 0x7FFFu) > 0x7C00u;
}
inline bool is_nan(Bfloat value) {
    return (value.bits & 0x7FFFu) > 0x7F80u;
}
/// Minimum or maximum of 16-bit numbers: a number beats NaN unless kNan; -0 is below +0.
template <bool kNan, bool kMaximum, class T>
inline T extreme16(T a, T b) {
    // As sign-magnitude integers made monotonic.
    const auto order = [](T v) {
        const auto bits = static_cast<std::int16_t>(v.bits);
        return bits < 0 ? -1 - static_cast<std::int32_t>(v.bits & 0x7FFFu) : static_cast<std::int32_t>(bits);
    };
    const T extreme = (order(a) < order(b)) != kMaximum ? a : b;
    const T nan{kNan16};
    if constexpr (kNan)
        return is_nan(a) || is_nan(b) ? nan : extreme;
    else
        return is_nan(a) ? (is_nan(b) ? nan : b) : (is_nan(b) ? a : extreme);
}

/// Rounds to odd: the result of an exact sum a + b, inexact ones with the last bit set, so that a later
/// rounding to a format at least two bits narrower is correct (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums").
inline double add_to_odd(double a, double b) {
    const double sum = a + b;
    const double from_b = sum - a;
    const double error = (a - (sum - from_b)) + (b - from_b);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    const bool adjust = error != 0 && (bits & 1u) == 0 && sum - sum == 0;
    // Towards the error: away from zero when it has the sign of the sum.
    const bool away = (error > 0) == (sum > 0);
    return std::bit_cast<double>(adjust ? (away ? bits + 1 : bits - 1) : bits);
}

/// double to a 16-bit format in one rounding to nearest even: first to odd at single precision.
inline float to_float_odd(double value) {
    const float nearest = static_cast<float>(value);
    const double difference = value - static_cast<double>(nearest);
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    const bool infinite = (bits & 0x7F800000u) == 0x7F800000u;
    const bool adjust = difference != 0 && (bits & 1u) == 0 && !infinite;
    const bool away = (difference > 0) == (value > 0);
    return std::bit_cast<float>(adjust ? (away ? bits + 1 : bits - 1) : bits);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
