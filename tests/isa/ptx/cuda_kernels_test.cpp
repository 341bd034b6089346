// Kernels that nvcc compiled (cuda/kernels.cu) against plain C++.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const std::string& kernels() {
    static const std::string text =
        read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/kernels.ptx");
    return text;
}

template <class T>
std::vector<T> random_integers(std::size_t count, long long low, long long high, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_int_distribution<long long> distribution(low, high);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(distribution(generator));
    return values;
}

std::vector<float> random_floats(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> distribution(-2, 2);
    std::vector<float> values(count);
    for (float& value : values) value = distribution(generator);
    return values;
}

}  // namespace

TEST_CASE("saxpy with a ragged end", "[ptx]") {
    const Program program(kernels(), "saxpy");
    Device device;
    const int n = 1000;
    const std::vector<float> x = random_floats(n, 1), y = random_floats(n, 2);
    const auto px = device.upload("x", x), py = device.upload("y", y);
    program.run(device, {8}, {128}, {argument(n), argument(1.5f), argument(px), argument(py)});
    const std::vector<float> result = device.download<float>(py, n);
    for (int i = 0; i < n; ++i) REQUIRE(result[i] == std::fma(1.5f, x[i], y[i]));
}

TEST_CASE("tiled SGEMM equals an FMA chain with k ascending", "[ptx]") {
    const Program program(kernels(), "sgemm_tiled");
    Device device;
    const int m = 37, n = 50, k = 41;
    const std::vector<float> a = random_floats(m * k, 3), b = random_floats(k * n, 4);
    const auto pa = device.upload("a", a), pb = device.upload("b", b),
               pc = device.upload("c", std::vector<float>(m * n));
    program.run(device, {4, 3}, {16, 16},
                {argument(m), argument(n), argument(k), argument(pa), argument(pb), argument(pc)});
    const std::vector<float> c = device.download<float>(pc, m * n);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int l = 0; l < k; ++l) sum = std::fma(a[i * k + l], b[l * n + j], sum);
            REQUIRE(c[i * n + j] == sum);
        }
    }
}

TEST_CASE("sum with shuffles, shared memory and an atomic", "[ptx]") {
    const Program program(kernels(), "reduce_sum");
    Device device;
    const std::vector<int> x = random_integers<int>(5003, -1000, 1000, 5);
    const auto px = device.upload("x", x), result = device.upload("result", std::vector<int>(1));
    program.run(device, {3}, {256}, {argument(static_cast<int>(x.size())), argument(px), argument(result)});
    REQUIRE(device.download<int>(result, 1)[0] == std::accumulate(x.begin(), x.end(), 0));
}

TEST_CASE("histogram with shared atomics", "[ptx]") {
    const Program program(kernels(), "histogram");
    Device device;
    const auto x = random_integers<unsigned char>(4321, 0, 99, 6);
    const auto px = device.upload("x", x), bins = device.upload("bins", std::vector<unsigned>(256));
    program.run(device, {2}, {192}, {argument(static_cast<int>(x.size())), argument(px), argument(bins)});
    const std::vector<unsigned> counted = device.download<unsigned>(bins, 256);
    for (unsigned b = 0; b < 256; ++b) {
        REQUIRE(counted[b] ==
                static_cast<unsigned>(std::count(x.begin(), x.end(), static_cast<unsigned char>(b))));
    }
}

TEST_CASE("transpose through shared memory", "[ptx]") {
    const Program program(kernels(), "transpose");
    Device device;
    const int rows = 45, columns = 70;
    const std::vector<float> x = random_floats(rows * columns, 7);
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<float>(rows * columns));
    program.run(device, {3, 2}, {32, 8}, {argument(rows), argument(columns), argument(px), argument(py)});
    const std::vector<float> y = device.download<float>(py, rows * columns);
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) REQUIRE(y[c * rows + r] == x[r * columns + c]);
    }
}

TEST_CASE("loops with different trip counts per lane", "[ptx]") {
    const Program program(kernels(), "collatz");
    Device device;
    const auto x = random_integers<unsigned long long>(300, 1, 100000, 8);
    const auto px = device.upload("x", x), steps = device.upload("steps", std::vector<int>(x.size()));
    program.run(device, {3}, {128}, {argument(static_cast<int>(x.size())), argument(px), argument(steps)});
    const std::vector<int> result = device.download<int>(steps, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        int count = 0;
        for (unsigned long long v = x[i]; v != 1; ++count) v = v % 2 == 0 ? v / 2 : 3 * v + 1;
        REQUIRE(result[i] == count);
    }
}

