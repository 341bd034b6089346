// Kernels that nvcc compiled from cuda/features.cu, one language feature each, against plain C++.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "compare_modes.h"
#include "isa/numerics/formats.h"
#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;
namespace numerics = heddle::numerics;

namespace {

const std::string& features() {
    static const std::string text =
        read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/features.ptx");
    return text;
}

template <class T>
std::vector<T> spread(std::size_t count, double low, double high) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<T>(low + (high - low) * static_cast<double>(i * 7919 % count) /
                                             static_cast<double>(count - 1));
    }
    return values;
}

double horner(double x, int terms) {
    double sum = 0;
    for (int i = terms; i > 0; --i) sum = std::fma(sum, x, i);
    return sum;
}

}  // namespace

TEST_CASE("Functions are called by some lanes, and return structures", "[ptx][features]") {
    const Program program(features(), "functions");
    Device device;
    const auto x = spread<double>(300, -3, 40);
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<double>(x.size()));
    program.run(device, {3}, {128}, {argument(300), argument(px), argument(py)});
    const auto y = device.download<double>(py, x.size());
    for (int i = 0; i < 300; ++i) {
        double result = x[i];
        if (i % 3 != 0) result = horner(x[i], i % 7);
        if (result > 2.0) {
            int count = 0;
            for (; result >= 1.0; ++count) result *= 0.5;
            result += count;
        }
        REQUIRE(y[i] == horner(result, 3));
    }
}

TEST_CASE("A switch of many cases", "[ptx][features]") {
    const Program program(features(), "dispatch");
    Device device;
    std::vector<int> x(200);
    for (int i = 0; i < 200; ++i) x[i] = i * 7919 % 1000 - 300;
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<int>(200, 5));
    program.run(device, {2}, {128}, {argument(200), argument(px), argument(py)});
    const auto y = device.download<int>(py, 200);
    for (int i = 0; i < 200; ++i) {
        int v = x[i], out = 5;
        for (int round = 0; round < 3; ++round) {
            switch ((v + round) & 15) {
                case 0:
                    v = v * 3 + 1;
                    out += v;
                    break;
                case 1:
                    v = v ^ (v >> 3);
                    out -= v;
                    break;
                case 2:
                    v = v / 5;
                    out ^= v;
                    break;
                case 3:
                    v = v + round;
                    out |= v;
                    break;
                case 4:
                    v = ~v;
                    out += 2 * v;
                    break;
                case 5:
                    v = static_cast<int>(static_cast<unsigned>(v) << 2);
                    out -= 3 * v;
                    break;
                case 6:
                    v = v * v;
                    out += 7;
                    break;
                case 7:
                    v = v - 11;
                    out *= 3;
                    break;
                case 8:
                    v = v % 9;
                    out += v & 3;
                    break;
                case 9:
                    out += 9;
                    break;
                case 10:
                    v = -v;
                    out -= 10;
                    break;
                default:
                    v += 1;
                    out += round;
                    break;
            }
        }
        REQUIRE(y[i] == out);
    }
}

TEST_CASE("Single-precision mathematics within CUDA's bounds", "[ptx][features]") {
    const Program program(features(), "single_math");
    Device device;
    const int n = 500;
    const auto x = spread<float>(n, -20, 20);
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<float>(12 * n));
    program.run(device, {4}, {128}, {argument(n), argument(px), argument(py)});
    const auto y = device.download<float>(py, 12 * n);
    // CUDA programming guide, "Mathematical functions": maximum error in ulp of the functions as compiled
    // here.
    const double ulps[12] = {2, 2, 2, 1, 4, 2, 2, 1, 3, 1, 0, 2};
    for (int i = 0; i < n; ++i) {
        const double v = x[i];
        const double expected[12] = {std::sin(v),
                                     std::cos(v),
                                     std::exp(v),
                                     std::log(std::fabs(v)),
                                     std::pow(std::fabs(v), static_cast<double>(1.7f)),
                                     std::erf(v),
                                     std::tanh(v),
                                     std::cbrt(v),
                                     std::atan2(v, 2.0),
                                     std::expm1(v),
                                     std::fmod(v, static_cast<double>(0.7f)),
                                     1 / std::sqrt(static_cast<double>(x[i] * x[i] + 1.0f))};
        for (int f = 0; f < 12; ++f) {
            const double given = y[12 * i + f];
            const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected[f]), -126) - 23);
            INFO("function " << f << " of " << v << " gives " << given << ", exact " << expected[f]);
            // One more for the rounding of x * x + 1 that differs by contraction, and of the expected value.
            REQUIRE(std::fabs(given - expected[f]) <= (ulps[f] + 1) * ulp);
        }
    }
}

