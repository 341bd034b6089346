// Formats against their standards' figures, and conversions against all numbers of a format in order: between
// two neighbours the result of every rounding is known without knowing how it is computed.
#include "isa/numerics/formats.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

using namespace heddle::numerics;

namespace {

constexpr Format kNarrowFormats[] = {Format::bf16, Format::fp16, Format::e5m2, Format::e4m3,
                                     Format::e3m2, Format::e2m3, Format::e2m1};
constexpr Rounding kRoundings[] = {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero,
                                   Rounding::up, Rounding::down};

/// The value of a finite number by the text-book formula.
double value_by_formula(Format format, std::uint32_t bits) {
    const FormatTraits layout = traits(format);
    const int fraction_bits = static_cast<int>(layout.fraction_bits);
    const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    const std::uint32_t field = (bits >> fraction_bits) & ((1u << layout.exponent_bits) - 1);
    const bool negative = (bits >> (layout.exponent_bits + layout.fraction_bits) & 1) != 0;
    const int bias = (1 << (layout.exponent_bits - 1)) - 1;
    const double magnitude = field == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                        : std::ldexp(fraction + (1u << fraction_bits),
                                                     static_cast<int>(field) - bias - fraction_bits);
    return negative ? -magnitude : magnitude;
}

std::uint32_t convert_double(Format to, double value, Conversion conversion) {
    return static_cast<std::uint32_t>(
        convert(to, Format::fp64, std::bit_cast<std::uint64_t>(value), conversion));
}

/// Bits of the largest finite number: below infinity, or in e4m3 below NaN.
std::uint32_t largest_bits(Format format) {
    switch (format) {
        case Format::bf16:
            return 0x7F7F;
        case Format::fp16:
            return 0x7BFF;
        case Format::e5m2:
            return 0x7B;
        case Format::e3m2:
        case Format::e2m3:
            return 0x1F;
        case Format::e2m1:
            return 0x7;
        default:
            return 0x7E;
    }
}

std::uint32_t sign_bit(Format format) {
    return 1u << (traits(format).exponent_bits + traits(format).fraction_bits);
}

}  // namespace

