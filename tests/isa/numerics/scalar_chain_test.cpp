// Chains of the CUDA cores by vectors, against the definition in scalar_chain.h with the C library's fma.
#include "isa/numerics/scalar_chain.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

using namespace heddle::numerics;

namespace {

/// Of all magnitudes, so that sums cancel and products become subnormal.
template <typename T>
std::vector<T> numbers(std::size_t count, std::mt19937& random) {
    std::uniform_real_distribution<T> mantissa(-2, 2);
    std::uniform_int_distribution<int> exponent(std::numeric_limits<T>::min_exponent / 2 - 4, 6);
    std::vector<T> made(count);
    for (T& number : made) number = std::ldexp(mantissa(random), exponent(random));
    return made;
}

template <typename T>
T flushed(T value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

template <typename T>
void check(const ScalarChain& chain, std::size_t m, std::size_t n, std::size_t k) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    INFO(m << " x " << n << " x " << k << ", fused " << chain.fused << ", flush " << chain.flush_subnormals);
    std::mt19937 random(static_cast<unsigned>(m * 100 + n));
    const std::vector<T> a = numbers<T>(m * k, random), b = numbers<T>(k * n, random);
    const std::vector<T> before = numbers<T>(m * n, random);
    std::vector<T> sums = before;
    add_products(chain, m, n, k, a.data(), b.data(), sums.data());
    const auto in = [&](T value) { return chain.flush_subnormals ? flushed(value) : value; };
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            T sum = before[i * n + j];
            for (std::size_t l = 0; l < k; ++l) {
                const T x = in(a[i * k + l]), y = in(b[l * n + j]);
                if (chain.fused) {
                    sum = in(std::fma(x, y, sum));
                } else {
                    const T product = in(x * y);
                    sum = in(product + sum);
                }
            }
            REQUIRE(std::bit_cast<Bits>(sums[i * n + j]) == std::bit_cast<Bits>(sum));
        }
    }
}

}  // namespace

TEST_CASE("Chains of CUDA cores have the same bits by vectors and one by one") {
    for (const bool fused : {true, false}) {
        for (const bool flush : {true, false}) {
            // Whole steps of vectors (32 and 16 columns), what is left beside them, and an odd last row.
            for (const std::size_t n : {1u, 16u, 31u, 32u, 77u}) {
                for (const std::size_t m : {1u, 2u, 5u}) {
                    check<float>({fused, flush}, m, n, 19);
                    check<double>({fused, flush}, m, n, 19);
                }
            }
        }
    }
}
