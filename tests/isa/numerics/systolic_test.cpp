#include "isa/numerics/systolic.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace heddle::numerics;

namespace {

double power(int exponent) {
    return std::ldexp(1.0, exponent);
}

std::vector<std::uint16_t> bf16(const std::vector<double>& values) {
    std::vector<std::uint16_t> bits;
    for (const double value : values) bits.push_back(fp32_to_bf16(static_cast<float>(value)));
    return bits;
}

float column(SystolicOrder order, const std::vector<double>& a, const std::vector<double>& b, float c) {
    const std::vector<std::uint16_t> a_bits = bf16(a), b_bits = bf16(b);
    return matrix_unit_column(order, a.size(), a_bits.data(), 1, b_bits.data(), 1, c);
}

}  // namespace

TEST_CASE("one step of the array rounds the exact sum once, to nearest even") {
    std::mt19937_64 random(5);
    std::size_t wrong = 0;
    for (int trial = 0; trial < 200'000; ++trial) {
        const auto operand = [&] {
            const std::uint32_t exponent = 107 + static_cast<std::uint32_t>(random() % 40);
            return static_cast<std::uint16_t>((random() & 0x807F) | exponent << 7);
        };
        const std::uint16_t a = operand(), b = operand();
        const float acc = static_cast<float>(std::ldexp(
            static_cast<double>(static_cast<std::int32_t>(random())), -40 + static_cast<int>(random() % 30)));
        // The exact sum has fewer than 64 bits most of the time; long double then rounds to fp32 once.
        const long double exact =
            static_cast<long double>(acc) + static_cast<long double>(bf16_to_fp32(a)) * bf16_to_fp32(b);
        if (matrix_unit_accumulate(acc, a, b) != static_cast<float>(exact)) ++wrong;
    }
    CHECK(wrong == 0);
    // The product of two bf16 numbers keeps all its 16 bits.
    CHECK(matrix_unit_accumulate(0.0f, 0x3F81, 0x3F81) ==
          static_cast<float>((1 + power(-7)) * (1 + power(-7))));
}

TEST_CASE("subnormals are flushed with their sign") {
    const std::uint16_t tiny = 0x0001, one = 0x3F80, small = 0x2000;  // 2^-133, 1, 2^-63
    CHECK(std::bit_cast<std::uint32_t>(flush_subnormal(-std::ldexp(1.0f, -127))) == 0x80000000u);
    CHECK(flush_subnormal(std::ldexp(1.0f, -126)) == std::ldexp(1.0f, -126));
    CHECK(matrix_unit_accumulate(0.0f, tiny, one) == 0.0f);
    CHECK(matrix_unit_accumulate(0.0f, small, small) == std::ldexp(1.0f, -126));
    CHECK(matrix_unit_accumulate(0.0f, small, 0x1F80) == 0.0f);  // 2^-127
    CHECK(matrix_unit_accumulate(std::ldexp(1.0f, -130), one, 0) == 0.0f);
    CHECK(fp32_to_bf16_tpu(std::ldexp(1.0f, -130)) == 0);
    CHECK(fp32_to_bf16_tpu(std::bit_cast<float>(0x7F7FFFFFu)) == 0x7F80);
    CHECK(fp32_to_bf16_tpu(1.00390625f) == 0x3F80);  // a tie, to even
}

TEST_CASE("the order of addition is the one asked for") {
    const std::vector<double> a = {power(30), 1, -power(30), 1}, ones = {1, 1, 1, 1};
    // Ascending: the first 1 drowns. Descending: 1 - 2^30 + 1 + 2^30 drowns both (ulp of 2^30 is 128).
    CHECK(column({.chunk = 0}, a, ones, 0) == 1.0f);
    CHECK(column({.chunk = 0, .k_ascending = false}, a, ones, 0) == 0.0f);
    // Chunks of two: (2^30 + 1) + (-2^30 + 1) = 0. Chunks of three: (0) + (1) = 1.
    CHECK(column({.chunk = 2}, a, ones, 0) == 0.0f);
    CHECK(column({.chunk = 3}, a, ones, 0) == 1.0f);
    // One chain starts from C; chunks add to it afterwards.
    CHECK(column({.chunk = 0}, {1, -power(30)}, {1, 1}, static_cast<float>(power(30))) == 0.0f);
    CHECK(column({.chunk = 128}, {1, -power(30)}, {1, 1}, static_cast<float>(power(30))) == 0.0f);
    CHECK(column({.chunk = 128}, {1, 1}, {64, 64}, static_cast<float>(power(30))) ==
          static_cast<float>(power(30) + 128));
    CHECK(column({.chunk = 0}, {1, 1}, {64, 64}, static_cast<float>(power(30))) ==
          static_cast<float>(power(30)));
}

TEST_CASE("a tile equals its columns in every bit") {
    std::mt19937 random(6);
    std::normal_distribution<float> normal;
    const std::size_t m = 5, n = 70, k = 300;
    for (const SystolicOrder order :
         {SystolicOrder{}, SystolicOrder{0, true}, SystolicOrder{8, false}, SystolicOrder{256, false}}) {
        for (const int scale :
             {0, -64}) {  // with -64, products and sums lie around the smallest normal number
            std::vector<std::uint16_t> a(m * k), b(k * n);
            std::vector<float> c(m * n);
            for (std::uint16_t& value : a) value = fp32_to_bf16(std::ldexp(normal(random), scale));
            for (std::uint16_t& value : b) value = fp32_to_bf16(std::ldexp(normal(random), scale));
            for (float& value : c) value = std::ldexp(normal(random), 2 * scale);
            const std::vector<float> before = c;
            matrix_unit_tile(order, m, n, k, a.data(), b.data(), c.data());
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                    const float one =
                        matrix_unit_column(order, k, a.data() + i * k, 1, b.data() + j, n, before[i * n + j]);
                    if (std::bit_cast<std::uint32_t>(one) != std::bit_cast<std::uint32_t>(c[i * n + j]))
                        ++wrong;
                }
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("int8 is exact") {
    std::mt19937 random(8);
    const std::size_t m = 3, n = 4, k = 600;
    std::vector<std::int8_t> a(m * k), b(k * n);
    for (std::int8_t& value : a) value = static_cast<std::int8_t>(random());
    for (std::int8_t& value : b) value = static_cast<std::int8_t>(random());
    std::vector<std::int32_t> c(m * n, 7);
    matrix_unit_tile(m, n, k, a.data(), b.data(), c.data());
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            std::int64_t exact = 7;
            for (std::size_t l = 0; l < k; ++l) exact += std::int64_t{a[i * k + l]} * b[l * n + j];
            CHECK(c[i * n + j] == exact);
        }
    }
    CHECK(matrix_unit_accumulate(2147483647, std::int8_t{1}, std::int8_t{1}) == -2147483647 - 1);
}

TEST_CASE("three bf16 parts hold an fp32 number") {
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    for (int trial = 0; trial < 10'000; ++trial) {
        const float value = normal(random);
        const Bf16Parts parts = split_into_bf16(value);
        const double sum = static_cast<double>(bf16_to_fp32(parts.high)) + bf16_to_fp32(parts.middle) +
                           bf16_to_fp32(parts.low);
        REQUIRE(sum == value);  // 3 x 8 bits, and the signs, hold 24
        REQUIRE(std::fabs(bf16_to_fp32(parts.middle)) <= std::fabs(value) * power(-8));
    }
}
