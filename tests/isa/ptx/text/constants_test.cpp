// Constant expressions, against the same expressions in C++. ptxas 13.0 accepts and refuses the same.
#include <bit>
#include <catch2/catch.hpp>

#include "../launch.h"
#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

// What `mov` of a 64-bit register gets.
std::uint64_t value_of(const std::string& expression, const std::string& type = "u64") {
    const Module module =
        parse(module_text("", ".reg ." + type + " %x; mov." + type + " %x, " + expression + "; ret;"));
    return module.kernels[0].instructions[0].operands[1].bits;
}

double real_of(const std::string& expression) {
    return std::bit_cast<double>(value_of(expression, "f64"));
}

}  // namespace

TEST_CASE("Integer constant expressions", "[ptx][text]") {
    CHECK(value_of("3+4*2") == 11);
    CHECK(value_of("(3+4)*2") == 14);
    CHECK(value_of("10 - 4 - 3") == 3);
    CHECK(value_of("-(3)") == static_cast<std::uint64_t>(-3));
    CHECK(value_of("- - 3") == 3);
    CHECK(value_of("~0") == ~0ull);
    CHECK(value_of("!0 + !5") == 1);
    CHECK(value_of("1<<4") == 16);
    CHECK(value_of("-16 >> 2") == static_cast<std::uint64_t>(-4));
    CHECK(value_of("(.u64)-1>>63") == 1);
    CHECK(value_of("(.u64)(3-4) >> 60") == 15);
    CHECK(value_of("(.s64)0xFFFFFFFFFFFFFFFF >> 60") == ~0ull);
    CHECK(value_of("0xFFFFFFFFFFFFFFFF >> 60") == 15);  // too large for .s64: .u64
    CHECK(value_of("-1 < 1") == 1);
    CHECK(value_of("-1 < 1U") == 0);
    CHECK(value_of("17 / 5 * 5 + 17 % 5") == 17);
    CHECK(value_of("-17 / 5") == static_cast<std::uint64_t>(-3));
    CHECK(value_of("7&3|8^1") == ((7 & 3) | (8 ^ 1)));
    CHECK(value_of("1 | 2 == 2") == 1);
    CHECK(value_of("(1==1)&&(2>1)||0") == 1);
    CHECK(value_of("1 ? 2 : 3") == 2);
    CHECK(value_of("0 ? 2 : 5 > 4 ? 6 : 7") == 6);
    CHECK(value_of("WARP_SZ") == 32);
    CHECK(value_of("2*WARP_SZ - 1") == 63);
    CHECK(value_of("0b101 + 017 + 0x1F") == 5 + 15 + 31);
    CHECK(value_of("0X1f") == 31);
    CHECK(value_of("(0x8000000000000000 / -1)") == 0);  // of unsigned numbers
    CHECK(value_of("(.s64)0x8000000000000000 / -1") == 0x8000000000000000);
}

TEST_CASE("Floating-point constant expressions", "[ptx][text]") {
    CHECK(real_of("1.0+2.0*3.0") == 7);
    CHECK(real_of("-(2.0)") == -2);
    CHECK(real_of("- 1.5E+3") == -1500);
    CHECK(real_of(".5") == 0.5);
    CHECK(real_of("5.") == 5);
    CHECK(real_of("-0d3FF0000000000000") == -1);
    CHECK(real_of("1.0 / 3.0") == 1.0 / 3.0);
    CHECK(value_of("-0f3F800000", "f32") == 0xBF800000);
    CHECK(value_of("0F3f800000", "f32") == 0x3F800000);
    CHECK(value_of("1.0 / 3.0", "f32") == std::bit_cast<std::uint32_t>(1.0f / 3.0f));
}

TEST_CASE("Constant expressions that have no value", "[ptx][text]") {
    for (const char* wrong : {"5 % 0", "5/0", "1 < < 4", "1 +", "(1", "1 ? 2", "1.0 > 0.5 ? 2 : 3", "~1.0",
                              "1.0 + 1", "()", "(.f32)1", "1 ? 2.0 : 3.0", "3 4", "%"}) {
        INFO(wrong);
        CHECK_THROWS_AS(value_of(wrong), Error);
    }
    CHECK_THROWS_AS(value_of(std::string(100000, '(') + "1" + std::string(100000, ')')), Error);
    CHECK_THROWS_AS(value_of(std::string(100000, '-') + "1"), Error);
}
