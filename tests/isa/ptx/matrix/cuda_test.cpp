// Kernels of cuda/matrix.cu, as nvcc printed them, against the definition of the tensor core on whole
// matrices.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "../cuda/cuda_gpu.h"
#include "isa/numerics/dot_product_unit.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

// Numbers of `format`, as its storage.
template <class T>
std::vector<T> numbers(Format format, std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> real(-2, 2);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(numerics::from_float(format, real(generator)));
    return values;
}

// Element (row, column) of A B + c for any place of the elements.
template <class A, class B>
float product(Format format, unsigned k, float c, A a, B b) {
    const auto parameters = numerics::parameters_for(numerics::Generation::hopper, format, Format::fp32);
    std::vector<std::uint32_t> x, y;
    for (unsigned l = 0; l < k; ++l) {
        x.push_back(a(l));
        y.push_back(b(l));
    }
    return std::bit_cast<float>(numerics::dot_product(parameters, x, y, std::bit_cast<std::uint32_t>(c)));
}

}  // namespace

TEST_CASE("CUDA: wmma products in f16 of every layout and tile", "[ptx][cuda][matrix]") {
    CudaGpu gpu("matrix.ptx");
    const int m = 64, n = 96, k = 80;
    const auto a = numbers<std::uint16_t>(Format::fp16, m * k, 1),
               b = numbers<std::uint16_t>(Format::fp16, k * n, 2);
    const auto c_bits = numbers<std::uint32_t>(Format::fp32, m * n, 3);
    std::vector<float> c;
    for (const std::uint32_t x : c_bits) c.push_back(std::bit_cast<float>(x));
    const auto pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.upload(c);
    struct Kernel {
        const char* name;
        unsigned tile_m, tile_n;
        bool a_row, b_row;
    };
    for (const Kernel& kernel :
         {Kernel{"wmma_row_col", 16, 16, true, false}, Kernel{"wmma_col_row", 32, 8, false, true},
          Kernel{"wmma_row_row", 8, 32, true, true}}) {
        const auto pd = gpu.zeros<float>(m * n);
        gpu.run(kernel.name, {n / kernel.tile_n, m / kernel.tile_m}, {32}, m, n, k, pa, pb, pc, pd, 0.75f);
        const auto d = gpu.download<float>(pd, m * n);
        INFO(kernel.name);
        for (int i = 0; i < m; ++i) {
            for (int j = 0; j < n; ++j) {
                const float sum = product(
                    Format::fp16, k, 0, [&](int l) { return a[kernel.a_row ? i * k + l : l * m + i]; },
                    [&](int l) { return b[kernel.b_row ? l * n + j : j * k + l]; });
                REQUIRE(d[i * n + j] == 0.75f * (sum + c[i * n + j]));
            }
        }
    }
}

TEST_CASE("CUDA: wmma in bf16 through padded shared memory, fragments changed by element",
          "[ptx][cuda][matrix]") {
    CudaGpu gpu("matrix.ptx");
    const int m = 64, n = 128, k = 48;
    const auto a = numbers<std::uint16_t>(Format::bf16, m * k, 4),
               b = numbers<std::uint16_t>(Format::bf16, n * k, 5);
    const auto pa = gpu.upload(a), pb = gpu.upload(b), pd = gpu.zeros<float>(m * n);
    gpu.run("wmma_shared", {2, 1}, {128}, n, k, pa, pb, pd);
    const auto d = gpu.download<float>(pd, m * n);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            REQUIRE(d[i * n + j] ==
                    product(
                        Format::bf16, k, 0,
                        [&](int l) {  // doubled: exact
                            return numerics::fp32_to_bf16(2 * numerics::bf16_to_fp32(a[i * k + l]));
                        },
                        [&](int l) { return b[j * k + l]; }));
        }
    }
}

