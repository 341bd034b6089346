#include "sim/kernel/element_type.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "isa/common/error.h"

using namespace heddle::kernel;

TEST_CASE("elements have the bits that their formats say") {
    struct Case {
        ElementType type;
        const char* text;
        std::uint64_t bits;
    };
    // IEEE 754 and OCP FP8 by hand: sign, exponent, fraction.
    const Case cases[] = {
        {ElementType::f16, "1", 0x3C00},
        {ElementType::f16, "-2.5", 0xC100},
        {ElementType::f16, "65504", 0x7BFF},
        {ElementType::f16, "1e9", 0x7C00},
        {ElementType::bf16, "1", 0x3F80},
        {ElementType::bf16, "1.00390625", 0x3F80},  // 1 + 2^-8: a tie, to even
        {ElementType::f32, "2.5", 0x40200000},
        {ElementType::f64, "-1", 0xBFF0000000000000},
        {ElementType::e4m3, "448", 0x7E},
        {ElementType::e5m2, "1", 0x3C},
        {ElementType::s8, "-1", 0xFF},
        {ElementType::s32, "0xFFFFFFFF", 0xFFFFFFFF},
        {ElementType::s64, "-9223372036854775808", 0x8000000000000000},
        {ElementType::u64, "18446744073709551615", 0xFFFFFFFFFFFFFFFF},
    };
    for (const Case& test : cases) {
        CAPTURE(name_of(test.type), test.text);
        CHECK(parse_element(test.type, test.text) == test.bits);
    }
}

TEST_CASE("a number that does not fit is told") {
    CHECK_THROWS_WITH(parse_element(ElementType::s8, "128"), Catch::Contains("does not fit s8"));
    CHECK_THROWS_WITH(parse_element(ElementType::u32, "-1"), Catch::Contains("does not fit u32"));
    CHECK_THROWS_WITH(parse_element(ElementType::s32, "1.5"), Catch::Contains("not an integer"));
    CHECK_THROWS_WITH(parse_element(ElementType::f32, "two"), Catch::Contains("not a number"));
    CHECK_THROWS_WITH(element_type("fp32"), Catch::Contains("f32"));
}

TEST_CASE("rounding a double agrees with the processor's own") {
    for (int i = -1000; i <= 1000; ++i) {
        const double value = i * 0.123456789;
        CHECK(from_double(ElementType::f32, value) ==
              std::bit_cast<std::uint32_t>(static_cast<float>(value)));
        CHECK(from_double(ElementType::s32, value) ==
              static_cast<std::uint32_t>(static_cast<std::int32_t>(std::nearbyint(value))));
    }
    // As unsigned arithmetic wraps.
    CHECK(from_double(ElementType::u8, 257) == 1);
    CHECK(from_double(ElementType::u32, -1) == 0xFFFFFFFF);
    CHECK(from_double(ElementType::u64, 0x1p63) == 0x8000000000000000);
}

TEST_CASE("ULP distance counts the numbers between") {
    const auto distance = [](float a, float b) {
        return ulp_distance(ElementType::f32, std::bit_cast<std::uint32_t>(a),
                            std::bit_cast<std::uint32_t>(b));
    };
    CHECK(distance(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
    CHECK(distance(1.0f, 2.0f) == 1u << 23);
    CHECK(distance(0.0f, -0.0f) == 0);
    const float tiny = std::numeric_limits<float>::denorm_min();
    CHECK(distance(-tiny, tiny) == 2);
    CHECK(distance(std::numeric_limits<float>::max(), HUGE_VALF) == 1);
    CHECK(distance(NAN, NAN) == 0);
    CHECK(distance(NAN, 1.0f) == ~std::uint64_t{0});
    CHECK(ulp_distance(ElementType::s8, 0x80, 0x7F) == 255);
    CHECK(ulp_distance(ElementType::u64, 0, ~std::uint64_t{0}) == ~std::uint64_t{0});
}
