// Kernels of copies.cu against plain C++.
#include <catch2/catch.hpp>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const char* const kFiles[] = {"copies.ptx", "copies_80.ptx"};

}  // namespace

TEST_CASE("CUDA: pipelines of asynchronous copies", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        INFO(file);
        const int tiles = 7, last = 22;
        const auto x = random_values<float>(tiles * 64, -50, 50, 1);
        const auto py = gpu.zeros<float>(64);
        gpu.run("primitives", {1}, {16}, gpu.upload(x), tiles, last, py);
        const auto y = gpu.download<float>(py, 64);
        for (int c = 0; c < 64; ++c) {
            float sum = 0;
            for (int i = 0; i < tiles; ++i) {
                const int place = 63 - c;
                if (i < tiles - 1 || place < last) sum += x[i * 64 + place] * static_cast<float>(i + 1);
            }
            REQUIRE(y[c] == sum);
        }

        const auto pairs = random_values<int>(tiles * 128, -1000, 1000, 2);
        const auto pz = gpu.zeros<int>(128);
        gpu.run("thread_pipeline", {1}, {64}, gpu.upload(pairs), tiles, pz);
        const auto z = gpu.download<int>(pz, 128);
        for (int t = 0; t < 64; ++t) {
            int sum = 0, mixed = 0;
            for (int i = 0; i < tiles; ++i) {
                sum += pairs[(i * 64 + t) * 2];
                mixed ^= pairs[(i * 64 + t) * 2 + 1];
            }
            REQUIRE(z[2 * t] == sum);
            REQUIRE(z[2 * t + 1] == mixed);
        }
    }
}

TEST_CASE("CUDA: copies by a whole block", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        INFO(file);
        const auto x = random_values<int>(1024, -1000, 1000, 3);
        const auto py = gpu.zeros<int>(256);
        gpu.run("group_copy", {1}, {256}, gpu.upload(x), 1024, py);
        const auto y = gpu.download<int>(py, 256);
        for (int t = 0; t < 256; ++t) {
            int sum = 0;
            for (int base = 0; base < 1024; base += 256) sum += x[base + 255 - t];
            REQUIRE(y[t] == sum);
        }
    }
}