TEST_CASE("softmax of rows against double precision", "[ptx]") {
    const Program program(kernels(), "softmax_rows");
    Device device;
    const int rows = 9, columns = 77;
    const std::vector<float> x = random_floats(rows * columns, 9);
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<float>(rows * columns));
    program.run(device, {3}, {32, 4}, {argument(rows), argument(columns), argument(px), argument(py)});
    const std::vector<float> y = device.download<float>(py, rows * columns);
    for (int r = 0; r < rows; ++r) {
        double largest = -INFINITY, sum = 0;
        for (int c = 0; c < columns; ++c) largest = std::max<double>(largest, x[r * columns + c]);
        for (int c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c] - largest);
        for (int c = 0; c < columns; ++c) {
            const double expected = std::exp(x[r * columns + c] - largest) / sum;
            // expf and the sum of 77 terms: a few units in the last place.
            REQUIRE(std::abs(y[r * columns + c] - expected) <= 2e-6 * expected);
        }
    }
}

TEST_CASE("integer division, local arrays, a constant table and double precision", "[ptx]") {
    const Program program(kernels(), "mixed");
    Device device;
    const auto x = random_integers<int>(200, -2000000000, 2000000000, 10);
    auto divisor = random_integers<int>(200, -50, 50, 11);
    for (int& d : divisor) d = d == 0 ? 7 : d;
    const auto px = device.upload("x", x), pd = device.upload("divisor", divisor);
    const auto py = device.upload("y", std::vector<double>(x.size()));
    program.run(device, {2}, {128},
                {argument(static_cast<int>(x.size())), argument(px), argument(pd), argument(py)});
    const std::vector<double> y = device.download<double>(py, x.size());
    const double coefficients[5] = {1.0, -0.5, 0.25, -0.125, 0.0625};
    for (std::size_t i = 0; i < x.size(); ++i) {
        int digits[8], value = x[i];
        for (int& digit : digits) {
            digit = value % 10;
            value /= 10;
        }
        double sum = 0;
        // nvcc contracts products and sums into fused multiply-adds.
        for (int d = 0; d < 8; ++d) sum = std::fma(sum, 3.0, digits[(d * divisor[i]) & 7]);
        for (const double c : coefficients) sum = std::fma(c, static_cast<double>(x[i] / divisor[i]), sum);
        REQUIRE(y[i] == Approx(std::sqrt(std::fabs(sum)) + (x[i] & 0xffff) / 3.0).epsilon(1e-15));
    }
}

TEST_CASE("packed half multiply-add", "[ptx]") {
    const Program program(kernels(), "half_axpy");
    Device device;
    // Small integers: every product and sum is exact in half precision.
    const auto half = [](int value) -> std::uint16_t {
        if (value == 0) return 0;
        const int magnitude = std::abs(value), exponent = static_cast<int>(std::log2(magnitude));
        return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                                          ((magnitude << (10 - exponent)) & 0x3ff));
    };
    const auto x = random_integers<int>(128, -20, 20, 12), y = random_integers<int>(128, -100, 100, 13);
    std::vector<std::uint16_t> hx, hy;
    for (std::size_t i = 0; i < x.size(); ++i) {
        hx.push_back(half(x[i]));
        hy.push_back(half(y[i]));
    }
    const auto px = device.upload("x", hx), py = device.upload("y", hy);
    program.run(device, {1}, {64}, {argument(64), argument(half(3)), argument(px), argument(py)});
    const auto result = device.download<std::uint16_t>(py, y.size());
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(result[i] == half(3 * x[i] + y[i]));
}

TEST_CASE("stream compaction by ballot", "[ptx]") {
    const Program program(kernels(), "compact");
    Device device;
    const auto x = random_integers<int>(500, 0, 99, 14);
    const auto px = device.upload("x", x), py = device.upload("y", std::vector<int>(x.size()));
    const auto count = device.upload("count", std::vector<int>(1));
    program.run(
        device, {4}, {128},
        {argument(static_cast<int>(x.size())), argument(px), argument(60), argument(py), argument(count)});
    std::vector<int> expected;
    std::copy_if(x.begin(), x.end(), std::back_inserter(expected), [](int v) { return v > 60; });
    REQUIRE(device.download<int>(count, 1)[0] == static_cast<int>(expected.size()));
    // CTAs and warps run in order here, so the order is kept.
    REQUIRE(device.download<int>(py, expected.size()) == expected);
}
