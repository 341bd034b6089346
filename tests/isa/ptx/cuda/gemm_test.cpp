// Kernels of gemm.cu against exact products: the operands are small integers, which every type holds.
#include <bit>
#include <catch2/catch.hpp>

#include "cuda_gpu.h"
#include "isa/numerics/formats.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;
namespace numerics = heddle::numerics;

namespace {

// A (m x k) B (k x n), both row-major.
std::vector<int> product(int m, int n, int k, const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> c(static_cast<std::size_t>(m) * n);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
    }
    return c;
}

std::vector<int> transposed(int rows, int columns, const std::vector<int>& x) {
    std::vector<int> y(x.size());
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
    }
    return y;
}

template <class T, class Convert>
std::vector<T> converted(const std::vector<int>& x, Convert convert) {
    std::vector<T> y;
    for (const int v : x) y.push_back(static_cast<T>(convert(v)));
    return y;
}

std::uint16_t half(int v) {
    return numerics::fp32_to_fp16(static_cast<float>(v));
}
std::uint16_t bf16(int v) {
    return numerics::fp32_to_bf16(static_cast<float>(v));
}
template <numerics::Format kFormat>
std::uint8_t fp8(int v) {
    return static_cast<std::uint8_t>(numerics::from_float(kFormat, static_cast<float>(v)));
}

template <class Input, class Output, class ToInput, class ToOutput>
void check_gemm(const std::string& file, const std::string& entry, int low, ToInput to_input,
                ToOutput to_output) {
    CudaGpu gpu(file);
    const int m = 32, n = 48, k = 64;
    const auto a = random_values<int>(m * k, low, 5, 1), b = random_values<int>(k * n, low, 4, 2),
               c = random_values<int>(m * n, -100, 100, 3);
    const auto pc = gpu.upload(converted<Output>(c, to_output));
    gpu.run(entry, {n / 16, m / 16}, {32}, n, k, gpu.upload(converted<Input>(a, to_input)),
            gpu.upload(converted<Input>(b, to_input)), pc);
    auto expected = product(m, n, k, a, b);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += c[i];
    CHECK(gpu.download<Output>(pc, expected.size()) == converted<Output>(expected, to_output));
}

// Fields of `bits` bits, packed low first.
std::vector<unsigned> packed(const std::vector<int>& x, unsigned bits) {
    std::vector<unsigned> words(x.size() * bits / 32);
    for (std::size_t i = 0; i < x.size(); ++i) {
        words[i * bits / 32] |= (static_cast<unsigned>(x[i]) & ((1u << bits) - 1)) << (i * bits % 32);
    }
    return words;
}

const auto kSame = [](int v) { return v; };

}  // namespace

TEST_CASE("CUDA: products by mma.h of halves, bfloat16 and bytes", "[ptx][cuda]") {
    for (const char* file : {"gemm.ptx", "gemm_80.ptx"}) {
        check_gemm<std::uint16_t, float>(file, "gemm_half_float", -5, half, kSame);
        check_gemm<std::uint16_t, std::uint16_t>(file, "gemm_half_half", -5, half, half);
        check_gemm<std::uint16_t, float>(file, "gemm_bf16", -5, bf16, kSame);
        check_gemm<std::int8_t, int>(file, "gemm_int8", -5, kSame, kSame);
        check_gemm<std::uint8_t, int>(file, "gemm_uint8", 0, kSame, kSame);
    }
}

TEST_CASE("CUDA: products by mma.h of tf32 and doubles", "[ptx][cuda]") {
    CudaGpu gpu("gemm.ptx");
    const int m = 32, n = 32, k = 40;
    const auto a = random_values<int>(m * k, -30, 30, 4), b = random_values<int>(k * n, -30, 30, 5),
               bias = random_values<int>(n, -9, 9, 6);
    const auto exact = product(m, n, k, a, b);
    const auto pc = gpu.zeros<float>(m * n);
    gpu.run("gemm_tf32", {n / 16, m / 16}, {32}, n, k, gpu.upload(converted<float>(a, kSame)),
            gpu.upload(converted<float>(transposed(k, n, b), kSame)),
            gpu.upload(converted<float>(bias, kSame)), pc);
    const auto c = gpu.download<float>(pc, m * n);
    for (int i = 0; i < m * n; ++i) {
        REQUIRE(c[i] ==
                std::min(static_cast<float>(exact[i]) * 0.5f, 1000.0f) + static_cast<float>(bias[i % n]));
    }
    const auto pd = gpu.zeros<double>(m * n);
    gpu.run("gemm_double", {n / 8, m / 8}, {32}, n, k, gpu.upload(converted<double>(a, kSame)),
            gpu.upload(converted<double>(b, kSame)), pd);
    CHECK(gpu.download<double>(pd, m * n) == converted<double>(exact, kSame));
}

