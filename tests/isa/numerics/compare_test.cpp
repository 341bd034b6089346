#include "isa/numerics/compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

using namespace heddle::numerics;

TEST_CASE("distance in units of the last place") {
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(ulp_distance(1.0f, 1.0f) == 0);
    CHECK(ulp_distance(0.0f, -0.0f) == 0);
    CHECK(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
    CHECK(ulp_distance(1.0f, 2.0f) == 1u << 23);
    CHECK(ulp_distance(-std::ldexp(1.0f, -149), std::ldexp(1.0f, -149)) == 2);
    CHECK(ulp_distance(infinity, std::numeric_limits<float>::max()) == 1);
    CHECK(ulp_distance(-infinity, infinity) == 2 * 0x7F800000u);
    CHECK(ulp_distance(std::nanf(""), -std::nanf("")) == 0);
    CHECK(ulp_distance(std::nanf(""), 0.0f) == 0xFFFFFFFFu);
    CHECK(ulp_distance_fp16(0x3C00, 0x4000) == 1024);
    CHECK(ulp_distance_fp16(0x8001, 0x0001) == 2);
    CHECK(ulp_distance_fp16(0x7C01, 0x0001) == 65535);
    CHECK(ulp_distance(Format::bf16, 0x3F80, 0x4000) == 128);
}

TEST_CASE("relative error in the Frobenius norm") {
    const std::vector<float> expected = {3, 4}, actual = {3, 4.5f}, zeros = {0, 0}, shorter = {1};
    CHECK(relative_frobenius_error(std::span<const float>(actual), expected) == 0.1);
    CHECK(relative_frobenius_error(std::span<const float>(zeros), zeros) == 0.0);
    CHECK(std::isinf(relative_frobenius_error(std::span<const float>(actual), zeros)));
    CHECK_THROWS_AS(relative_frobenius_error(std::span<const float>(shorter), expected),
                    std::invalid_argument);
}

TEST_CASE("how many elements agree in every bit") {
    const std::vector<float> expected = {1, 0.0f, 3, 4}, actual = {1, -0.0f, std::nextafter(3.0f, 4.0f), 4};
    const Difference found = difference(actual, expected);
    CHECK(found.count == 4);
    CHECK(found.identical_bits == 2);
    CHECK(found.identical_fraction() == 0.5);
    CHECK(found.first_different == 1);
    CHECK(found.largest_ulp == 1);
    CHECK(difference(expected, expected).first_different == 4);
}

TEST_CASE("FNV-1a of known strings") {
    // Test vectors of the FNV reference (isthe.com/chongo/tech/comp/fnv).
    const auto hash = [](const char* text) {
        return hash_bits({reinterpret_cast<const std::byte*>(text), std::strlen(text)});
    };
    CHECK(hash("") == 0xCBF29CE484222325u);
    CHECK(hash("a") == 0xAF63DC4C8601EC8Cu);
    CHECK(hash("foobar") == 0x85944171F73967E8u);
}

TEST_CASE("ULPs of any format are steps between neighbours") {
    using namespace heddle::numerics;
    CHECK(ulp_distance(Format::fp32, 0x3F800000u, 0x3F800001u) == 1);
    CHECK(ulp_distance(Format::fp32, 0x80000001u, 0x00000001u) == 2);
    CHECK(ulp_distance(Format::fp32, 0x80000000u, 0) == 0);
    CHECK(ulp_distance(Format::fp64, 0x3FF0000000000000u, 0x3FF0000000000010u) == 16);
    CHECK(ulp_distance(Format::fp64, 0x7FEFFFFFFFFFFFFFu, 0xFFEFFFFFFFFFFFFFu) == 2 * 0x7FEFFFFFFFFFFFFFu);
    CHECK(ulp_distance(Format::tf32, 0x3F800000u, 0x3F802000u) == 1);  // the lower 13 bits are not there
    CHECK(ulp_distance(Format::e4m3, 0x7F, 0x7E) == ~std::uint64_t{0});
    CHECK(ulp_distance(Format::e5m2, 0x7F, 0x7D) == 0);  // two NaNs
    CHECK(ulp_distance(Format::fp16, 0x7C00, 0x7BFF) == 1);
}
