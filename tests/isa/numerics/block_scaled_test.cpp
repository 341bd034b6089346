// Block-scaled products against sums of doubles in which every step is exact, and against numbers by hand.
#include "isa/numerics/block_scaled.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

using namespace heddle::numerics;

namespace {

struct Operands {
    std::vector<std::uint8_t> a, b, scales_a, scales_b;
    float c = 0;
};

Operands random_operands(const BlockScaledParameters& parameters, std::size_t k, std::mt19937_64& random) {
    Operands x;
    const std::uint8_t lowest = parameters.scale == ScaleFormat::ue8m0 ? 117 : 0x08;
    const unsigned spread = parameters.scale == ScaleFormat::ue8m0 ? 20 : 0x70;
    for (std::size_t i = 0; i < k; ++i) {
        for (const bool is_a : {true, false}) {
            const Format format = is_a ? parameters.input : parameters.input_b;
            std::uint8_t bits = static_cast<std::uint8_t>(random());
            const NumberClass drawn = decode(format, bits).number_class;
            if (drawn == NumberClass::nan || drawn == NumberClass::infinity) bits = 0;
            (is_a ? x.a : x.b).push_back(bits);
        }
        if (i % parameters.scale_block == 0) {
            x.scales_a.push_back(static_cast<std::uint8_t>(lowest + random() % spread));
            x.scales_b.push_back(static_cast<std::uint8_t>(lowest + random() % spread));
        }
    }
    x.c = static_cast<float>(std::ldexp(static_cast<double>(static_cast<std::int32_t>(random())), -24));
    return x;
}

double scale_value(ScaleFormat format, std::uint8_t bits) {
    return format == ScaleFormat::ue8m0 ? std::ldexp(1.0, bits - 127) : to_double(Format::e4m3, bits);
}
int exponent_of(double value) {
    return static_cast<int>(std::floor(std::log2(std::abs(value))));
}
/// Exponent of a number that is not normalised below the smallest exponent of its format.
int exponent_in(Format format, std::uint8_t bits) {
    return std::max(exponent_of(to_double(format, bits)), traits(format).minimum_exponent());
}

/// One block in doubles: exact terms, cut at 2^(emax - F), added, cut to 24 bits. Terms are (value,
/// exponent).
float reference_block(const std::vector<std::pair<double, int>>& terms, float c, int fraction_bits) {
    int largest = c == 0 ? -133 : exponent_of(c);
    for (const auto& term : terms)
        if (term.first != 0) largest = std::max(largest, term.second);
    double sum = std::trunc(std::ldexp(static_cast<double>(c), fraction_bits - largest));
    for (const auto& term : terms) sum += std::trunc(std::ldexp(term.first, fraction_bits - largest));
    if (sum == 0) return 0;
    const int excess = std::max(exponent_of(sum) - 23, 0);
    return static_cast<float>(
        std::ldexp(std::trunc(std::ldexp(sum, -excess)), excess + largest - fraction_bits));
}

float result_of(const BlockScaledParameters& parameters, const Operands& x) {
    return std::bit_cast<float>(block_scaled_dot_product(parameters, x.a, x.b, x.scales_a, x.scales_b,
                                                         std::bit_cast<std::uint32_t>(x.c)));
}

}  // namespace

TEST_CASE("mxf4 and nvf4: groups of sixteen, exact, scaled, cut 35 bits below the scales' exponent") {
    std::mt19937_64 random(4);
    for (const BlockScaledParameters& parameters :
         {mxf4nvf4_parameters(ScaleFormat::ue4m3, 16), mxf4nvf4_parameters(ScaleFormat::ue8m0, 16),
          mxf4nvf4_parameters(ScaleFormat::ue8m0, 32)}) {
        for (int trial = 0; trial < 3000; ++trial) {
            const Operands x = random_operands(parameters, 128, random);
            float expected = x.c;
            for (std::size_t block = 0; block < 128; block += 64) {
                std::vector<std::pair<double, int>> terms;
                for (std::size_t group = block; group < block + 64; group += 16) {
                    const std::size_t scale = group / parameters.scale_block;
                    double sum = 0;
                    for (std::size_t k = group; k < group + 16; ++k)
                        sum += to_double(Format::e2m1, x.a[k]) * to_double(Format::e2m1, x.b[k]);
                    const double scale_a = scale_value(parameters.scale, x.scales_a[scale]);
                    const double scale_b = scale_value(parameters.scale, x.scales_b[scale]);
                    terms.emplace_back(sum * scale_a * scale_b, exponent_of(scale_a) + exponent_of(scale_b));
                }
                expected = reference_block(terms, expected, 35);
            }
            REQUIRE(result_of(parameters, x) == expected);
        }
    }
}

