#include "sim/kernel/buffers.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace heddle::kernel;

TEST_CASE("uniform numbers are the upper bits as a fraction") {
    // The first output of SplitMix64 (splitmix64.c by S. Vigna) started at 1234567; / 2^64 = 0.350079...
    const double u = static_cast<double>(6457827717110365317u >> 11) / 9007199254740992.0;
    const FillUniform fill{-2, 6, 1234567};
    CHECK(std::bit_cast<double>(fill_element(fill, ElementType::f64, 0)) == -2 + 8 * u);
    CHECK(fill_element(fill, ElementType::s32, 0) == static_cast<std::uint32_t>(0));  // floor(0.80...)
    // Every integer of the range, and no other, about equally often.
    int seen[8] = {};
    for (std::uint64_t i = 0; i < 8000; ++i) {
        const auto value = static_cast<std::int8_t>(fill_element(fill, ElementType::s8, i));
        REQUIRE(value >= -2);
        REQUIRE(value < 6);
        ++seen[value + 2];
    }
    for (const int count : seen) CHECK(std::abs(count - 1000) < 150);  // five standard deviations
}

TEST_CASE("normal numbers are normal") {
    const FillNormal fill{3, 0.5, 7};
    constexpr int kCount = 20000;
    double sum = 0, squares = 0;
    int within = 0;
    for (int i = 0; i < kCount; ++i) {
        const double value =
            std::bit_cast<double>(fill_element(fill, ElementType::f64, static_cast<std::uint64_t>(i)));
        sum += value;
        squares += (value - 3) * (value - 3);
        within += std::abs(value - 3) < 0.5 ? 1 : 0;
    }
    CHECK(sum / kCount == Approx(3).margin(5 * 0.5 / std::sqrt(kCount)));
    CHECK(squares / kCount == Approx(0.25).epsilon(0.05));
    CHECK(within / double{kCount} == Approx(0.6827).margin(0.02));
    // Box and Muller's formula on the first two numbers of the sequence.
    const double u = static_cast<double>(6457827717110365317u >> 11) / 9007199254740992.0;
    const double v = static_cast<double>(3203168211198807973u >> 11) / 9007199254740992.0;
    CHECK(std::bit_cast<double>(fill_element(FillNormal{0, 1, 1234567}, ElementType::f64, 0)) ==
          Approx(std::sqrt(-2 * std::log1p(-u)) * std::cos(2 * 3.14159265358979323846 * v)));
}

TEST_CASE("iota and constants count and repeat") {
    BufferDeclaration declaration;
    declaration.type = ElementType::f16;
    declaration.shape = {2, 3};
    declaration.fill = FillIota{1, 0.5};
    const Buffer buffer = fill_buffer(declaration);
    REQUIRE(buffer.count() == 6);
    for (std::uint64_t i = 0; i < 6; ++i) CHECK(buffer.number(i) == 1 + 0.5 * static_cast<double>(i));
    declaration.fill = FillConstant{0xC000};
    CHECK(fill_buffer(declaration).number(5) == -2);
}