TEST_CASE("largest and smallest numbers are those of the standards") {
    // IEEE 754-2019 (fp16); OCP 8-bit Floating Point Specification 1.0, table 2 (e4m3, e5m2).
    CHECK(to_float(Format::fp16, 0x7BFF) == 65504.0f);
    CHECK(to_float(Format::fp16, 0x0001) == std::ldexp(1.0f, -24));
    CHECK(to_float(Format::fp16, 0x0400) == std::ldexp(1.0f, -14));
    CHECK(to_float(Format::e4m3, 0x7E) == 448.0f);
    CHECK(to_float(Format::e4m3, 0x08) == std::ldexp(1.0f, -6));
    CHECK(to_float(Format::e4m3, 0x01) == std::ldexp(1.0f, -9));
    CHECK(to_float(Format::e5m2, 0x7B) == 57344.0f);
    CHECK(to_float(Format::e5m2, 0x01) == std::ldexp(1.0f, -16));
    CHECK(to_float(Format::bf16, 0x7F7F) == std::bit_cast<float>(0x7F7F0000u));
    CHECK(to_float(Format::tf32, 0x3F802000u) == 1.0f + std::ldexp(1.0f, -10));
    CHECK(to_float(Format::tf32, 0x3F803FFFu) ==
          1.0f + std::ldexp(1.0f, -10));  // the low 13 bits are ignored
    CHECK(std::isnan(to_float(Format::e4m3, 0x7F)));
    CHECK(std::isnan(to_float(Format::e4m3, 0xFF)));
    CHECK(std::isinf(to_float(Format::e5m2, 0x7C)));
    CHECK(std::isnan(to_float(Format::e5m2, 0x7D)));
    CHECK(std::isinf(to_float(Format::fp16, 0xFC00)));
    // OCP Microscaling Formats 1.0, tables 3 to 5.
    CHECK(to_float(Format::e3m2, 0x1F) == 28.0f);
    CHECK(to_float(Format::e3m2, 0x01) == 0.0625f);
    CHECK(to_float(Format::e2m3, 0x1F) == 7.5f);
    CHECK(to_float(Format::e2m3, 0x01) == 0.125f);
    const float fp4[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (std::uint32_t bits = 0; bits < 8; ++bits) {
        CHECK(to_float(Format::e2m1, bits) == fp4[bits]);
        CHECK(to_float(Format::e2m1, bits | 8u) == -fp4[bits]);
    }
    CHECK(from_float(Format::e2m1, 1e30f) == 0x7);
    CHECK(from_float(Format::e2m1, -7.0f) == 0xF);
    CHECK_THROWS_AS(to_float(Format::fp64, 0), std::invalid_argument);
}

TEST_CASE("every number of every narrow format has the value of the formula, and comes back") {
    for (const Format format : kNarrowFormats) {
        for (std::uint32_t magnitude = 0; magnitude <= largest_bits(format); ++magnitude) {
            for (const std::uint32_t bits : {magnitude, magnitude | sign_bit(format)}) {
                const double expected = value_by_formula(format, bits);
                const float value = to_float(format, bits);
                const bool good = value == expected && std::signbit(value) == std::signbit(expected) &&
                                  to_double(format, bits) == expected && from_float(format, value) == bits;
                if (!good) FAIL(traits(format).name << " " << bits);
            }
        }
    }
}

TEST_CASE("between neighbours every rounding goes where it is told") {
    for (const Format format : kNarrowFormats) {
        std::size_t wrong = 0;
        for (std::uint32_t low = 0; low < largest_bits(format); ++low) {
            const std::uint32_t high = low + 1;
            const double x = value_by_formula(format, low), y = value_by_formula(format, high);
            const double middle = (x + y) / 2;
            const double below = std::nextafter(middle, x), above = std::nextafter(middle, y);
            const double just_above_x = std::nextafter(x, y), just_below_y = std::nextafter(y, x);
            for (const bool negative : {false, true}) {
                const std::uint32_t sign = negative ? sign_bit(format) : 0;
                const auto expect = [&](double value, Rounding rounding, std::uint32_t bits) {
                    if (convert_double(format, negative ? -value : value, {.rounding = rounding}) !=
                        (bits | sign))
                        ++wrong;
                };
                const std::uint32_t even = (low & 1) == 0 ? low : high;
                for (const Rounding rounding : kRoundings) {
                    expect(x, rounding, low);
                    expect(y, rounding, high);
                }
                for (const double value : {just_above_x, below, middle, above, just_below_y}) {
                    expect(value, Rounding::toward_zero, low);
                    expect(value, Rounding::up, negative ? low : high);
                    expect(value, Rounding::down, negative ? high : low);
                }
                for (const Rounding nearest : {Rounding::nearest_even, Rounding::nearest_away}) {
                    expect(just_above_x, nearest, low);
                    expect(below, nearest, low);
                    expect(above, nearest, high);
                    expect(just_below_y, nearest, high);
                }
                expect(middle, Rounding::nearest_even, even);
                expect(middle, Rounding::nearest_away, high);
            }
        }
        INFO(traits(format).name);
        CHECK(wrong == 0);
    }
}

TEST_CASE("numbers beyond the largest") {
    const float infinity = std::numeric_limits<float>::infinity();
    const Conversion saturate{.overflow = Overflow::saturate};
    // PTX ISA, cvt: .satfinite gives the largest number, for infinities too; a NaN stays a NaN.
    CHECK(from_float(Format::e4m3, 449.0f) == 0x7E);
    CHECK(from_float(Format::e4m3, 464.0f) == 0x7E);  // tie with the 512 that is not there: to even
    CHECK(from_float(Format::e4m3, 465.0f) == 0x7F);  // no infinity: NaN
    CHECK(from_float(Format::e4m3, 1e9f, saturate) == 0x7E);
    CHECK(from_float(Format::e4m3, -infinity, saturate) == 0xFE);
    CHECK(from_float(Format::e5m2, infinity, saturate) == 0x7B);
    CHECK(from_float(Format::e5m2, 61440.0f) == 0x7C);
    CHECK(from_float(Format::e5m2, 61439.0f) == 0x7B);
    CHECK(from_float(Format::e5m2, std::nanf(""), saturate) == 0x7F);
    CHECK(from_float(Format::fp16, 65519.0f) == 0x7BFF);
    CHECK(from_float(Format::fp16, 65520.0f) == 0x7C00);
    CHECK(from_float(Format::fp16, 1e9f, {.rounding = Rounding::toward_zero}) == 0x7BFF);
    CHECK(from_float(Format::fp16, 1e9f,
                     {.rounding = Rounding::toward_zero, .overflow = Overflow::infinity}) == 0x7C00);
    CHECK(from_float(Format::fp16, -1e9f, {.rounding = Rounding::up}) == 0xFBFF);
    CHECK(from_float(Format::fp16, -1e9f, {.rounding = Rounding::down}) == 0xFC00);
    CHECK(from_float(Format::fp16, -std::nanf("")) == 0x7FFF);
    CHECK(from_float(Format::bf16, std::numeric_limits<float>::max()) == 0x7F80);
}

TEST_CASE("flushing of subnormals") {
    const float tiny = std::ldexp(1.0f, -130);
    CHECK(from_float(Format::bf16, -tiny) == 0x8008);
    CHECK(from_float(Format::bf16, -tiny, {.flush_subnormal_input = true}) == 0x8000);
    CHECK(from_float(Format::bf16, tiny, {.flush_subnormal_result = true}) == 0x0000);
    // An fp16 subnormal is a normal fp32 number: only the result can be flushed.
    CHECK(from_float(Format::fp16, std::ldexp(1.0f, -20), {.flush_subnormal_input = true}) == 0x0010);
    CHECK(from_float(Format::fp16, std::ldexp(-1.0f, -20), {.flush_subnormal_result = true}) == 0x8000);
}

TEST_CASE("tf32 from fp32, as cvt.rna and cvt.rz round it") {
    // arXiv 2512.07004 and the PTX manual: 10 fraction bits kept. 1 + 2^-11 is a tie.
    const float tie = 1.0f + std::ldexp(1.0f, -11);
    CHECK(from_float(Format::tf32, tie, {.rounding = Rounding::nearest_away}) == 0x3F802000u);
    CHECK(from_float(Format::tf32, tie, {.rounding = Rounding::nearest_even}) == 0x3F800000u);
    CHECK(from_float(Format::tf32, tie, {.rounding = Rounding::toward_zero}) == 0x3F800000u);
    CHECK(from_float(Format::tf32, std::bit_cast<float>(0xBF803FFFu), {.rounding = Rounding::toward_zero}) ==
          0xBF802000u);
}

TEST_CASE("the inline conversions and those of arrays equal the general one") {
    std::vector<float> values;
    std::mt19937 random(7);
    for (int i = 0; i < 1'000'003; ++i)
        values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    for (int exponent = -152; exponent <= 128; ++exponent) {
        for (const float factor : {1.0f, -1.5f, 1.0009765625f, -1.00048828125f, 1.00146484375f, 1.99999988f})
            values.push_back(static_cast<float>(std::ldexp(static_cast<double>(factor), exponent)));
    }
    std::vector<std::uint16_t> half(values.size()), brain(values.size());
    fp32_to_fp16(values, half);
    fp32_to_bf16(values, brain);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t fp16 = from_float(Format::fp16, values[i]),
                            bf16 = from_float(Format::bf16, values[i]);
        if (fp32_to_fp16(values[i]) != fp16 || half[i] != fp16) ++wrong;
        if (fp32_to_bf16(values[i]) != bf16 || brain[i] != bf16) ++wrong;
    }
    CHECK(wrong == 0);

    std::vector<std::uint16_t> all(65536);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) all[bits] = static_cast<std::uint16_t>(bits);
    std::vector<float> from_half(all.size()), from_brain(all.size());
    fp16_to_fp32(all, from_half);
    bf16_to_fp32(all, from_brain);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto same = [](float a, float b) {
            return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
        };
        const float fp16 = to_float(Format::fp16, bits), bf16 = to_float(Format::bf16, bits);
        if (!same(fp16_to_fp32(static_cast<std::uint16_t>(bits)), fp16) || !same(from_half[bits], fp16))
            ++wrong;
        if (!same(bf16_to_fp32(static_cast<std::uint16_t>(bits)), bf16) || !same(from_brain[bits], bf16))
            ++wrong;
    }
    CHECK(wrong == 0);
    CHECK_THROWS_AS(fp16_to_fp32(all, std::span<float>(from_half).first(3)), std::invalid_argument);
}

TEST_CASE("fp64 to fp32 rounds as the processor does") {
    std::mt19937_64 random(11);
    std::size_t wrong = 0;
    for (int i = 0; i < 200'000; ++i) {
        // Exponents from below the subnormals of fp32 to beyond its largest number.
        const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                        static_cast<int>(random() % 300) - 215);
        const float expected = static_cast<float>(value);
        if (convert_double(Format::fp32, value, {}) != std::bit_cast<std::uint32_t>(expected)) ++wrong;
    }
    CHECK(wrong == 0);
}
