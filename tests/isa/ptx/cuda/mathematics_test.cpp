// CUDA's mathematical functions against glibc in extended precision, within the bounds of the CUDA C++
// Programming Guide ("Mathematical Functions": maximum ulp error between the correctly rounded result and the
// result given). They are long sequences of ordinary instructions: one wrong bit shows here.
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <limits>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

using Real = long double;
constexpr Real kPi = 3.14159265358979323846264338327950288L;

// sin(pi x) with the multiple of two taken off exactly.
Real sine_of_half_turns(Real x) {
    const Real r = x - 2 * std::rint(x / 2);
    return std::sin(kPi * (std::fabs(r) <= 0.5L ? r : std::copysign(1 - std::fabs(r), r)));
}
Real cosine_of_half_turns(Real x) {
    const Real r = std::fabs(x - 2 * std::rint(x / 2));
    return std::sin(kPi * (0.5L - r));
}

// The x at which a falling function has this value.
template <class Function>
Real solve_falling(Function&& function, Real value, Real low, Real high) {
    for (int i = 0; i < 110; ++i) {
        const Real middle = (low + high) / 2;
        (function(middle) > value ? low : high) = middle;
    }
    return (low + high) / 2;
}
Real inverse_erfc(Real x) {
    return solve_falling([](Real v) { return std::erfc(v); }, x, -8, 30);
}
Real inverse_erf(Real x) {
    return solve_falling([](Real v) { return -std::erf(v); }, -x, -7, 7);
}

struct Function {
    const char* name;
    double single_ulps, double_ulps;
    double low, high;  ///< of the sweep
    Real (*exact)(Real);
    bool specials = true;  ///< infinities, zeros and so on as well
};

const Function kFunctions[] = {
    {"cbrt", 1, 1, -1e3, 1e3, [](Real x) { return std::cbrt(x); }},
    {"rcbrt", 1, 1, -1e3, 1e3, [](Real x) { return 1 / std::cbrt(x); }},
    {"exp", 2, 1, -80, 80, [](Real x) { return std::exp(x); }},
    {"exp2", 2, 1, -140, 120, [](Real x) { return std::exp2(x); }},
    {"exp10", 2, 1, -40, 38, [](Real x) { return exp10l(x); }},
    {"expm1", 1, 1, -20, 20, [](Real x) { return std::expm1(x); }},
    {"log", 1, 1, 0, 30, [](Real x) { return std::log(x); }},
    {"log2", 1, 1, 0, 30, [](Real x) { return std::log2(x); }},
    {"log10", 2, 1, 0, 30, [](Real x) { return std::log10(x); }},
    {"log1p", 1, 1, -0.99, 30, [](Real x) { return std::log1p(x); }},
    {"sin", 2, 2, -1e5, 1e5, [](Real x) { return std::sin(x); }},
    {"cos", 2, 2, -1e5, 1e5, [](Real x) { return std::cos(x); }},
    {"tan", 4, 2, -1e5, 1e5, [](Real x) { return std::tan(x); }},
    {"sinpi", 1, 2, -100, 100, sine_of_half_turns, false},
    {"cospi", 1, 2, -100, 100, cosine_of_half_turns, false},
    {"asin", 2, 2, -1, 1, [](Real x) { return std::asin(x); }},
    {"acos", 2, 2, -1, 1, [](Real x) { return std::acos(x); }},
    {"atan", 2, 2, -20, 20, [](Real x) { return std::atan(x); }},
    {"sinh", 3, 2, -80, 80, [](Real x) { return std::sinh(x); }},
    {"cosh", 2, 1, -80, 80, [](Real x) { return std::cosh(x); }},
    {"tanh", 2, 1, -10, 10, [](Real x) { return std::tanh(x); }},
    {"asinh", 3, 3, -1e3, 1e3, [](Real x) { return std::asinh(x); }},
    {"acosh", 4, 3, 1, 1e3, [](Real x) { return std::acosh(x); }},
    {"atanh", 3, 2, -1, 1, [](Real x) { return std::atanh(x); }},
    {"erf", 2, 2, -4, 4, [](Real x) { return std::erf(x); }},
    {"erfc", 4, 5, -4, 9, [](Real x) { return std::erfc(x); }},
    {"erfinv", 2, 5, -0.999, 0.999, inverse_erf, false},
    {"erfcinv", 4, 6, 0.001, 1.999, inverse_erfc, false},
    {"erfcx", 4, 4, -3, 8, [](Real x) { return std::exp(x * x) * std::erfc(x); }, false},
    {"normcdf", 5, 5, -5, 5, [](Real x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }, false},
    {"normcdfinv", 5, 8, 0.01, 0.99, [](Real x) { return -std::sqrt(2.0L) * inverse_erfc(2 * x); }, false},
    // The guide's bound leaves out -10.001 ... -2.264 (double precision: -23.0001 ... -2.2637).
    {"lgamma", 6, 4, 0.1, 50, [](Real x) { return std::lgamma(x); }, false},
    {"tgamma", 5, 10, 0.1, 30, [](Real x) { return std::tgamma(x); }},
    {"j0", 9, 7, 0, 8, [](Real x) { return j0l(x); }, false},
    {"j1", 9, 7, 0, 8, [](Real x) { return j1l(x); }, false},
    {"y0", 9, 7, 0.01, 8, [](Real x) { return y0l(x); }, false},
    {"rsqrt", 2, 1, 0, 1e6, [](Real x) { return 1 / std::sqrt(x); }},
    {"sqrt", 0, 0, 0, 1e6, [](Real x) { return std::sqrt(x); }},
    {"logb", 0, 0, -1e6, 1e6, [](Real x) { return std::logb(x); }, false},
    {"trunc", 0, 0, -1e4, 1e4, [](Real x) { return std::trunc(x); }},
    {"round", 0, 0, -1e4, 1e4, [](Real x) { return std::round(x); }},
    {"rint", 0, 0, -1e4, 1e4, [](Real x) { return std::rint(x); }},
    {"floor", 0, 0, -1e4, 1e4, [](Real x) { return std::floor(x); }},
    {"ceil", 0, 0, -1e4, 1e4, [](Real x) { return std::ceil(x); }},
};

