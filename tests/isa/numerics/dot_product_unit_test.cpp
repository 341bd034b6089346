// The definition against exact integer arithmetic, and against what the literature says of each generation.
#include "isa/numerics/dot_product_unit.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "isa/target/generation.h"

using namespace heddle::numerics;

namespace {

const Generation kGenerations[] = {Generation::volta,        Generation::turing, Generation::ampere,
                                   Generation::ada,          Generation::hopper, Generation::blackwell,
                                   Generation::rtx_blackwell};

struct Product {
    double a, b;
};

/// The fp32 (or fp16) result of products given as values, exact in the input format.
float evaluate(const DotProductParameters& parameters, const std::vector<Product>& products, double c) {
    std::vector<std::uint32_t> a, b;
    for (const Product& product : products) {
        a.push_back(from_float(parameters.input, static_cast<float>(product.a)));
        b.push_back(from_float(parameters.input_b, static_cast<float>(product.b)));
    }
    const std::uint32_t bits =
        dot_product(parameters, a, b, from_float(parameters.output, static_cast<float>(c)));
    return to_float(parameters.output, bits);
}

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

double power(int exponent) {
    return std::ldexp(1.0, exponent);
}

/// A product of the value 2^exponent, within fp16's range of factors.
Product unit(int exponent, double sign = 1) {
    return {sign * power(exponent / 2), power(exponent - exponent / 2)};
}

/// Rounds an exact sum to fp32 towards zero.
float toward_zero(long double value) {
    float nearest = static_cast<float>(value);
    if (std::fabs(static_cast<long double>(nearest)) > std::fabs(value))
        nearest = std::nextafter(nearest, 0.0f);
    return nearest;
}

}  // namespace

TEST_CASE("e4m3 times e5m2 and the reverse") {
    for (const bool swapped : {false, true}) {
        const Format a = swapped ? Format::e5m2 : Format::e4m3, b = swapped ? Format::e4m3 : Format::e5m2;
        const DotProductParameters wgmma =
            parameters_for(Generation::hopper, a, b, Format::fp32, Instruction::wgmma);
        const auto pair = [&](double e4m3, double e5m2) {
            return swapped ? Product{e5m2, e4m3} : Product{e4m3, e5m2};
        };
        // The largest numbers, 448 and 57344, and the smallest, 2^-9 and 2^-16 (OCP FP8).
        CHECK(evaluate(wgmma, {pair(448, 57344)}, 0) == 448.0f * 57344.0f);
        CHECK(evaluate(wgmma, {pair(power(-9), power(-16))}, 0) == std::ldexp(1.0f, -25));
        CHECK(evaluate(wgmma, {pair(1.125, 1.25), pair(-2.5, 0.75), pair(0.5, 3)}, 1) ==
              1.125f * 1.25f - 2.5f * 0.75f + 0.5f * 3 + 1);
        // A subnormal factor counts with its format's smallest exponent, -6 of e4m3: beside 2^-6 * 1 with
        // F = 13 the unit is 2^-19, so a product of 2^-9 * 2^-10 stays and one of 2^-9 * 2^-11 is cut.
        CHECK(evaluate(wgmma, {pair(power(-6), 1), pair(power(-9), power(-10))}, 0) == 0x1p-6f + 0x1p-19f);
        CHECK(evaluate(wgmma, {pair(power(-6), 1), pair(power(-9), power(-11))}, 0) == 0x1p-6f);
        // Alone, e4m3's 2^-9 has the exponent -6: the unit of 2^-9 * 1 + c is 2^-19, not 2^-22.
        CHECK(evaluate(wgmma, {pair(power(-9), 1)}, power(-19)) == 0x1p-9f + 0x1p-19f);
        CHECK(evaluate(wgmma, {pair(power(-9), 1)}, power(-20)) == 0x1p-9f);
    }
    CHECK_THROWS_AS(
        parameters_for(Generation::hopper, Format::fp16, Format::bf16, Format::fp32, Instruction::wgmma),
        std::invalid_argument);
}

