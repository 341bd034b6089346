// Floating-point formats of matrix hardware: what their bits mean, and conversions that round as told.
//
// Raw bits travel as unsigned integers: 8 bits for e4m3 and e5m2 and for the formats of 6 and 4 bits (in the
// low bits; those above are ignored), 16 for fp16 and bf16, 32 for tf32 and fp32, 64 for fp64. tf32 lies in
// the upper 19 bits of a 32-bit register, as in PTX; the lower 13 bits are ignored when read and zero when
// written. Nothing here depends on the rounding mode of the host processor, or changes it.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace heddle::numerics {

/// Floating-point formats, from wide to narrow; names with e and m are those of OCP.
enum class Format : std::uint8_t { fp64, fp32, tf32, bf16, fp16, e5m2, e4m3, e3m2, e2m3, e2m1 };

/// What the largest exponent field means besides numbers.
enum class SpecialNumbers : std::uint8_t {
    infinity_and_nan,  ///< as in IEEE 754
    nan_only,          ///< all ones is NaN, the rest are numbers: e4m3
    none,              ///< every pattern is a number: the formats of 6 and 4 bits
};

/// The layout of a format. e4m3 is the OCP FP8 type: no infinity, NaN is S.1111.111, the largest number is
/// 448. e3m2, e2m3 and e2m1 are the element types of OCP Microscaling (MX) 1.0: largest numbers 28, 7.5
/// and 6.
struct FormatTraits {
    const char* name;                ///< for messages and reports
    unsigned storage_bits;           ///< size of an element in memory or in a register
    unsigned exponent_bits;          ///< width of the exponent field
    unsigned fraction_bits;          ///< explicit ones
    unsigned padding_bits;           ///< ignored low bits of the storage (tf32: 13)
    SpecialNumbers special_numbers;  ///< decides what the largest exponent means
    /// The NaN that NVIDIA hardware writes; where there is none, the largest number stands for it
    /// (cvt.satfinite).
    std::uint64_t nan;

    /// The bias of the exponent field, 2^(exponent_bits - 1) - 1.
    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    /// Exponent of subnormal numbers and of the smallest normal one.
    constexpr int minimum_exponent() const { return 1 - bias(); }
    /// Exponent of the largest numbers: e4m3 and smaller formats use the largest exponent field for numbers.
    constexpr bool has_infinity() const { return special_numbers == SpecialNumbers::infinity_and_nan; }
    constexpr int maximum_exponent() const { return has_infinity() ? bias() : bias() + 1; }
};

/// The layout of each format; compile-time.
constexpr FormatTraits traits(Format format) {
    constexpr SpecialNumbers all = SpecialNumbers::infinity_and_nan;
    switch (format) {
        case Format::fp64:
            return {"fp64", 64, 11, 52, 0, all, 0x7FFFFFFFFFFFFFFFu};
        case Format::fp32:
            return {"fp32", 32, 8, 23, 0, all, 0x7FFFFFFFu};
        case Format::tf32:
            return {"tf32", 32, 8, 10, 13, all, 0x7FFFFFFFu};
        case Format::bf16:
            return {"bf16", 16, 8, 7, 0, all, 0x7FFFu};
        case Format::fp16:
            return {"fp16", 16, 5, 10, 0, all, 0x7FFFu};
        case Format::e5m2:
            return {"e5m2", 8, 5, 2, 0, all, 0x7Fu};
        case Format::e4m3:
            return {"e4m3", 8, 4, 3, 0, SpecialNumbers::nan_only, 0x7Fu};
        case Format::e3m2:
            return {"e3m2", 8, 3, 2, 0, SpecialNumbers::none, 0x1Fu};
        case Format::e2m3:
            return {"e2m3", 8, 2, 3, 0, SpecialNumbers::none, 0x1Fu};
        case Format::e2m1:
            return {"e2m1", 8, 2, 1, 0, SpecialNumbers::none, 0x7u};
    }
    return {};
}

/// What a pattern stands for; subnormal numbers are finite.
enum class NumberClass : std::uint8_t { zero, finite, infinity, nan };

/// A number taken apart. Its magnitude is significand * 2^(exponent - fraction bits of the format): the
/// significand of a normal number has the hidden one in it, that of a subnormal one has not, and its exponent
/// is the smallest.
struct Decoded {
    NumberClass number_class = NumberClass::zero;  ///< zero, finite, infinity or nan
    bool negative = false;                         ///< sign bit, of zeros and NaN too
    int exponent = 0;                              ///< of finite numbers, without bias
    std::uint64_t significand = 0;                 ///< of finite numbers, the hidden bit included
};

/// Takes a pattern apart; padding bits are ignored.
Decoded decode(Format format, std::uint64_t bits);

