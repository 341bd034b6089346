// Kernels of numeric.cu against plain C++.
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

TEST_CASE("CUDA: matrix product in double precision", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int m = 21, n = 35, k = 40;
    const auto single_a = random_reals(m * k, -1, 1, 1), single_b = random_reals(k * n, -1, 1, 2),
               single_c = random_reals(m * n, -1, 1, 3);
    const std::vector<double> a(single_a.begin(), single_a.end()), b(single_b.begin(), single_b.end()),
        c(single_c.begin(), single_c.end());
    const auto pc = gpu.upload(c);
    gpu.run("dgemm", {3, 2}, {8, 8}, m, n, k, 1.25, gpu.upload(a), gpu.upload(b), -0.5, pc);
    const auto given = gpu.download<double>(pc, m * n);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = 0;  // nvcc contracts: a chain of fused multiply-adds, k ascending
            for (int l = 0; l < k; ++l) sum = std::fma(a[i * k + l], b[l * n + j], sum);
            REQUIRE(given[i * n + j] == std::fma(1.25, sum, -0.5 * c[i * n + j]));
        }
    }
}

TEST_CASE("CUDA: compensated sums and Newton's method", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int n = 3000;
    const auto x = random_reals(n, 0, 1000, 4);
    const auto py = gpu.zeros<float>(32), pn = gpu.zeros<float>(32);
    gpu.run("kahan", {1}, {32}, n, gpu.upload(x), py, pn);
    const auto y = gpu.download<float>(py, 32), naive = gpu.download<float>(pn, 32);
    for (int t = 0; t < 32; ++t) {
        float sum = 0, lost = 0, plain = 0;
        double exact = 0;
        for (int i = t; i < n; i += 32) {
            const float term = x[i] - lost, total = sum + term;
            lost = (total - sum) - term;
            sum = total;
            plain += x[i];
            exact += x[i];
        }
        REQUIRE(y[t] == sum);
        REQUIRE(naive[t] == plain);
        REQUIRE(std::fabs(y[t] - exact) <= exact * 6e-8);
    }

    std::vector<double> a;
    for (const float v : random_reals(100, -1, 50, 5)) a.push_back(v);
    const auto root = gpu.zeros<double>(100), steps = gpu.zeros<int>(100);
    gpu.run("newton", {2}, {64}, 100, gpu.upload(a), root, steps);
    const auto roots = gpu.download<double>(root, 100);
    const auto counts = gpu.download<int>(steps, 100);
    for (int i = 0; i < 100; ++i) {
        const long double r = roots[i], slope = 3 * r * r - 2;
        REQUIRE(std::fabs((r * r * r - 2 * r - a[i]) / slope) <= 1e-14L * r);
        REQUIRE(counts[i] > 2);
    }
}

TEST_CASE("CUDA: Fourier transform of 256 points and back", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const auto parts = random_reals(2 * 512, -1, 1, 6);
    const auto px = gpu.upload(parts), py = gpu.zeros<float>(2 * 512), pz = gpu.zeros<float>(2 * 512);
    gpu.run("fft", {2}, {128}, px, py, 0);
    gpu.run("fft", {2}, {128}, py, pz, 1);
    const auto y = gpu.download<float>(py, 2 * 512), z = gpu.download<float>(pz, 2 * 512);
    for (int block = 0; block < 2; ++block) {
        for (int k = 0; k < 256; ++k) {
            std::complex<double> sum = 0;
            for (int i = 0; i < 256; ++i) {
                const std::complex<double> value(parts[block * 512 + 2 * i], parts[block * 512 + 2 * i + 1]);
                sum += value * std::polar(1.0, -2 * M_PI * k * i / 256);
            }
            // Eight stages of relative rounding error 2^-24 and a few operations on values up to 20.
            REQUIRE(std::fabs(y[block * 512 + 2 * k] - sum.real()) < 2e-5);
            REQUIRE(std::fabs(y[block * 512 + 2 * k + 1] - sum.imag()) < 2e-5);
        }
    }
    for (int i = 0; i < 1024; ++i) REQUIRE(std::fabs(z[i] / 256 - parts[i]) < 1e-6);
}

TEST_CASE("CUDA: forces between bodies", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int n = 150;
    const auto body = random_reals(4 * n, 0.1, 2, 7);
    const auto pf = gpu.zeros<float>(3 * n);
    gpu.run("n_body", {3}, {64}, n, gpu.upload(body), pf);
    const auto force = gpu.download<float>(pf, 3 * n);
    for (int i = 0; i < n; ++i) {
        double sum[3] = {}, size = 0;
        for (int j = 0; j < n; ++j) {
            double d[3], square = 0.01;
            for (int c = 0; c < 3; ++c) {
                d[c] = static_cast<double>(body[4 * j + c]) - body[4 * i + c];
                square += d[c] * d[c];
            }
            for (int c = 0; c < 3; ++c) {
                sum[c] += d[c] * body[4 * j + 3] / (square * std::sqrt(square));
                size += std::fabs(d[c] * body[4 * j + 3] / (square * std::sqrt(square)));
            }
        }
        for (int c = 0; c < 3; ++c) REQUIRE(std::fabs(force[3 * i + c] - sum[c]) < 2e-6 * size);
    }
}