TEST_CASE("parameters of every generation") {
    // arXiv 2511.10909, tables of T-FDPA parameters.
    struct Row {
        Generation generation;
        Format input;
        unsigned length;
        int fraction_bits, e0_fp32;
        unsigned result_bits;
    };
    const Row rows[] = {
        {Generation::volta, Format::fp16, 4, 23, -131, 23},
        {Generation::turing, Format::fp16, 8, 24, -132, 23},
        {Generation::ampere, Format::fp16, 8, 24, -132, 23},
        {Generation::ampere, Format::bf16, 8, 24, -132, 23},
        {Generation::ampere, Format::tf32, 4, 24, -132, 23},
        {Generation::ada, Format::tf32, 4, 24, -132, 23},
        {Generation::ada, Format::e4m3, 16, 13, -132, 13},
        {Generation::hopper, Format::bf16, 16, 25, -133, 23},
        {Generation::hopper, Format::tf32, 8, 25, -133, 23},
        {Generation::blackwell, Format::fp16, 16, 25, -133, 23},
        {Generation::rtx_blackwell, Format::tf32, 8, 25, -133, 23},
        {Generation::rtx_blackwell, Format::e5m2, 32, 25, -133, 23},
        {Generation::rtx_blackwell, Format::e2m3, 32, 25, -133, 23},
    };
    for (const Row& row : rows) {
        const DotProductParameters found = parameters_for(row.generation, row.input, Format::fp32);
        CHECK(found.block_length == row.length);
        CHECK(found.alignment_fraction_bits == row.fraction_bits);
        CHECK(found.minimum_exponent == row.e0_fp32);
        CHECK(found.result_fraction_bits == row.result_bits);
        CHECK(found.rounding == Rounding::toward_zero);
    }
    CHECK(parameters_for(Generation::hopper, Format::fp16, Format::fp16).minimum_exponent == -21);
    CHECK(parameters_for(Generation::volta, Format::fp16, Format::fp16).minimum_exponent == -19);
    const auto wgmma = parameters_for(Generation::hopper, Format::e5m2, Format::fp32, Instruction::wgmma);
    CHECK(wgmma.block_length == 32);
    CHECK(wgmma.alignment_fraction_bits == 13);
    CHECK(wgmma.result_fraction_bits == 13);

    CHECK_THROWS_AS(parameters_for(Generation::volta, Format::bf16, Format::fp32), std::invalid_argument);
    CHECK_THROWS_AS(parameters_for(Generation::ampere, Format::e4m3, Format::fp32), std::invalid_argument);
    CHECK_THROWS_AS(parameters_for(Generation::hopper, Format::bf16, Format::fp16), std::invalid_argument);
    CHECK_THROWS_AS(parameters_for(Generation::ada, Format::fp16, Format::fp32, Instruction::wgmma),
                    std::invalid_argument);
    CHECK(heddle::target::generation_of(86) == Generation::ampere);
    CHECK(heddle::target::generation_of(88) == Generation::ampere);  // sm_88 of CUDA 13
    for (const unsigned capability : {100u, 101u, 103u, 110u})
        CHECK(heddle::target::generation_of(capability) == Generation::blackwell);
    for (const unsigned capability : {120u, 121u})
        CHECK(heddle::target::generation_of(capability) == Generation::rtx_blackwell);
    CHECK_THROWS_AS(heddle::target::generation_of(61), std::invalid_argument);
}