/// Rounding directions of IEEE 754 and of cvt.
enum class Rounding : std::uint8_t {
    nearest_even,
    nearest_away,  ///< ties away from zero: cvt.rna.tf32
    toward_zero,
    up,    ///< toward +infinity
    down,  ///< toward -infinity
};

/// What a finite value beyond the largest number becomes.
enum class Overflow : std::uint8_t {
    ieee,      ///< infinity or the largest number, as the rounding direction says; e4m3 has NaN in place of
               ///< infinity, smaller formats their largest number
    infinity,  ///< infinity whatever the rounding (tensor cores); e4m3: NaN
    saturate,  ///< the largest number; infinities too (cvt.satfinite)
};

/// How a number is rounded to a format.
struct Conversion {
    Rounding rounding = Rounding::nearest_even;  ///< direction
    Overflow overflow = Overflow::ieee;          ///< what happens beyond the largest number
    bool flush_subnormal_input = false;          ///< to zero of the same sign (cvt.ftz from fp32)
    bool flush_subnormal_result = false;         ///< to zero of the same sign, after rounding (TPU)
};

/// Rounds the number (-1)^negative * magnitude * 2^lsb_exponent once, from its exact value. A magnitude of
/// zero gives a zero of the sign told.
std::uint64_t encode(Format format, bool negative, std::uint64_t magnitude, int lsb_exponent,
                     Conversion conversion = {});

/// Any format to any other. NaN becomes the destination's canonical NaN, without sign and payload.
std::uint64_t convert(Format to, Format from, std::uint64_t bits, Conversion conversion = {});

/// Exact; `format` is any but fp64 (which throws std::invalid_argument). A NaN becomes the canonical one.
float to_float(Format format, std::uint32_t bits);

/// `format` is any but fp64 (which throws std::invalid_argument).
std::uint32_t from_float(Format format, float value, Conversion conversion = {});

/// Exact for every format.
double to_double(Format format, std::uint64_t bits);

// ---- The hot ones, inline. Equal in every bit to convert() with the default conversion. ----

/// Exact, NaN payloads included.
inline float bf16_to_fp32(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    if ((wide & 0x7FFFFFFFu) > 0x7F800000u) return std::bit_cast<float>(0x7FFFFFFFu);
    return std::bit_cast<float>(wide);
}

/// Rounds to nearest even.
inline std::uint16_t fp32_to_bf16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
    return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// Exact; every NaN becomes 0x7FFFFFFF, as on NVIDIA hardware.
inline float fp16_to_fp32(std::uint16_t bits) {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t magnitude = bits & 0x7FFFu;
    if (magnitude >= 0x7C00u)
        return std::bit_cast<float>(magnitude == 0x7C00u ? sign | 0x7F800000u : 0x7FFFFFFFu);
    if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    if (magnitude == 0) return std::bit_cast<float>(sign);
    // Subnormal: bring the leading one to the hidden bit's place. It counts units of 2^-24.
    const unsigned leading = 31u - static_cast<unsigned>(std::countl_zero(magnitude));
    return std::bit_cast<float>(sign | ((magnitude << (23u - leading)) & 0x7FFFFFu) |
                                ((leading + 103u) << 23));
}

/// Rounds to nearest even.
inline std::uint16_t fp32_to_fp16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7FFF;
    if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // 65520 and more
    if (magnitude >= 0x38800000u) {
        const std::uint32_t rebiased = magnitude - 0x38000000u;
        return static_cast<std::uint16_t>(sign | ((rebiased + 0x0FFFu + ((rebiased >> 13) & 1u)) >> 13));
    }
    const std::uint32_t shift = 126u - (magnitude >> 23);  // to the subnormal's unit, 2^-24
    if (shift > 24) return static_cast<std::uint16_t>(sign);
    const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    const std::uint32_t rest = significand & ((1u << shift) - 1u);
    const std::uint32_t half = 1u << (shift - 1);
    const std::uint32_t truncated = significand >> shift;
    return static_cast<std::uint16_t>(
        sign | (truncated + (rest > half || (rest == half && (truncated & 1u)) ? 1 : 0)));
}

// ---- Whole arrays; F16C instructions where the processor has them, the same bits without. ----

/// The spans must be equally long, else std::invalid_argument.
void fp16_to_fp32(std::span<const std::uint16_t> from, std::span<float> to);
void fp32_to_fp16(std::span<const float> from, std::span<std::uint16_t> to);
void bf16_to_fp32(std::span<const std::uint16_t> from, std::span<float> to);
void fp32_to_bf16(std::span<const float> from, std::span<std::uint16_t> to);

}  // namespace heddle::numerics