TEST_CASE("CUDA: the Mandelbrot set, iteration by iteration", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int width = 40, height = 33, limit = 60;
    const auto pc = gpu.zeros<int>(width * height);
    gpu.run("mandelbrot", {3, 9}, {16, 4}, width, height, limit, pc);
    const auto counts = gpu.download<int>(pc, width * height);
    for (int py = 0; py < height; ++py) {
        for (int px = 0; px < width; ++px) {
            const double cx = std::fma(1.0, 2.5 * px / width, -2.0), cy = 2.5 * py / height + -1.25;
            double x = 0, y = 0;
            int count = 0;
            while (count < limit && x * x + y * y < 4) {
                const double next = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = next;
                ++count;
            }
            REQUIRE(counts[py * width + px] == count);
        }
    }
}

TEST_CASE("CUDA: a stencil in space and a swizzled transpose", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int nx = 20, ny = 17, nz = 9;
    // Multiples of 1/16 with few digits: the sums are exact in any order.
    std::vector<float> u;
    for (const int v : random_values<int>(nx * ny * nz, -500, 500, 8)) u.push_back(static_cast<float>(v) / 4);
    const auto pv = gpu.zeros<float>(u.size());
    gpu.run("stencil", {2, 5}, {16, 4}, nx, ny, nz, gpu.upload(u), pv);
    const auto v = gpu.download<float>(pv, u.size());
    const auto at = [&](int x, int y, int z) { return u[(z * ny + y) * nx + x]; };
    for (int z = 0; z < nz; ++z) {
        for (int y = 0; y < ny; ++y) {
            for (int x = 0; x < nx; ++x) {
                float expected = 0;
                if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
                    expected = 0.5f * at(x, y, z) + 0.25f * (at(x, y, z - 1) + at(x, y, z + 1)) +
                               0.125f * (at(x - 1, y, z) + at(x + 1, y, z)) +
                               0.0625f * (at(x, y - 1, z) + at(x, y + 1, z));
                }
                REQUIRE(v[(z * ny + y) * nx + x] == expected);
            }
        }
    }
    const int n = 64;
    const auto a = random_reals(n * n, -1, 1, 9);
    const auto pt = gpu.zeros<float>(n * n);
    gpu.run("swizzled_transpose", {2, 2}, {32, 8}, n, gpu.upload(a), pt);
    const auto t = gpu.download<float>(pt, n * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) REQUIRE(t[j * n + i] == a[i * n + j]);
    }
}

TEST_CASE("CUDA: Philox random numbers and an estimate of pi", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int n = 4096;
    const auto pn = gpu.zeros<std::uint32_t>(4 * n), inside = gpu.zeros<std::uint64_t>(1);
    gpu.run("philox", {16}, {256}, 12345u, pn, inside);
    const auto numbers = gpu.download<std::uint32_t>(pn, 4 * n);
    std::uint64_t expected = 0;
    for (unsigned i = 0; i < n; ++i) {
        std::uint32_t c[4] = {i, 0, 7, 0}, k0 = 12345u, k1 = ~12345u;
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0],
                                p1 = std::uint64_t{0xCD9E8D57u} * c[2];
            const std::uint32_t next[4] = {
                static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
            std::copy(next, next + 4, c);
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        for (int w = 0; w < 4; ++w) REQUIRE(numbers[4 * i + w] == c[w]);
        const float x = static_cast<float>(c[0]) * 0x1p-32f, y = static_cast<float>(c[1]) * 0x1p-32f;
        expected += std::fma(x, x, y * y) < 1.0f ? 1 : 0;
    }
    CHECK(gpu.download<std::uint64_t>(inside, 1)[0] == expected);
    CHECK(4.0 * static_cast<double>(expected) / n == Approx(M_PI).margin(0.1));
}

TEST_CASE("CUDA: Jacobi iterations until a block has converged", "[ptx][cuda]") {
    CudaGpu gpu("numeric.ptx");
    const int n = 50;
    std::vector<double> a, b;
    for (const float v : random_reals(n * n, -1, 1, 10)) a.push_back(v);
    for (int i = 0; i < n; ++i) {
        a[i * n + i] = 40 + i;
        b.push_back(i - 20.5);
    }
    const auto px = gpu.zeros<double>(n), iterations = gpu.zeros<int>(1);
    gpu.run("jacobi", {1}, {64}, n, gpu.upload(a), gpu.upload(b), px, iterations);
    const auto x = gpu.download<double>(px, n);
    for (int i = 0; i < n; ++i) {
        double sum = -b[i];
        for (int j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
        CHECK(std::fabs(sum) < 1e-9);
    }
    CHECK(gpu.download<int>(iterations, 1)[0] > 5);
}