TEST_CASE("bits kept below the largest term: 23 on Volta, 24 from Turing to Ada, 25 since Hopper") {
    // Fasi et al. 2021 (PeerJ CS 7:e330): no extra bit on V100, one on T4 and A100; two on H100 (arXiv
    // 2511.10909).
    const int kept[] = {23, 24, 24, 24, 25, 25, 25};
    for (std::size_t i = 0; i < std::size(kGenerations); ++i) {
        const DotProductParameters parameters = parameters_for(kGenerations[i], Format::fp16, Format::fp32);
        for (const int exponent : {-22, -23, -24, -25, -26}) {
            const double expected = exponent >= -kept[i] ? power(exponent) : 0.0;
            CHECK(evaluate(parameters, {unit(0), unit(exponent), unit(0, -1)}, 0.0) == expected);
            CHECK(evaluate(parameters, {unit(exponent), unit(0, -1)}, 1.0) == expected);
        }
    }
}

TEST_CASE("products of one block are added at once, those of the next come later") {
    // 2^0 - 2^0 in the first terms and 2^-30 at k = position: lost inside the block, kept after it.
    const unsigned lengths[] = {4, 8, 8, 8, 16, 16, 16};
    for (std::size_t i = 0; i < std::size(kGenerations); ++i) {
        const DotProductParameters parameters = parameters_for(kGenerations[i], Format::fp16, Format::fp32);
        for (std::size_t position = 2; position < 32; ++position) {
            std::vector<Product> products(32, Product{0, 0});
            products[0] = unit(0);
            products[1] = unit(0, -1);
            products[position] = {power(-14), power(-14)};
            CHECK(evaluate(parameters, products, 0.0) == (position < lengths[i] ? 0.0 : power(-28)));
        }
        // A short K is one block: m16n8k8 on Hopper.
        CHECK(evaluate(parameters, {unit(0), unit(0, -1)}, power(-28)) == 0.0);
    }
}

TEST_CASE("what is cut off is the magnitude's, and the result is rounded towards zero") {
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::fp16, Format::fp32);
    CHECK(bits_of(evaluate(hopper, {unit(-26, -1)}, 1.0)) == 0x3F800000u);  // a floor would give 0x3F7FFFFF
    CHECK(bits_of(evaluate(hopper, {unit(-25, -1)}, 1.0)) == 0x3F7FFFFFu);
    CHECK(bits_of(evaluate(hopper, {unit(-24), unit(-25)}, 1.0)) == 0x3F800000u);
    CHECK(bits_of(evaluate(hopper, {unit(-24, -1), unit(-25, -1)}, -1.0)) == 0xBF800000u);
    // The sum of two halves of a unit in the last place counts, each of them alone does not.
    CHECK(bits_of(evaluate(hopper, {unit(-24), unit(-24)}, 1.0)) == 0x3F800001u);
}

TEST_CASE("factors are not normalised before alignment") {
    // 1.5 * 1.5 = 2.25 has exponent 0 here: 2^-25 stays. Were it normalised to 1.125 * 2, 2^-25 would be cut.
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::fp16, Format::fp32);
    CHECK(evaluate(hopper, {{1.5, 1.5}, {-1.5, 1.5}, unit(-25)}, 0.0) == power(-25));
    // A subnormal factor keeps the exponent -14: 2^-24 * 1 has exponent -14, so 2^-41 is below its 25 bits.
    CHECK(evaluate(hopper, {{power(-24), 1.0}, {power(-24), -1.0}, {power(-21), power(-20)}}, 0.0) == 0.0);
    CHECK(evaluate(hopper,
                   {{power(-14), power(-10)}, {power(-14), -power(-10)}, {power(-14), power(-27 + 3)}},
                   0.0) == power(-38));
}

TEST_CASE("random sums without loss equal exact integer arithmetic, rounded once") {
    std::mt19937_64 random(3);
    for (const Generation& generation : kGenerations) {
        const DotProductParameters parameters = parameters_for(generation, Format::fp16, Format::fp32);
        for (int trial = 0; trial < 2000; ++trial) {
            // Integers below 2^11 are exact in fp16, their products below 2^22: with exponents from 0 to 10
            // nothing is cut off by F >= 23 as long as the largest exponent is at most 22.
            std::vector<Product> products;
            std::int64_t exact = 0;
            for (unsigned k = 0; k < parameters.block_length; ++k) {
                const auto draw = [&] { return static_cast<std::int64_t>(random() % 4095) - 2047; };
                const std::int64_t a = draw(), b = draw();
                products.push_back({static_cast<double>(a), static_cast<double>(b)});
                exact += a * b;
            }
            const std::int64_t c = static_cast<std::int64_t>(random() % (1u << 24)) - (1 << 23);
            exact += c;
            const float expected = toward_zero(static_cast<long double>(exact));
            REQUIRE(bits_of(evaluate(parameters, products, static_cast<double>(c))) ==
                    bits_of(expected == 0 ? 0.0f : expected));
        }
    }
}

