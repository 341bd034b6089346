// Against the C library in double precision.
#include "isa/tpu/elementary_functions.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace heddle;

namespace {

/// Distance of y from the exact value in units of y's last place.
double ulps(float y, double exact) {
    if (std::isnan(y) && std::isnan(exact)) return 0;
    if (static_cast<double>(y) == exact) return 0;
    if (std::isinf(y)) return std::fabs(exact) > 3.4028235e38 ? 0 : 1e9;
    const double unit = std::ldexp(1.0, std::max(std::ilogb(std::max(std::fabs(exact), 1e-45)), -126) - 23);
    return std::fabs(static_cast<double>(y) - exact) / unit;
}

template <class Function, class Reference>
double worst(Function function, Reference reference) {
    double result = 0;
    for (std::uint32_t bits = 0; bits < 0x7F800000u; bits += 9973) {  // some 213,000 numbers of each sign
        for (const std::uint32_t sign : {0u, 0x80000000u}) {
            const float x = std::bit_cast<float>(bits | sign);
            result = std::max(result, ulps(function(x), reference(static_cast<double>(x))));
        }
    }
    return result;
}

}  // namespace

TEST_CASE("elementary functions are the nearest fp32 number, but for ties that double cannot tell") {
    // 0.5 is correct rounding.
    CHECK(worst(tpu::exponential, [](double x) { return std::exp(x); }) <= 0.5001);
    CHECK(worst(tpu::hyperbolic_tangent, [](double x) { return std::tanh(x); }) <= 0.5001);
    CHECK(worst(tpu::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }) <= 0.5001);
    CHECK(worst(tpu::error_function, [](double x) { return std::erf(x); }) <= 0.5001);
    CHECK(worst(tpu::logarithm, [](double x) { return x < 0 ? NAN : std::log(x); }) <= 0.5001);
}

TEST_CASE("elementary functions at their ends") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(tpu::exponential(-infinity) == 0);
    CHECK(tpu::exponential(infinity) == infinity);
    CHECK(tpu::exponential(0.0f) == 1);
    CHECK(tpu::logarithm(0.0f) == -infinity);
    CHECK(tpu::logarithm(infinity) == infinity);
    CHECK(tpu::hyperbolic_tangent(-infinity) == -1);
    CHECK(tpu::sigmoid(-infinity) == 0);
    CHECK(tpu::sigmoid(infinity) == 1);
    CHECK(tpu::error_function(infinity) == 1);
    for (auto* function :
         {tpu::exponential, tpu::logarithm, tpu::hyperbolic_tangent, tpu::sigmoid, tpu::error_function}) {
        CHECK(std::isnan(function(std::numeric_limits<float>::quiet_NaN())));
    }
}

TEST_CASE("random numbers are uniform") {
    // Mean 1/2 and variance 1/12, within five standard errors of 100,000 draws.
    double sum = 0, squares = 0;
    constexpr int count = 100000;
    for (int i = 0; i < count; ++i) {
        const double x = tpu::random_uniform(7, static_cast<std::uint64_t>(i));
        REQUIRE(x >= 0);
        REQUIRE(x < 1);
        sum += x;
        squares += (x - 0.5) * (x - 0.5);
    }
    CHECK(std::fabs(sum / count - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
    CHECK(std::fabs(squares / count - 1.0 / 12) < 5 * std::sqrt(1.0 / 180 / count));
    CHECK(tpu::random_uniform(1, 0) != tpu::random_uniform(2, 0));
}
