// Kernels of pipeline.cu against plain C++.
#include <catch2/catch.hpp>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const char* const kFiles[] = {"pipeline.ptx", "pipeline_80.ptx"};

}  // namespace

TEST_CASE("CUDA: pipelines of a block", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        gpu.is_checked = false;  // cp.async.mbarrier.arrive counts as a plain access there
        INFO(file);
        const auto x = random_values<int>(1024, -1000, 1000, 3);
        const auto pz = gpu.zeros<int>(64);
        gpu.run("block_pipeline", {1}, {64}, gpu.upload(x), 16, pz);
        const auto z = gpu.download<int>(pz, 64);
        for (int t = 0; t < 64; ++t) {
            int sum = 0;
            for (int base = 0; base < 1024; base += 64) sum += x[base + 63 - t];
            REQUIRE(z[t] == sum);
        }
    }
}

TEST_CASE("CUDA: barriers in shared memory, producers and consumers", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        INFO(file);
        const int rounds = 4, tiles = 9;
        const auto x = random_values<int>(96 * tiles, -1000, 1000, 4);
        const auto px = gpu.upload(x), py = gpu.zeros<int>(128), pz = gpu.zeros<int>(96);
        gpu.run("split_barrier", {1}, {128}, px, rounds, py);
        std::vector<int> v(x.begin(), x.begin() + 128);
        for (int r = 0; r < rounds; ++r) {
            auto next = v;
            for (int t = 0; t < 128; ++t) {
                next[t] = v[(t + 1) % 128];
                for (int i = 0; i < (t & 3); ++i) next[t] += i * r;
            }
            v = next;
        }
        CHECK(gpu.download<int>(py, 128) == v);

        gpu.run("producer_consumer", {1}, {128}, px, tiles, pz);
        const auto z = gpu.download<int>(pz, 96);
        for (int t = 0; t < 96; ++t) {
            int sum = 0;
            for (int i = 0; i < tiles; ++i) sum += 2 * x[i * 96 + t];
            REQUIRE(z[t] == sum);
        }
    }
}