TEST_CASE("random sums of any size stay within the bound of the error") {
    // Per block: L + 1 terms lose less than 2^(emax - F) each, and the rounding less than 2^-23 |d|.
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    for (const Generation& generation : kGenerations) {
        const DotProductParameters parameters = parameters_for(generation, Format::fp16, Format::fp32);
        for (int trial = 0; trial < 2000; ++trial) {
            std::vector<Product> products;
            long double exact = 0;
            int emax = -200;
            const auto note = [&](double value) {
                emax = std::max(emax, value == 0 ? -200 : std::ilogb(value));
            };
            for (unsigned k = 0; k < parameters.block_length; ++k) {
                const auto draw = [&] {
                    const int exponent = static_cast<int>(random() % 12) - 8;
                    const float value = static_cast<float>(std::ldexp(normal(random), exponent));
                    return static_cast<double>(to_float(Format::fp16, from_float(Format::fp16, value)));
                };
                const Product product{draw(), draw()};
                products.push_back(product);
                exact += static_cast<long double>(product.a) * product.b;
                note(product.a * product.b);
            }
            const double c = static_cast<float>(normal(random));
            exact += c;
            note(c);
            const double d = evaluate(parameters, products, c);
            const double bound =
                (parameters.block_length + 1) * power(emax - parameters.alignment_fraction_bits) +
                power(-23) * std::fabs(d);
            REQUIRE(std::fabs(d - static_cast<double>(exact)) <= bound);
        }
    }
}

TEST_CASE("NaN, infinities, overflow and zeros") {
    const float infinity = std::numeric_limits<float>::infinity();
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::fp16, Format::fp32);
    const DotProductParameters half = parameters_for(Generation::hopper, Format::fp16, Format::fp16);
    CHECK(bits_of(evaluate(hopper, {{std::nan(""), 1}}, 0)) == 0x7FFFFFFFu);
    CHECK(bits_of(evaluate(hopper, {{infinity, 0}}, 0)) == 0x7FFFFFFFu);
    CHECK(bits_of(evaluate(hopper, {{infinity, 1}, {infinity, -1}}, 0)) == 0x7FFFFFFFu);
    CHECK(bits_of(evaluate(hopper, {{infinity, 1}}, -infinity)) == 0x7FFFFFFFu);
    CHECK(evaluate(hopper, {{infinity, -2}}, 5) == -infinity);
    CHECK(evaluate(hopper, {{1, 1}}, infinity) == infinity);
    const std::uint32_t one = 0x3C00, quiet_nan = 0x7E01;
    CHECK(dot_product(half, {{one}}, {{quiet_nan}}, 0) == 0x7FFF);
    CHECK(evaluate(half, {{200, 300}}, 6000) == infinity);  // 66000
    CHECK(evaluate(half, {{200, 300}}, 5500) == 65504.0f);  // 65500: to the nearest
    const DotProductParameters bf16 = parameters_for(Generation::hopper, Format::bf16, Format::fp32);
    CHECK(evaluate(bf16, {{power(127), 1}}, power(127)) == infinity);  // rounding is towards zero, and yet
    CHECK(bits_of(evaluate(hopper, {{-0.0, 1}}, -0.0)) == 0u);
}