template <class T>
Real ulp_of(Real value) {
    using Limits = std::numeric_limits<T>;
    const int exponent = value == 0 ? Limits::min_exponent - 1 : std::ilogb(value);
    return std::ldexp(1.0L, std::max(exponent, Limits::min_exponent - 1) - (Limits::digits - 1));
}

// Distance in units of the last place; 0 for equal infinities and for two NaNs.
template <class T>
Real distance(T given, Real exact) {
    const T rounded = static_cast<T>(exact);
    if (std::isnan(rounded) || std::isnan(given)) return std::isnan(rounded) && std::isnan(given) ? 0 : 1e30L;
    if (rounded == given) return 0;
    if (std::isinf(rounded) && std::isinf(exact)) return 1e30L;
    // An infinity that came from rounding stands for the next power of two.
    const Real value =
        std::isinf(given)
            ? std::copysign(std::ldexp(1.0L, std::numeric_limits<T>::max_exponent), static_cast<Real>(given))
            : static_cast<Real>(given);
    const Real error = std::fabs(value - exact) / ulp_of<T>(exact);
    return std::max<Real>(0, error - 0.5L);  // the bounds are against the rounded result
}

template <class T>
std::vector<T> sweep(double low, double high, int count, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<double> distribution(low, high);
    std::vector<T> x;
    while (static_cast<int>(x.size()) < count) x.push_back(static_cast<T>(distribution(generator)));
    // Small magnitudes too, where the range allows them.
    for (int e = -40; e < 4; ++e) {
        for (const double sign : {-1.3, 1.7}) {
            const double v = std::ldexp(sign, e);
            if (v > low && v < high) x.push_back(static_cast<T>(v));
        }
    }
    return x;
}

template <class T>
void add_specials(std::vector<T>& x) {
    using Limits = std::numeric_limits<T>;
    for (const T v : {T(0), Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), Limits::min(),
                      Limits::max(), T(1), T(0.5), T(2.5)}) {
        x.push_back(v);
        x.push_back(-v);
    }
}

template <class T>
void check_function(CudaGpu& gpu, const Function& function, double bound) {
    std::vector<T> x = sweep<T>(function.low, function.high, 200, 1);
    if (function.specials) add_specials(x);
    const int n = static_cast<int>(x.size());
    const auto py = gpu.zeros<T>(x.size());
    gpu.run(std::string("k_") + function.name + (sizeof(T) == 4 ? "f" : ""),
            {static_cast<unsigned>(n + 127) / 128}, {128}, n, gpu.upload(x), py);
    const auto y = gpu.download<T>(py, x.size());
    Real worst = 0;
    for (int i = 0; i < n; ++i) {
        const Real exact = function.exact(x[i]), error = distance(y[i], exact);
        worst = std::max(worst, error);
        if (error > bound + 0.01L) {
            FAIL_CHECK(function.name << "(" << x[i] << ") is " << exact << ", given " << y[i] << ", "
                                     << static_cast<double>(error) << " ulp, the guide's bound is " << bound);
            return;
        }
    }
    CHECK(worst <= bound + 0.01L);
}

