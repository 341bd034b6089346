#include "isa/tpu/elementary_functions.h"

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace heddle::tpu {
namespace {

/// 2^n for -1022 <= n <= 1023.
double power_of_two(int n) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

/// e^x for |x| <= 700: x = n ln 2 + r with |r| <= 0.35, then the Taylor polynomial (remainder below 4e-18).
double exponential_of(double x) {
    constexpr double log2e = 0x1.71547652b82fep+0;
    constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    // Adding and taking away 1.5 * 2^52 rounds to an integer.
    const double n = (x * log2e + 0x1.8p52) - 0x1.8p52;
    const double r = (x - n * ln2_high) - n * ln2_low;
    double sum = 1.0 / 87178291200.0;  // 1 / 14!
    for (const double coefficient :
         {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
          1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0}) {
        sum = sum * r + coefficient;
    }
    return sum * power_of_two(static_cast<int>(n));
}

std::uint32_t mix(std::uint32_t x) {
    // "lowbias32" by Chris Wellons, https://nullprogram.com/blog/2018/07/31/
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

}  // namespace

float exponential(float x) {
    if (std::isnan(x)) return x;
    if (x > 89.0f) return std::numeric_limits<float>::infinity();
    if (x < -105.0f) return 0.0f;
    return static_cast<float>(exponential_of(x));
}

float logarithm(float x) {
    if (std::isnan(x) || x < 0.0f) return std::numeric_limits<float>::quiet_NaN();
    if (x == 0.0f) return -std::numeric_limits<float>::infinity();
    if (std::isinf(x)) return x;
    const double wide = x;  // subnormal fp32 numbers are normal in double
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(wide);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        ++exponent;
    }
    // ln m = 2 atanh((m - 1) / (m + 1)), |argument| <= 0.172
    const double s = (m - 1.0) / (m + 1.0), square = s * s;
    double sum = 0.0;
    for (const double coefficient : {1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15,
                                     1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0}) {
        sum = sum * square + coefficient;
    }
    return static_cast<float>(exponent * 0x1.62e42fefa39efp-1 + 2.0 * s * sum);
}

float hyperbolic_tangent(float x) {
    if (std::isnan(x)) return x;
    const double a = std::fabs(static_cast<double>(x));
    if (a > 10.0) return std::copysign(1.0f, x);
    if (a < 0.01) {
        const double square = a * a;
        const double y = x * (1.0 - square * (1.0 / 3 - square * (2.0 / 15 - square * (17.0 / 315))));
        return static_cast<float>(y);
    }
    const double e = exponential_of(2.0 * a);
    return static_cast<float>(std::copysign((e - 1.0) / (e + 1.0), static_cast<double>(x)));
}

float sigmoid(float x) {
    if (std::isnan(x)) return x;
    if (x > 105.0f) return 1.0f;
    if (x < -105.0f) return 0.0f;
    return static_cast<float>(1.0 / (1.0 + exponential_of(-static_cast<double>(x))));
}

float error_function(float x) {
    if (std::isnan(x)) return x;
    const double a = std::fabs(static_cast<double>(x));
    if (a >= 4.0)
        return std::copysign(1.0f, x);  // 1 - erf(4) = 1.5e-8, less than half a unit of the last place of 1
    // erf a = 2/sqrt(pi) e^(-a^2) sum 2^n a^(2n+1) / (2n+1)!!, all terms positive
    const double square = a * a;
    double term = a, sum = a;
    for (int n = 0; n < 200 && term > sum * 1e-17; ++n) {
        term *= 2.0 * square / (2.0 * n + 3.0);
        sum += term;
    }
    return static_cast<float>(
        std::copysign(0x1.20dd750429b6dp+0 * exponential_of(-square) * sum, static_cast<double>(x)));
}

float random_uniform(std::uint64_t stream, std::uint64_t element) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const std::uint32_t key =
        mix(low(stream) + 0x9e3779b9u * (high(stream) + 1)) + 0x85ebca6bu * high(element);
    return static_cast<float>(mix(mix(low(element)) + key) >> 8) * 0x1p-24f;
}

}  // namespace heddle::tpu
