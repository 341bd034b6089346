// Kernels of sort.cu against the standard library's algorithms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

TEST_CASE("CUDA: Blelloch scan in dynamic shared memory", "[ptx][cuda]") {
    CudaGpu gpu("sort.ptx");
    const int n = 250;
    const auto x = random_values<int>(n, -100, 100, 1);
    const auto px = gpu.upload(x), py = gpu.zeros<int>(n);
    gpu.dynamic_shared_bytes = 256 * sizeof(int);
    gpu.run("blelloch_scan", {1}, {128}, px, py, n);
    std::vector<int> expected(n);
    std::exclusive_scan(x.begin(), x.end(), expected.begin(), 0);
    CHECK(gpu.download<int>(py, n) == expected);
}

TEST_CASE("CUDA: scan in one pass with decoupled look-back", "[ptx][cuda]") {
    CudaGpu gpu("sort.ptx");
    const int n = 1000;
    const auto x = random_values<unsigned>(n, 0, 1 << 30, 2);
    const auto px = gpu.upload(x), py = gpu.zeros<unsigned>(n), state = gpu.zeros<std::uint64_t>(8),
               counter = gpu.zeros<unsigned>(1);
    gpu.run("lookback_scan", {8}, {128}, px, py, n, state, counter);
    std::vector<unsigned> expected(n);
    std::inclusive_scan(x.begin(), x.end(), expected.begin());
    CHECK(gpu.download<unsigned>(py, n) == expected);
}

TEST_CASE("CUDA: radix and bitonic sort", "[ptx][cuda]") {
    CudaGpu gpu("sort.ptx");
    auto keys = random_values<unsigned>(128, 0, 0xFFFFFFFFll, 3);
    const auto pk = gpu.upload(keys);
    gpu.run("radix_sort", {1}, {128}, pk);
    std::sort(keys.begin(), keys.end());
    CHECK(gpu.download<unsigned>(pk, 128) == keys);

    auto x = random_reals(512, -5, 5, 4);
    const auto px = gpu.upload(x);
    gpu.run("bitonic_sort", {2}, {256}, px);
    std::sort(x.begin(), x.begin() + 256);
    std::sort(x.begin() + 256, x.end());
    CHECK(gpu.download<float>(px, 512) == x);
}

TEST_CASE("CUDA: radix sorts of CUB", "[ptx][cuda]") {
    CudaGpu gpu("sort.ptx");
    auto keys = random_values<int>(256, -50, 50, 5);
    std::vector<std::uint16_t> values(256);
    std::iota(values.begin(), values.end(), std::uint16_t{0});
    const auto pk = gpu.upload(keys), pv = gpu.upload(values);
    gpu.run("cub_radix_sort", {1}, {64}, pk, pv);
    std::stable_sort(values.begin(), values.end(),
                     [&](std::uint16_t a, std::uint16_t b) { return keys[a] < keys[b]; });
    std::sort(keys.begin(), keys.end());
    CHECK(gpu.download<int>(pk, 256) == keys);
    CHECK(gpu.download<std::uint16_t>(pv, 256) == values);

    std::vector<double> doubles;
    for (const float v : random_reals(128, -1e6, 1e6, 6)) doubles.push_back(v / 3.0);
    const auto pd = gpu.upload(doubles);
    gpu.run("cub_radix_sort_doubles", {1}, {64}, pd);
    std::sort(doubles.begin(), doubles.end(), std::greater<>());
    CHECK(gpu.download<double>(pd, 128) == doubles);
}

TEST_CASE("CUDA: scans and reductions of CUB", "[ptx][cuda]") {
    CudaGpu gpu("sort.ptx");
    const auto x = random_values<int>(96, -1000, 1000, 7);
    const auto px = gpu.upload(x), inclusive = gpu.zeros<int>(96), results = gpu.zeros<int>(98);
    gpu.run("cub_scan_and_reduce", {1}, {96}, px, inclusive, results);
    std::vector<int> expected(96);
    std::inclusive_scan(x.begin(), x.end(), expected.begin());
    CHECK(gpu.download<int>(inclusive, 96) == expected);
    const auto found = gpu.download<int>(results, 98);
    CHECK(found[0] == expected[95]);
    CHECK(found[1] == *std::max_element(x.begin(), x.end()));
    for (int i = 0; i < 96; ++i) {
        CHECK(found[2 + i] == std::accumulate(x.begin() + i / 16 * 16, x.begin() + i, 0));
    }
}

TEST_CASE("CUDA: selection by partition of a local array", "[ptx][cuda]") {
    CudaGpu gpu("sort.ptx");
    const int n = 29;
    auto x = random_values<int>(n, -20, 20, 8);
    const auto px = gpu.upload(x), py = gpu.zeros<int>(64);
    gpu.run("quick_select", {1}, {64}, px, n, py);
    std::sort(x.begin(), x.end());
    const auto y = gpu.download<int>(py, 64);
    for (int i = 0; i < 64; ++i) CHECK(y[i] == x[i % n]);
}