TEST_CASE("mxf8f6f4: scales move the exponent of every product") {
    std::mt19937_64 random(8);
    const Format formats[] = {Format::e4m3, Format::e5m2, Format::e3m2, Format::e2m3, Format::e2m1};
    for (const Format input : formats) {
        for (const Format input_b : formats) {
            const BlockScaledParameters parameters = mxf8f6f4_parameters(input, input_b);
            for (int trial = 0; trial < 200; ++trial) {
                const Operands x = random_operands(parameters, 64, random);
                float expected = x.c;
                for (std::size_t block = 0; block < 64; block += 32) {
                    const double scale = scale_value(parameters.scale, x.scales_a[block / 32]) *
                                         scale_value(parameters.scale, x.scales_b[block / 32]);
                    std::vector<std::pair<double, int>> terms;
                    for (std::size_t k = block; k < block + 32; ++k) {
                        const double a = to_double(input, x.a[k]), b = to_double(input_b, x.b[k]);
                        if (a == 0 || b == 0) continue;
                        terms.emplace_back(
                            a * b * scale,
                            exponent_in(input, x.a[k]) + exponent_in(input_b, x.b[k]) + exponent_of(scale));
                    }
                    expected = reference_block(terms, expected, 25);
                }
                REQUIRE(result_of(parameters, x) == expected);
            }
        }
    }
}

TEST_CASE("unit scales make mxf8f6f4 the unit without scales") {
    std::mt19937_64 random(9);
    const BlockScaledParameters scaled = mxf8f6f4_parameters(Format::e4m3, Format::e4m3);
    const DotProductParameters plain =
        parameters_for(Generation::blackwell, Format::e4m3, Format::fp32, Instruction::tcgen05);
    for (int trial = 0; trial < 2000; ++trial) {
        Operands x = random_operands(scaled, 96, random);
        x.scales_a.assign(3, 127);
        x.scales_b.assign(3, 127);
        const std::vector<std::uint32_t> a(x.a.begin(), x.a.end()), b(x.b.begin(), x.b.end());
        const std::uint32_t c = std::bit_cast<std::uint32_t>(x.c);
        REQUIRE(std::bit_cast<std::uint32_t>(result_of(scaled, x)) == dot_product(plain, a, b, c));
    }
}

TEST_CASE("NaN scales, zero scales, overflow, and lengths that do not fit") {
    const BlockScaledParameters nvfp4 = mxf4nvf4_parameters(ScaleFormat::ue4m3, 16);
    Operands x{std::vector<std::uint8_t>(16, 2), std::vector<std::uint8_t>(16, 2), {0x38}, {0x38}, 0.5f};
    CHECK(result_of(nvfp4, x) == 16.5f);  // 16 * 1 * 1 + 0.5
    x.scales_a = {0x7F};
    CHECK(std::bit_cast<std::uint32_t>(result_of(nvfp4, x)) == 0x7FFFFFFFu);
    x.scales_a = {0};
    CHECK(result_of(nvfp4, x) == 0.5f);
    x.scales_a = {0x38, 0x38};
    CHECK_THROWS_AS(result_of(nvfp4, x), std::invalid_argument);

    const BlockScaledParameters mxfp4 = mxf4nvf4_parameters(ScaleFormat::ue8m0, 32);
    Operands large{std::vector<std::uint8_t>(32, 7), std::vector<std::uint8_t>(32, 7), {190}, {190}, 0};
    CHECK(std::isinf(result_of(mxfp4, large)));  // 32 * 36 * 2^126
    large.scales_b = {0xFF};
    CHECK(std::isnan(result_of(mxfp4, large)));
    CHECK_THROWS_AS(mxf4nvf4_parameters(ScaleFormat::ue4m3, 32), std::invalid_argument);
    CHECK_THROWS_AS(mxf8f6f4_parameters(Format::fp16, Format::e4m3), std::invalid_argument);

    std::vector<float> d(4), c(4, 1.0f);
    const std::vector<std::uint8_t> a{2, 4, 1, 0}, b{2, 2, 7, 15}, scales(2, 0x38);
    matrix_multiply_accumulate_block_scaled(nvfp4, 2, 2, 2, a.data(), b.data(), scales.data(), scales.data(),
                                            c.data(), d.data());
    CHECK(d == std::vector<float>{4.0f, 1.0f + 6 - 12, 1.5f, 4.0f});
}