template <class T>
void check_two_arguments(CudaGpu& gpu, const double (&bounds)[11]) {
    auto a = sweep<T>(-60, 60, 300, 2), b = sweep<T>(-9, 9, static_cast<int>(a.size()) - 80, 3);
    b.resize(a.size(), T(1.5));
    std::vector<T> special;
    add_specials(special);
    for (const T u : special) {
        for (const T v : special) {
            a.push_back(u);
            b.push_back(v);
        }
    }
    const int n = static_cast<int>(a.size());
    const auto py = gpu.zeros<T>(11 * a.size());
    gpu.run("two_arguments", {static_cast<unsigned>(n + 127) / 128}, {128}, n, gpu.upload(a), gpu.upload(b),
            py);
    const auto y = gpu.download<T>(py, 11 * a.size());
    for (int i = 0; i < n; ++i) {
        const Real u = a[i], v = b[i];
        const Real exact[11] = {std::pow(u, v),      std::atan2(u, v),           std::hypot(u, v),
                                std::fmod(u, v),     std::remainder(u, v),       std::fdim(a[i], b[i]),
                                std::copysign(u, v), std::nextafter(a[i], b[i]), std::fmin(u, v),
                                std::fmax(u, v),     1 / std::hypot(u, v)};
        for (int f = 0; f < 11; ++f) {
            INFO("function " << f << " of " << a[i] << ", " << b[i] << " is " << exact[f] << ", given "
                             << y[f * n + i]);
            REQUIRE(distance(y[f * n + i], exact[f]) <= bounds[f] + 0.01L);
        }
    }
}

template <class T>
void check_several_results(CudaGpu& gpu, double sine_bound, const double (&norm_bounds)[2]) {
    const auto x = sweep<T>(-50, 50, 200, 4);
    const int n = static_cast<int>(x.size());
    const auto py = gpu.zeros<T>(11 * x.size()), pz = gpu.zeros<int>(6 * x.size());
    gpu.run("several_results", {static_cast<unsigned>(n + 127) / 128}, {128}, n, gpu.upload(x), py, pz);
    const auto y = gpu.download<T>(py, 11 * x.size());
    const auto z = gpu.download<int>(pz, 6 * x.size());
    for (int i = 0; i < n; ++i) {
        const T v = x[i];
        const auto given = [&](int row) { return y[row * n + i]; };
        INFO("x " << v);
        REQUIRE(distance(given(0), std::sin(static_cast<Real>(v))) <= sine_bound + 0.01L);
        REQUIRE(distance(given(1), std::cos(static_cast<Real>(v))) <= sine_bound + 0.01L);
        T whole;
        int exponent, quotient;
        REQUIRE(given(2) == std::modf(v, &whole));
        REQUIRE(given(3) == whole);
        REQUIRE(given(4) == std::frexp(v, &exponent));
        REQUIRE(z[i] == exponent);
        REQUIRE(given(5) == std::ldexp(v, i % 40 - 20));
        REQUIRE(given(6) == std::remquo(v, T(0.75), &quotient));
        REQUIRE((z[n + i] & 7) == (quotient & 7));
        const Real u = v, w = v + T(1), twice = v * 2;
        REQUIRE(distance(given(7), std::sqrt(u * u + w * w + 0.25L)) <= norm_bounds[0] + 0.01L);
        REQUIRE(distance(given(8), std::sqrt(u * u + w * w + 0.25L + twice * twice)) <=
                norm_bounds[1] + 0.01L);
        REQUIRE(given(9) == std::fma(v, v, T(-1.5)));
        REQUIRE(given(10) == std::scalbn(v, -i % 60));
        REQUIRE(z[2 * n + i] == std::ilogb(v));
        REQUIRE(z[3 * n + i] == (std::signbit(v) ? 4 : 0) + 8);
        REQUIRE(z[4 * n + i] == std::lround(v));
        REQUIRE(z[5 * n + i] == std::llrint(v));
    }
}

