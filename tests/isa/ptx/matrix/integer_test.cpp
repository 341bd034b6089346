// mma.sync on integers and bits, against exact sums.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "bench.h"

using namespace heddle::ptx::test;

namespace {

std::int64_t value_of(std::uint64_t element, unsigned bits, bool is_signed) {
    const auto value = static_cast<std::int64_t>(element);
    return is_signed && value >> (bits - 1) != 0 ? value - (std::int64_t{1} << bits) : value;
}

void check_integers(const std::string& suffix, unsigned m, unsigned k, unsigned bits, bool a_signed,
                    bool b_signed, bool saturates, bool large_sums) {
    std::mt19937 generator(k + bits);
    const auto element = [&] { return generator() & ((1u << bits) - 1); };
    const Matrix a = make_matrix(m, k, element), b = make_matrix(8, k, element);
    const Matrix c = make_matrix(m, 8, [&]() -> std::uint64_t {
        if (!large_sums) return generator();
        return generator() % 2 == 0 ? 0x7FFFFFFFu - generator() % 64 : 0x80000000u + generator() % 64;
    });
    const Matrix d = multiply({suffix, m, 8, k, bits, 32}, a, b, c, 80);
    INFO(suffix);
    for (unsigned i = 0; i < m; ++i) {
        for (unsigned j = 0; j < 8; ++j) {
            std::int64_t sum = static_cast<std::int32_t>(c[i][j]);
            for (unsigned l = 0; l < k; ++l)
                sum += value_of(a[i][l], bits, a_signed) * value_of(b[j][l], bits, b_signed);
            if (saturates) {
                sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                               std::numeric_limits<std::int32_t>::max());
            }
            REQUIRE(d[i][j] == static_cast<std::uint32_t>(sum));
        }
    }
}

}  // namespace

TEST_CASE("Integer mma of every shape and signedness", "[ptx][matrix]") {
    struct Shape {
        unsigned m, k, bits;
    };
    for (const Shape& s : {Shape{8, 16, 8}, Shape{16, 16, 8}, Shape{16, 32, 8}, Shape{8, 32, 4},
                           Shape{16, 32, 4}, Shape{16, 64, 4}}) {
        for (const bool a : {false, true}) {
            for (const bool b : {false, true}) {
                const std::string width = std::to_string(s.bits);
                const std::string shape =
                    "sync.aligned.m" + std::to_string(s.m) + "n8k" + std::to_string(s.k) + ".row.col";
                const std::string types =
                    std::string(".s32.") + (a ? "s" : "u") + width + "." + (b ? "s" : "u") + width + ".s32";
                check_integers(shape + types, s.m, s.k, s.bits, a, b, false, false);
                check_integers(shape + types, s.m, s.k, s.bits, a, b, false, true);  // wraps
                check_integers(shape + ".satfinite" + types, s.m, s.k, s.bits, a, b, true, true);
                check_integers(shape + types + ".satfinite", s.m, s.k, s.bits, a, b, true, true);
            }
        }
    }
}

TEST_CASE("Single-bit mma counts ones", "[ptx][matrix]") {
    struct Shape {
        unsigned m, k;
    };
    for (const Shape& s : {Shape{8, 128}, Shape{16, 128}, Shape{16, 256}}) {
        for (const bool exclusive : {true, false}) {
            for (const bool after : {true, false}) {
                std::mt19937 generator(s.k);
                const auto bit = [&] { return generator() >> 13 & 1u; };
                const Matrix a = make_matrix(s.m, s.k, bit), b = make_matrix(8, s.k, bit),
                             c = make_matrix(s.m, 8, [&] { return generator(); });
                const std::string operation = exclusive ? ".xor.popc" : ".and.popc", types = ".s32.b1.b1.s32";
                const std::string suffix = "sync.aligned.m" + std::to_string(s.m) + "n8k" +
                                           std::to_string(s.k) + ".row.col" +
                                           (after ? types + operation : operation + types);
                const Matrix d = multiply({suffix, s.m, 8, s.k, 1, 32}, a, b, c, 80);
                INFO(suffix);
                for (unsigned i = 0; i < s.m; ++i) {
                    for (unsigned j = 0; j < 8; ++j) {
                        auto sum = static_cast<std::uint32_t>(c[i][j]);
                        for (unsigned l = 0; l < s.k; ++l) {
                            sum +=
                                static_cast<std::uint32_t>(exclusive ? a[i][l] ^ b[j][l] : a[i][l] & b[j][l]);
                        }
                        REQUIRE(d[i][j] == sum);
                    }
                }
            }
        }
    }
}
