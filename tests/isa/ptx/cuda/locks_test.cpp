// Kernels of locks.cu against what must come out whatever the order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

TEST_CASE("CUDA: locks between lanes, warps and blocks", "[ptx][cuda]") {
    for (const char* file : {"locks.ptx", "locks_75.ptx"}) {
        CudaGpu gpu(file);
        const auto lock = gpu.zeros<int>(1), value = gpu.zeros<int>(1), order = gpu.zeros<int>(192);
        gpu.run("spin_lock", {3}, {64}, lock, value, order);
        CHECK(gpu.download<int>(value, 1)[0] == 192);
        auto threads = gpu.download<int>(order, 192);
        std::sort(threads.begin(), threads.end());
        for (int i = 0; i < 192; ++i) CHECK(threads[i] == i);

        const auto sum = gpu.zeros<int>(1);
        gpu.run("spin_lock_tight", {2}, {64}, lock, sum);
        CHECK(gpu.download<int>(sum, 1)[0] == 2 * 63 * 64 / 2);
    }
}

TEST_CASE("CUDA: a lane waits for another lane of its warp", "[ptx][cuda]") {
    CudaGpu gpu("locks.ptx");
    const auto flag = gpu.zeros<int>(1), y = gpu.zeros<int>(2);
    gpu.run("lane_waits_for_lane", {1}, {32}, flag, y);
    CHECK(gpu.download<int>(y, 2) == std::vector<int>{105, 106});
}

TEST_CASE("CUDA: a barrier of the grid, and tickets", "[ptx][cuda]") {
    CudaGpu gpu("locks.ptx");
    const int blocks = 6, rounds = 5;
    std::vector<int> values(blocks);
    std::iota(values.begin(), values.end(), 3);
    const auto pv = gpu.upload(values), arrived = gpu.zeros<unsigned>(1), sense = gpu.zeros<unsigned>(1);
    gpu.groups_at_once = blocks;
    gpu.is_checked = false;  // a lane that polls comes to the barrier later than its warp
    gpu.run("grid_rounds", {blocks}, {64}, rounds, pv, arrived, sense);
    for (int r = 0; r < rounds; ++r) {
        const int sum = std::accumulate(values.begin(), values.end(), 0);
        for (int b = 0; b < blocks; ++b) values[b] = sum % 1000 + b;
    }
    CHECK(gpu.download<int>(pv, blocks) == values);

    const auto turn = gpu.zeros<int>(1), log = gpu.zeros<int>(blocks), next = gpu.zeros<int>(1);
    gpu.run("tickets", {blocks}, {32}, turn, log, next);
    CHECK(gpu.download<int>(log, blocks) == std::vector<int>{5, 4, 3, 2, 1, 0});
}

TEST_CASE("CUDA: clocks do not run backwards", "[ptx][cuda]") {
    CudaGpu gpu("locks.ptx");
    gpu.compares_modes = false;
    const auto y = gpu.zeros<long long>(3 * 64);
    gpu.run("clocks", {1}, {64}, y);
    const auto t = gpu.download<long long>(y, 3 * 64);
    for (int i = 0; i < 64; ++i) CHECK(t[3 * i] >= 0);
}

TEST_CASE("CUDA: a histogram in the shared memory of a cluster", "[ptx][cuda]") {
    CudaGpu gpu("locks.ptx");
    const int n = 1000, bins_per_block = 25;
    const auto x = random_values<int>(n, 0, 4 * bins_per_block - 1, 1);
    const auto bins = gpu.zeros<int>(4 * bins_per_block);
    gpu.cluster = {4};
    gpu.dynamic_shared_bytes = bins_per_block * sizeof(int);
    gpu.run("cluster_histogram", {8}, {64}, gpu.upload(x), n, bins_per_block, bins);
    std::vector<int> expected(4 * bins_per_block);
    for (const int v : x) ++expected[v];
    CHECK(gpu.download<int>(bins, expected.size()) == expected);
}

TEST_CASE("CUDA: sums and rings of a cluster", "[ptx][cuda]") {
    CudaGpu gpu("locks.ptx");
    const auto x = random_values<float>(256, -100, 100, 2);
    const auto y = gpu.zeros<float>(8);
    const auto ranks = gpu.zeros<unsigned>(8);
    gpu.cluster = {4};
    gpu.run("cluster_sum", {8}, {32}, gpu.upload(x), y, ranks);
    for (int b = 0; b < 8; ++b) {
        const auto first = x.begin() + b / 4 * 128;
        CHECK(gpu.download<float>(y, 8)[b] == std::accumulate(first, first + 128, 0.0f));
        CHECK(gpu.download<unsigned>(ranks, 8)[b] == static_cast<unsigned>(b % 4) * 100 + 42);
    }

    const auto tokens = gpu.zeros<int>(6);
    gpu.cluster = {3};
    gpu.run("ring", {6}, {64}, 4, tokens);
    for (int b = 0; b < 6; ++b) {
        int token = (b % 3 + 3 - 4 % 3) % 3;  // where it started, four steps to the left
        for (int r = 0; r < 4; ++r) token = token * 2 + 1;
        CHECK(gpu.download<int>(tokens, 6)[b] == token);
    }
}
