// Kernels of attention.cu against double precision.
#include <catch2/catch.hpp>
#include <cmath>

#include "cuda_gpu.h"
#include "isa/numerics/formats.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;
namespace numerics = heddle::numerics;

namespace {

constexpr int kHead = 64;

std::vector<std::uint16_t> random_halves(std::size_t count, double low, double high, unsigned seed) {
    std::vector<std::uint16_t> halves;
    for (const float v : random_reals(count, low, high, seed)) halves.push_back(numerics::fp32_to_fp16(v));
    return halves;
}

void check_attention(const std::string& file, int heads, int length, bool causal) {
    CudaGpu gpu(file);
    const std::size_t count = static_cast<std::size_t>(heads) * length * kHead;
    const auto q = random_halves(count, -1, 1, 1), k = random_halves(count, -1, 1, 2),
               v = random_halves(count, -1, 1, 3);
    const auto out = gpu.zeros<std::uint16_t>(count);
    const float scale = 0.5f;
    gpu.run("flash_attention", {static_cast<unsigned>(length / 64), static_cast<unsigned>(heads)}, {128},
            gpu.upload(q), gpu.upload(k), gpu.upload(v), out, length, scale, causal ? 1 : 0);
    const auto given = gpu.download<std::uint16_t>(out, count);
    const auto value = [](const std::vector<std::uint16_t>& x, std::size_t i) {
        return static_cast<double>(numerics::fp16_to_fp32(x[i]));
    };
    for (int head = 0; head < heads; ++head) {
        const std::size_t base = static_cast<std::size_t>(head) * length * kHead;
        for (int row = 0; row < length; ++row) {
            const int end = causal ? row + 1 : length;
            std::vector<double> weight(end);
            double sum = 0;
            for (int key = 0; key < end; ++key) {
                double score = 0;
                for (int c = 0; c < kHead; ++c) {
                    score += value(q, base + row * kHead + c) * value(k, base + key * kHead + c);
                }
                weight[key] = std::exp(score * scale);
                sum += weight[key];
            }
            for (int c = 0; c < kHead; ++c) {
                double expected = 0;
                for (int key = 0; key < end; ++key)
                    expected += weight[key] * value(v, base + key * kHead + c);
                expected /= sum;
                // Weights and results are rounded to 11 bits: relative 2^-11 of values below 1 each.
                REQUIRE(std::fabs(value(given, base + row * kHead + c) - expected) < 1.2e-3);
            }
        }
    }
}

}  // namespace

TEST_CASE("CUDA: attention by blocks with tensor cores", "[ptx][cuda]") {
    check_attention("attention.ptx", 2, 128, false);
    check_attention("attention.ptx", 1, 128, true);
    check_attention("attention_80.ptx", 1, 64, true);
}

TEST_CASE("CUDA: layer normalisation and softmax in one pass", "[ptx][cuda]") {
    CudaGpu gpu("attention.ptx");
    const int rows = 5, columns = 300;
    const auto x = random_reals(rows * columns, -3, 5, 4), gain = random_reals(columns, 0.5, 2, 5),
               bias = random_reals(columns, -1, 1, 6);
    const auto px = gpu.upload(x), py = gpu.zeros<float>(rows * columns),
               ps = gpu.zeros<float>(rows * columns);
    gpu.run("layer_norm", {rows}, {128}, px, gpu.upload(gain), gpu.upload(bias), py, columns);
    gpu.run("online_softmax", {rows}, {32}, px, ps, columns);
    const auto y = gpu.download<float>(py, rows * columns), s = gpu.download<float>(ps, rows * columns);
    for (int r = 0; r < rows; ++r) {
        const float* row = &x[r * columns];
        double mean = 0, squares = 0, top = -INFINITY, sum = 0;
        for (int c = 0; c < columns; ++c) mean += row[c] / static_cast<double>(columns);
        for (int c = 0; c < columns; ++c) {
            squares += (row[c] - mean) * (row[c] - mean);
            top = std::max(top, static_cast<double>(row[c]));
        }
        for (int c = 0; c < columns; ++c) sum += std::exp(row[c] - top);
        const double inverse = 1 / std::sqrt(squares / columns + 1e-5);
        for (int c = 0; c < columns; ++c) {
            REQUIRE(std::fabs(y[r * columns + c] - ((row[c] - mean) * inverse * gain[c] + bias[c])) < 5e-6);
            const double expected = std::exp(row[c] - top) / sum;
            REQUIRE(std::fabs(s[r * columns + c] - expected) < 3e-6 * expected);
        }
    }
}

TEST_CASE("CUDA: activations and rotary embedding", "[ptx][cuda]") {
    CudaGpu gpu("attention.ptx");
    const int n = 200;
    const auto x = random_reals(4 * n, -6, 6, 7);
    const auto gelu = gpu.zeros<float>(4 * n), silu = gpu.zeros<float>(4 * n),
               rotary = gpu.zeros<float>(2 * n);
    gpu.run("activations", {2}, {128}, n, gpu.upload(x), gelu, silu, rotary);
    const auto g = gpu.download<float>(gelu, 4 * n), s = gpu.download<float>(silu, 4 * n),
               r = gpu.download<float>(rotary, 2 * n);
    for (int i = 0; i < 4 * n; ++i) {
        const double v = x[i];
        REQUIRE(std::fabs(g[i] - 0.5 * v * (1 + std::tanh(0.797884561 * (v + 0.044715 * v * v * v)))) < 2e-6);
        REQUIRE(std::fabs(s[i] - v / (1 + std::exp(-v))) < 2e-6);
    }
    for (int i = 0; i < n; ++i) {
        const double angle = i * std::pow(10000.0, -(i % 8) / 8.0), a = x[4 * i], b = x[4 * i + 1];
        // The angle is rounded to single precision: relative 2^-22 of up to 200.
        REQUIRE(std::fabs(r[2 * i] - (a * std::cos(angle) - b * std::sin(angle))) < 8e-4);
        REQUIRE(std::fabs(r[2 * i + 1] - (a * std::sin(angle) + b * std::cos(angle))) < 8e-4);
    }
}