TEST_CASE("CUDA: products by mma.h in other shapes and narrow types", "[ptx][cuda]") {
    CudaGpu gpu("gemm.ptx");
    const int k = 48;
    const auto a = random_values<int>(8 * k, -9, 9, 7), b = random_values<int>(k * 32, -9, 9, 8);
    const auto wide = gpu.zeros<float>(256), tall = gpu.zeros<float>(256);
    gpu.run("gemm_shapes", {1}, {32}, k, gpu.upload(converted<std::uint16_t>(transposed(8, k, a), half)),
            gpu.upload(converted<std::uint16_t>(transposed(k, 32, b), half)), wide, tall);
    const auto exact = product(8, 32, k, a, b);
    const auto w = gpu.download<float>(wide, 256), t = gpu.download<float>(tall, 256);
    for (int i = 0; i < 256; ++i) {
        REQUIRE(w[i] == static_cast<float>(exact[i] + 1));
        // The transposed product, stored column-major: the same order.
        REQUIRE(t[i] == static_cast<float>(exact[i] - 1));
    }

    const int k4 = 64, k1 = 256;
    const auto a4 = random_values<int>(8 * k4, -8, 7, 9), b4 = random_values<int>(k4 * 8, -8, 7, 10);
    const auto a1 = random_values<int>(8 * k1, 0, 1, 11), b1 = random_values<int>(k1 * 8, 0, 1, 12);
    const auto c4 = gpu.zeros<int>(64), c1 = gpu.zeros<int>(64);
    gpu.run("gemm_narrow", {1}, {32}, k4, k1, gpu.upload(packed(a4, 4)),
            gpu.upload(packed(transposed(k4, 8, b4), 4)), gpu.upload(packed(a1, 1)),
            gpu.upload(packed(transposed(k1, 8, b1), 1)), c4, c1);
    auto expected = product(8, 8, k4, a4, b4);
    for (int& v : expected) v += 7;
    CHECK(gpu.download<int>(c4, 64) == expected);
    std::vector<int> bits(64);
    for (int i = 0; i < 64; ++i) {
        for (int l = 0; l < k1; ++l) {
            const int p = a1[i / 8 * k1 + l], q = b1[l * 8 + i % 8];
            bits[i] += (p ^ q) + (p & q);
        }
    }
    CHECK(gpu.download<int>(c1, 64) == bits);
}

TEST_CASE("CUDA: products by inline PTX of bytes and 8-bit floats", "[ptx][cuda]") {
    CudaGpu gpu("gemm.ptx");
    const int k = 96;
    const auto a = random_values<int>(16 * k, -8, 8, 13), b = random_values<int>(k * 8, -4, 4, 14);
    const auto exact = product(16, 8, k, a, b);
    const auto columns = transposed(k, 8, b);
    const auto pd = gpu.zeros<int>(128), pf = gpu.zeros<float>(128);
    gpu.run("mma_int8", {1}, {32}, k, gpu.upload(converted<std::int8_t>(a, kSame)),
            gpu.upload(converted<std::int8_t>(columns, kSame)), pd);
    CHECK(gpu.download<int>(pd, 128) == exact);
    gpu.run("mma_fp8", {1}, {32}, k, gpu.upload(converted<std::uint8_t>(a, fp8<numerics::Format::e4m3>)),
            gpu.upload(converted<std::uint8_t>(columns, fp8<numerics::Format::e5m2>)), pf);
    CHECK(gpu.download<float>(pf, 128) == converted<float>(exact, kSame));
}