TEST_CASE("CUDA: wmma in tf32, f64, s8, b1 and s4", "[ptx][cuda][matrix]") {
    CudaGpu gpu("matrix.ptx");
    const auto x_bits = numbers<std::uint32_t>(Format::fp32, 256, 6);
    std::vector<float> x;
    for (const std::uint32_t bits : x_bits) x.push_back(std::bit_cast<float>(bits));
    std::mt19937_64 generator(7);
    std::uniform_real_distribution<double> real(-1, 1);
    std::vector<double> y(64);
    for (double& value : y) value = real(generator);
    const auto z = random_values<int>(512, -128, 127, 8);
    const std::vector<signed char> bytes(z.begin(), z.end());
    std::vector<std::uint32_t> bits(64);
    for (std::uint32_t& word : bits) word = static_cast<std::uint32_t>(generator());
    const auto px = gpu.upload(x), x_out = gpu.zeros<float>(256), py = gpu.upload(y),
               y_out = gpu.zeros<double>(64), pz = gpu.upload(bytes), z_out = gpu.zeros<int>(256),
               pbits = gpu.upload(bits), bits_out = gpu.zeros<int>(128);
    gpu.run("wmma_types", {1}, {32}, px, x_out, py, y_out, pz, z_out, pbits, bits_out);

    const auto tf32 = gpu.download<float>(x_out, 256);
    const auto rounded = [&](int at) {  // cvt.rna.tf32
        return static_cast<std::uint32_t>(numerics::convert(Format::tf32, Format::fp32, x_bits[at],
                                                            {.rounding = numerics::Rounding::nearest_away}));
    };
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            REQUIRE(tf32[j * 16 + i] == product(
                                            Format::tf32, 8, 1.0f, [&](int l) { return rounded(i * 8 + l); },
                                            [&](int l) { return rounded(128 + j * 8 + l); }));
        }
    }
    const auto doubles = gpu.download<double>(y_out, 64);
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
            double sum = -1;
            for (int l = 0; l < 4; ++l) sum = std::fma(y[i * 4 + l], y[32 + j * 4 + l], sum);
            REQUIRE(doubles[i * 8 + j] == sum);
        }
    }
    const auto integers = gpu.download<int>(z_out, 256);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            int sum = 5;
            for (int l = 0; l < 16; ++l) sum += z[i * 16 + l] * z[256 + l * 16 + j];
            REQUIRE(integers[i * 16 + j] == sum);
        }
    }
    const auto small = gpu.download<int>(bits_out, 128);
    const auto nibble = [&](int at) { return static_cast<int>(bits[at / 8] << (28 - at % 8 * 4)) >> 28; };
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
            int ones = 0, sum = 0;
            for (int l = 0; l < 4; ++l) ones += std::popcount(bits[i * 4 + l] ^ bits[32 + j * 4 + l]);
            for (int l = 0; l < 32; ++l) sum += nibble(i * 32 + l) * nibble(256 + j * 32 + l);
            REQUIRE(small[i * 8 + j] == ones);
            REQUIRE(small[64 + i * 8 + j] == sum);
        }
    }
}

TEST_CASE("CUDA: mma fed by ldmatrix, stored by stmatrix", "[ptx][cuda][matrix]") {
    CudaGpu gpu("matrix.ptx");
    const auto a = numbers<std::uint16_t>(Format::fp16, 1024, 9),
               b = numbers<std::uint16_t>(Format::fp16, 1024, 10);
    const auto pa = gpu.upload(a), pb = gpu.upload(b), pd = gpu.zeros<std::uint16_t>(1024);
    gpu.run("mma_ldmatrix", {1}, {64}, pa, pb, pd);
    const auto d = gpu.download<std::uint16_t>(pd, 1024);
    for (int i = 0; i < 32; ++i) {
        for (int j = 0; j < 32; ++j) {
            const float sum = product(
                Format::fp16, 32, 0, [&](int l) { return a[i * 32 + l]; },
                [&](int l) { return b[l * 32 + j]; });
            REQUIRE(d[i * 32 + j] == numerics::fp32_to_fp16(sum));
        }
    }
}
