#include "isa/common/checked.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace heddle;

TEST_CASE("a gate admits what there can be, and says what it expected of all else") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    struct Case {
        double value;
        bool time, count;
    };
    const Case cases[] = {{0, true, true},
                          {-0.0, true, true},
                          {1, true, true},
                          {0.5, true, false},
                          {1e15, true, false},  // more elements than 2^44
                          {17592186044416, true, true},
                          {17592186044417, true, false},
                          {1.0000001e15, false, false},
                          {-5, false, false},
                          {-std::numeric_limits<double>::denorm_min(), false, false},
                          {0x1p62, false, false},
                          {0x1p63, false, false},
                          {std::numeric_limits<double>::max(), false, false},
                          {kInfinity, false, false},
                          {-kInfinity, false, false},
                          {std::nan(""), false, false}};
    for (const Case& test : cases) {
        CAPTURE(test.value);
        CHECK(gates::kMicroseconds.admits(test.value) == test.time);
        CHECK(gates::kElements.admits(test.value) == test.count);
        const SourceLocation where{"step.json", 3, "ops[1].measured_us"};
        if (test.time) {
            CHECK(gates::kMicroseconds.check(test.value, where) == test.value);
        } else {
            CHECK_THROWS_WITH(
                gates::kMicroseconds.check(test.value, where),
                Catch::StartsWith("step.json:3: ops[1].measured_us: ") &&
                    Catch::Contains(
                        "is not a time in microseconds; expected a finite number from 0 to 1e+15"));
        }
    }
    CHECK_THROWS_WITH(gates::kMicroseconds.check(std::nan(""), {}), Catch::Contains("`nan` is not"));
    CHECK_THROWS_WITH(gates::kElements.check(std::int64_t{-5}, {}),
                      Catch::Contains("`-5` is not a number of elements"));
    CHECK_THROWS_WITH(gates::kElements.check(std::uint64_t{1} << 63, {}),
                      Catch::Contains("`9223372036854775808`"));
    CHECK(gates::kThings.check(std::uint64_t{2147483647}, {}) == 2147483647);
    CHECK_THROWS_AS(gates::kThings.check(std::uint64_t{2147483648}, {}), Error);
}

TEST_CASE("checked arithmetic has a result, or none: never another") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                           least = std::numeric_limits<std::int64_t>::min();
    CHECK(checked_product(std::int64_t{1} << 31, std::int64_t{1} << 31) == std::int64_t{1} << 62);
    CHECK_FALSE(checked_product(std::int64_t{1} << 32, std::int64_t{1} << 31));
    CHECK_FALSE(checked_product(least, std::int64_t{-1}));
    CHECK(checked_product(std::uint64_t{1} << 32, std::uint64_t{1} << 31) == std::uint64_t{1} << 63);
    CHECK_FALSE(checked_product(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
    CHECK(checked_sum(most, std::int64_t{0}) == most);
    CHECK_FALSE(checked_sum(most, std::int64_t{1}));
    CHECK_FALSE(checked_sum(least, std::int64_t{-1}));
    CHECK(narrowed<std::uint32_t>(std::uint64_t{4294967295}) == 4294967295);
    CHECK_FALSE(narrowed<std::uint32_t>(std::uint64_t{4294967296}));
    CHECK_FALSE(narrowed<std::uint32_t>(std::int64_t{-1}));
    CHECK(whole_number(-0x1p63) == least);
    CHECK(whole_number(3) == 3);
    for (const double value : {0x1p63, -0x1p63 * 1.01, 0.5, 1e300, std::nan("")})
        CHECK_FALSE(whole_number(value));
}