TEST_CASE("Double-precision mathematics within CUDA's bounds", "[ptx][features]") {
    const Program program(features(), "double_math");
    Device device;
    const int n = 300;
    const auto x = spread<double>(n, -15, 15);
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<double>(8 * n));
    program.run(device, {3}, {128}, {argument(n), argument(px), argument(py)});
    const auto y = device.download<double>(py, 8 * n);
    for (int i = 0; i < n; ++i) {
        const double v = x[i];
        const double expected[8] = {
            std::sin(v), std::exp(v),  std::log(std::fabs(v)),  std::pow(std::fabs(v), 1.7),
            std::erf(v), std::tanh(v), std::sqrt(std::fabs(v)), std::cos(1000.0 * v)};
        for (int f = 0; f < 8; ++f) {
            const double given = y[8 * i + f], ulp = std::ldexp(1.0, std::ilogb(expected[f]) - 52);
            INFO("function " << f << " of " << v << " gives " << given << ", exact " << expected[f]);
            REQUIRE(std::fabs(given - expected[f]) <= 3 * ulp);  // the guide's worst is 2
        }
    }
}

TEST_CASE("A structure as parameter, indexed at run time", "[ptx][features]") {
    const Program program(features(), "structure");
    struct {
        int scale = 3;
        float values[10] = {};
        short bias = -7;
    } box;
    for (int i = 0; i < 10; ++i) box.values[i] = 1.5f * static_cast<float>(i);
    std::vector<std::byte> bytes(sizeof(box));
    std::memcpy(bytes.data(), &box, sizeof(box));
    Device device;
    const auto py = device.upload("y", std::vector<float>(64));
    program.run(device, {1}, {64}, {bytes, argument(4), argument(py)});
    const auto y = device.download<float>(py, 64);
    for (int i = 0; i < 64; ++i) CHECK(y[i] == box.values[(i + 4) % 10] * 3 - 7);
}

TEST_CASE("Variables of the module keep their values between launches", "[ptx][features]") {
    const Program program(features(), "globals");
    Device device;
    const auto px = device.upload("x", std::vector<float>(128, 0.25f));
    program.run(device, {1}, {128}, {argument(px)});
    program.run(device, {1}, {128}, {argument(px)});
    const auto table = device.download<int>(module_variable_address(device.memory, "table"), 64);
    for (int i = 0; i < 64; ++i) CHECK(table[i] == 2 * (i + i + 64));
    const auto total = device.download<float>(module_variable_address(device.memory, "total"), 1);
    CHECK(total[0] == 0.5f + 2 * 32 * 0.25f * (1 + 2 + 4 + 8));
}

TEST_CASE("64-bit and 128-bit integers, byte instructions", "[ptx][features]") {
    __extension__ typedef __int128 Wide;
    const Program program(features(), "wide_integers");
    Device device;
    std::vector<long long> x(128);
    std::vector<unsigned> u(128);
    std::mt19937_64 generator(3);
    for (int i = 0; i < 128; ++i) {
        x[i] = static_cast<long long>(generator()) >> (i % 60);
        u[i] = static_cast<unsigned>(generator() >> (i % 30));
    }
    const auto px = device.upload("x", x), pu = device.upload("u", u),
               py = device.upload("y", std::vector<long long>(8 * 128));
    program.run(device, {1}, {128}, {argument(px), argument(pu), argument(py)});
    const auto y = device.download<long long>(py, 8 * 128);
    for (int i = 0; i < 128; ++i) {
        const long long v = x[i];
        const unsigned w = u[i];
        CHECK(y[8 * i] == v / static_cast<long long>(w | 1));
        CHECK(y[8 * i + 1] == v % 1000);
        CHECK(y[8 * i + 2] == static_cast<long long>((static_cast<Wide>(v) * v) >> 64));
        CHECK(y[8 * i + 3] == std::popcount(static_cast<unsigned long long>(v)) * 100 +
                                  std::countl_zero(static_cast<unsigned long long>(v)));
        // Selector 0x3214, from the low byte: byte 0 of the second word, then bytes 1, 2, 3 of the first.
        CHECK(static_cast<unsigned>(y[8 * i + 4]) == ((w * 3 & 0xFFu) | (w & 0xFFFFFF00u)));
        CHECK(static_cast<unsigned>(y[8 * i + 5]) ==
              static_cast<unsigned>((static_cast<unsigned long long>(w * 7) << 32 | w) << 13 >> 32));
        int dot = 3;
        for (int b = 0; b < 4; ++b)
            dot += static_cast<signed char>(w >> (8 * b)) * static_cast<signed char>(w * 5 >> (8 * b));
        CHECK(static_cast<int>(y[8 * i + 6]) == dot);
        unsigned reversed = 0;
        for (int b = 0; b < 32; ++b) reversed |= (w >> b & 1u) << (31 - b);
        CHECK(y[8 * i + 7] == static_cast<long long>(static_cast<unsigned long long>(v) / 7 + reversed));
    }
}