template <class T>
[[gnu::noinline]] void rounded_reference(T a, T b, T* out) {
    volatile T p = a, q = b;
    const int directions[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    for (int d = 0; d < 4; ++d) {
        std::fesetround(directions[d]);
        volatile T magnitude = std::fabs(p);
        volatile T sum = p + q, product = p * q, quotient = p / q, difference = p - q;
        volatile T root = std::sqrt(magnitude), fused = std::fma(p, q, p);
        std::fesetround(FE_TONEAREST);
        out[d] = sum;
        out[4 + d] = product;
        out[8 + d] = quotient;
        out[12 + d] = difference;
        out[16 + d] = root;
        out[20 + d] = fused;
    }
}

template <class T>
void check_rounded(CudaGpu& gpu) {
    auto a = sweep<T>(-1000, 1000, 200, 5), b = sweep<T>(-3, 3, static_cast<int>(a.size()) - 80, 6);
    b.resize(a.size(), T(3));
    add_specials(a);
    add_specials(b);
    std::reverse(b.end() - 18, b.end());
    const int n = static_cast<int>(std::min(a.size(), b.size()));
    const auto py = gpu.zeros<T>(24 * a.size());
    gpu.run("rounded", {static_cast<unsigned>(n + 127) / 128}, {128}, n, gpu.upload(a), gpu.upload(b), py);
    const auto y = gpu.download<T>(py, 24 * a.size());
    for (int i = 0; i < n; ++i) {
        T expected[24];
        rounded_reference<T>(a[i], b[i], expected);
        for (int f = 0; f < 24; ++f) {
            INFO("operation " << f << " of " << a[i] << ", " << b[i] << " is " << expected[f] << ", given "
                              << y[24 * i + f]);
            const bool same = std::isnan(expected[f])
                                  ? std::isnan(y[24 * i + f])
                                  : expected[f] == y[24 * i + f] &&
                                        std::signbit(expected[f]) == std::signbit(y[24 * i + f]);
            REQUIRE(same);
        }
    }
}

}  // namespace

TEST_CASE("CUDA: functions of one argument in single precision", "[ptx][cuda]") {
    CudaGpu gpu("single_math.ptx");
    for (const Function& function : kFunctions) check_function<float>(gpu, function, function.single_ulps);
}

TEST_CASE("CUDA: functions of one argument in double precision", "[ptx][cuda]") {
    CudaGpu gpu("double_math.ptx");
    for (const Function& function : kFunctions) check_function<double>(gpu, function, function.double_ulps);
}

TEST_CASE("CUDA: functions of two arguments and of several results", "[ptx][cuda]") {
    CudaGpu single("single_math.ptx"), wide("double_math.ptx");
    check_two_arguments<float>(single, {4, 3, 3, 0, 0, 0, 0, 0, 0, 0, 2});
    check_two_arguments<double>(wide, {2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 1});
    check_several_results<float>(single, 2, {3, 3});
    check_several_results<double>(wide, 2, {2, 2});
}

TEST_CASE("CUDA: operations with a rounding of their own", "[ptx][cuda]") {
    CudaGpu single("single_math.ptx"), wide("double_math.ptx");
    check_rounded<float>(single);
    check_rounded<double>(wide);
}

TEST_CASE("CUDA: fast intrinsics within the guide's bounds", "[ptx][cuda]") {
    CudaGpu gpu("single_math.ptx");
    const auto x = sweep<float>(-3.14, 3.14, 300, 7);
    const int n = static_cast<int>(x.size());
    const auto py = gpu.zeros<float>(11 * x.size());
    gpu.run("fast", {4}, {128}, n, gpu.upload(x), py);
    const auto y = gpu.download<float>(py, 11 * x.size());
    for (int i = 0; i < n; ++i) {
        const Real v = x[i], magnitude = std::fabs(v);
        const auto given = [&](int row) { return y[row * n + i]; };
        INFO("x " << x[i]);
        REQUIRE(std::fabs(given(0) - std::sin(v)) <= std::exp2(-21.41L));
        REQUIRE(std::fabs(given(1) - std::cos(v)) <= std::exp2(-21.19L));
        REQUIRE(distance(given(2), std::exp(v)) <= 2 + std::floor(std::fabs(1.173L * v)));
        if (magnitude >= 0.5L && magnitude <= 2) {
            REQUIRE(std::fabs(given(3) - std::log(magnitude)) <= std::exp2(-21.41L));
            REQUIRE(std::fabs(given(8) - std::log2(magnitude)) <= std::exp2(-22.0L));
        } else {
            REQUIRE(distance(given(3), std::log(magnitude)) <= 3);
            REQUIRE(distance(given(8), std::log2(magnitude)) <= 2);
        }
        REQUIRE(distance(given(4), v / static_cast<Real>(1.7f)) <= 2);
        REQUIRE(given(5) == Approx(static_cast<double>(std::tan(v))).epsilon(1e-4).margin(1e-6));
        REQUIRE(given(6) ==
                Approx(static_cast<double>(std::pow(magnitude, static_cast<Real>(1.3f)))).epsilon(1e-5));
        REQUIRE(distance(given(7), exp10l(v)) <= 2 + std::floor(std::fabs(2.97L * v)));
        REQUIRE(given(9) == std::fmin(std::fmax(x[i], 0.0f), 1.0f));
        REQUIRE(distance(given(10), 1 / std::sqrt(magnitude)) <= 0.01L);
    }
}