TEST_CASE("the least exponent, e0, decides what the smallest products leave") {
    // Hopper, bf16: e0 = -133 and F = 25, so nothing below 2^-158 is kept; sums are cut to fp32's 2^-149.
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::bf16, Format::fp32);
    const auto small = [&](int a, int b, double sign) { return Product{sign * power(a), power(b)}; };
    CHECK(evaluate(hopper, {small(-23, -126, 1)}, 0.0) == std::ldexp(1.0f, -149));
    // 2^-149 - 2^-158 is cut to zero, 2^-149 - 2^-159 keeps 2^-149.
    CHECK(evaluate(hopper, {small(-23, -126, 1), small(-32, -126, -1)}, 0.0) == 0.0f);
    CHECK(evaluate(hopper, {small(-23, -126, 1), small(-33, -126, -1)}, 0.0) == std::ldexp(1.0f, -149));
    // fp16 output: e0 = -21, nothing below 2^-46. 2^-25 is a tie between 0 and 2^-24, which 2^-46 breaks,
    // 2^-47 not.
    const DotProductParameters half = parameters_for(Generation::hopper, Format::fp16, Format::fp16);
    CHECK(evaluate(half, {small(-12, -13, 1), small(-22, -24, 1)}, 0.0) == std::ldexp(1.0f, -24));
    CHECK(evaluate(half, {small(-12, -13, 1), small(-23, -24, 1)}, 0.0) == 0.0f);
}

TEST_CASE("fp8 by wgmma leaves 13 fraction bits, cut towards zero") {
    // arXiv 2512.07004: E8M13.
    const DotProductParameters wgmma =
        parameters_for(Generation::hopper, Format::e4m3, Format::fp32, Instruction::wgmma);
    CHECK(evaluate(wgmma, {{0, 0}}, 1 + power(-13) + power(-14)) == static_cast<float>(1 + power(-13)));
    CHECK(evaluate(wgmma, {{0, 0}}, -1 - power(-13) - power(-14)) == static_cast<float>(-1 - power(-13)));
    // 32 products of 1 + 2^-3 squared: exact in F = 13.
    CHECK(evaluate(wgmma, std::vector<Product>(32, {1.125, 1.125}), 0.0) == 40.5f);
    const DotProductParameters ada = parameters_for(Generation::ada, Format::e4m3, Format::fp32);
    CHECK(evaluate(ada, {unit(-13)}, 1.0) == static_cast<float>(1 + power(-13)));
    CHECK(evaluate(ada, {unit(-14)}, 1.0) == 1.0f);
}

TEST_CASE("Blackwell multiplies fp8 and less by tcgen05, RTX Blackwell by mma.sync, with the same bits") {
    // arXiv 2511.10909: both native paths add 32 products with F = 25 and leave 23 fraction bits.
    for (const Format input : {Format::e4m3, Format::e5m2, Format::e3m2, Format::e2m3, Format::e2m1}) {
        CAPTURE(traits(input).name);
        for (const Format output : {Format::fp32, Format::fp16}) {
            const DotProductParameters native =
                parameters_for(Generation::blackwell, input, output, Instruction::tcgen05);
            CHECK(native == parameters_for(Generation::rtx_blackwell, input, output));
            CHECK(native.block_length == 32);
            CHECK(native.alignment_fraction_bits == 25);
            CHECK_FALSE(native.unpacks_to_fp16);
        }
        const DotProductParameters mixed =
            parameters_for(Generation::blackwell, input, Format::e2m1, Format::fp32, Instruction::tcgen05);
        CHECK(mixed.input_b == Format::e2m1);
    }
    // mma.sync of narrower formats needs sm_120.
    CHECK_THROWS_AS(parameters_for(Generation::blackwell, Format::e2m1, Format::fp32), std::invalid_argument);
    CHECK_THROWS_AS(parameters_for(Generation::blackwell, Format::e4m3, Format::e2m1, Format::fp32,
                                   Instruction::mma_sync),
                    std::invalid_argument);
    for (const Generation& other : {Generation::ada, Generation::hopper, Generation::rtx_blackwell})
        CHECK_THROWS_AS(parameters_for(other, Format::e4m3, Format::fp32, Instruction::tcgen05),
                        std::invalid_argument);
    CHECK_THROWS_AS(parameters_for(Generation::blackwell, Format::e4m3, Format::fp32, Instruction::wgmma),
                    std::invalid_argument);
}