TEST_CASE("Dynamic shared memory and barriers that count", "[ptx][features]") {
    const Program program(features(), "dynamic_shared");
    Device device;
    const auto py = device.upload("y", std::vector<float>(128));
    program.run(device, {1}, {128}, {argument(500), argument(py)}, 500 * sizeof(float));
    const auto y = device.download<float>(py, 128);
    // 43 of 0 ... 127 are multiples of three; thread 77 exists.
    for (int i = 0; i < 128; ++i) CHECK(y[i] == static_cast<float>(499 - i + 43000 + 100000));
    // One byte less than the kernel touches.
    CHECK_THROWS(program.run(device, {1}, {128}, {argument(500), argument(py)}, 499 * sizeof(float)));
}

TEST_CASE("Half and bfloat16 intrinsics", "[ptx][features]") {
    using numerics::Format;
    const Program program(features(), "narrow_math");
    Device device;
    std::vector<std::uint16_t> x, z;
    for (int i = 0; i < 100; ++i) {
        x.push_back(numerics::fp32_to_fp16(static_cast<float>(i - 50) * 0.37f));
        z.push_back(numerics::fp32_to_bf16(static_cast<float>(i - 30) * 0.77f));
    }
    const auto px = device.upload("x", x), pz = device.upload("z", z),
               py = device.upload("y", std::vector<float>(400));
    program.run(device, {1}, {128}, {argument(100), argument(px), argument(pz), argument(py)});
    const auto y = device.download<float>(py, 400);
    const auto to_half = [](double v) {
        return numerics::to_float(
            Format::fp16, static_cast<std::uint32_t>(numerics::convert(Format::fp16, Format::fp64,
                                                                       std::bit_cast<std::uint64_t>(v))));
    };
    for (int i = 0; i < 100; ++i) {
        const double h = numerics::fp16_to_fp32(x[i]), b = numerics::bf16_to_fp32(z[i]);
        CHECK(y[4 * i] == std::max(to_half(h * h), 0.5f));
        CHECK(y[4 * i + 1] == numerics::bf16_to_fp32(static_cast<std::uint16_t>(numerics::convert(
                                  Format::bf16, Format::fp64, std::bit_cast<std::uint64_t>(b * b + 1)))));
        numerics::Conversion toward_zero;
        toward_zero.rounding = numerics::Rounding::toward_zero;
        CHECK(y[4 * i + 2] ==
              numerics::to_float(
                  Format::fp16,
                  numerics::from_float(Format::fp16, static_cast<float>(h) * 1.001f, toward_zero)));
        CHECK(y[4 * i + 3] == static_cast<float>(std::nearbyint(to_half(h * 10))) + (h < 0 ? 100.0f : 0.0f));
    }
}

TEST_CASE("Both modes agree on calls and switches", "[ptx][features]") {
    Device functional, timing;
    const auto run = [&](const std::string& entry, const std::vector<std::vector<std::byte>>& arguments) {
        const Program program(features(), entry);
        return compare_modes(program.launch(functional, {3}, {128}, arguments, Mode::functional),
                             program.launch(timing, {3}, {128}, arguments, Mode::timing));
    };
    const auto x = spread<double>(300, -3, 40);
    const auto px = functional.upload("x", x), py = functional.upload("y", std::vector<double>(300));
    REQUIRE(timing.upload("x", x) == px);
    REQUIRE(timing.upload("y", std::vector<double>(300), false) == py);
    const ModeComparison result = run("functions", {argument(300), argument(px), argument(py)});
    CHECK(result.differences == 0);
    CHECK(result.steps > 1000);
}