TEST_CASE("fp8 by mma.sync on Hopper and Blackwell adds C after the products, to the nearest") {
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::e4m3, Format::fp32);
    CHECK(hopper.unpacks_to_fp16);
    for (const Format output : {Format::fp32, Format::fp16})
        for (const Format input : {Format::e4m3, Format::e5m2})
            CHECK(parameters_for(Generation::blackwell, input, output) ==
                  parameters_for(Generation::hopper, input, output));
    // C = 1 + 2^-23 stays whole beside a product of 2^-18, and a sum that is a tie goes to even.
    CHECK(bits_of(evaluate(hopper, {unit(-18)}, 1 + power(-23))) ==
          bits_of(static_cast<float>(1 + power(-18) + power(-23))));
    // One unit in the last place of 2^40 is 2^17: 65536 is a tie, 65537 is not.
    CHECK(evaluate(hopper, {{256, 256}}, power(40)) == static_cast<float>(power(40)));
    CHECK(evaluate(hopper, {{256, 256}, {1, 1}}, power(40)) == static_cast<float>(power(40) + power(17)));
    // k mod 4 in {2, 3} comes after {0, 1}: 2^16 - 2^16 + 2^-12 keeps the small one only in the later half.
    const Product zero{0, 0}, large{256, 256}, minus{-256, 256}, small{power(-6), power(-6)};
    CHECK(evaluate(hopper, {large, minus, zero, zero, small}, 0.0) == 0.0);
    CHECK(evaluate(hopper, {large, minus, small}, 0.0) == power(-12));
}

TEST_CASE("the FP64 unit adds with fused multiply-adds in ascending k") {
    // (1 + 2^-30)^2 - 1 - 2^-29 = 2^-60 only when the product is not rounded.
    const double x = 1 + power(-30);
    const double a[] = {1, x}, b[] = {-1 - power(-29), x}, c[] = {0};
    double d[1];
    matrix_multiply_accumulate_fp64(1, 1, 2, a, b, c, d);
    CHECK(d[0] == power(-60));
    // In ascending order 2^60 takes the 1 with it; the other way it would come last and stay.
    const double e[] = {1, power(60), -power(60)}, ones[] = {1, 1, 1};
    matrix_multiply_accumulate_fp64(1, 1, 3, e, ones, c, d);
    CHECK(d[0] == 0.0);
}

TEST_CASE("the integer unit is exact, wraps, and saturates when told") {
    const std::int8_t a[] = {-128, -128, 127, 5}, b[] = {-128, -128, -1, 7};
    const std::int32_t c[] = {2147483647};
    std::int32_t d[1];
    matrix_multiply_accumulate_int8(1, 1, 4, a, b, c, d);
    CHECK(d[0] == static_cast<std::int32_t>(2147483647u + 32768u - 127u + 35u));
    matrix_multiply_accumulate_int8(1, 1, 4, a, b, c, d, true);
    CHECK(d[0] == 2147483647);
    const std::uint8_t u[] = {255, 255};
    const std::int32_t zero[] = {0};
    matrix_multiply_accumulate_int8(1, 1, 2, u, b, zero, d);
    CHECK(d[0] == -65280);
}

TEST_CASE("types that do not fit the formats are refused") {
    const DotProductParameters hopper = parameters_for(Generation::hopper, Format::fp16, Format::fp32);
    const std::uint8_t a[1] = {};
    float c[1] = {};
    CHECK_THROWS_AS(matrix_multiply_accumulate(hopper, 1, 1, 1, a, a, c, c), std::invalid_argument);
}
