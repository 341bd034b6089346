// Kernels of warps.cu against plain C++.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <numeric>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

TEST_CASE("CUDA: shuffles of every kind and width", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    const auto x = random_values<int>(32, -1000, 1000, 1);
    const auto py = gpu.zeros<int>(32 * 12);
    gpu.run("shuffles", {1}, {32}, gpu.upload(x), py);
    const auto y = gpu.download<int>(py, 32 * 12);
    for (int lane = 0; lane < 32; ++lane) {
        const int* given = &y[lane * 12];
        INFO("lane " << lane);
        CHECK(given[0] == x[5]);
        CHECK(given[1] == x[lane * 7 % 32]);
        CHECK(given[2] == x[lane >= 3 ? lane - 3 : lane]);
        CHECK(given[3] == x[lane + 9 < 32 ? lane + 9 : lane]);
        CHECK(given[4] == x[lane ^ 21]);
        CHECK(given[5] == x[lane / 8 * 8 + 2]);
        CHECK(given[6] == x[lane % 4 >= 2 ? lane - 2 : lane]);
        CHECK(given[7] == x[lane % 16 < 15 ? lane + 1 : lane]);
        CHECK(given[8] == x[lane ^ 1]);
        CHECK(given[9] == (lane ^ 1));
        CHECK(given[10] == x[lane + 2 < 32 ? lane + 2 : lane]);
        CHECK(given[11] == (x[lane ^ 8] > 0 ? 1 : 0));
    }
}

TEST_CASE("CUDA: votes, matches and reductions of a warp", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    const auto x = random_values<int>(32, -10, 10, 2);
    const auto py = gpu.zeros<unsigned>(32 * 12);
    gpu.run("votes", {1}, {32}, gpu.upload(x), py);
    const auto y = gpu.download<unsigned>(py, 32 * 12);
    const auto mask_of = [&](auto&& test) {
        unsigned mask = 0;
        for (int i = 0; i < 32; ++i) mask |= test(i, x[i]) ? 1u << i : 0;
        return mask;
    };
    unsigned largest = 0, exclusive = 0, even = 0;
    for (int i = 0; i < 32; ++i) {
        largest = std::max(largest, static_cast<unsigned>(x[i]));
        exclusive ^= static_cast<unsigned>(x[i]);
        if (i % 2 == 0) even |= static_cast<unsigned>(x[i]) & 0xFF;
    }
    const bool uniform = std::all_of(x.begin(), x.end(), [&](int v) { return v >> 8 == x[0] >> 8; });
    for (int lane = 0; lane < 32; ++lane) {
        const unsigned* given = &y[lane * 12];
        INFO("lane " << lane);
        CHECK(given[0] == mask_of([](int, int v) { return v > 3; }));
        CHECK(given[1] == (std::count(x.begin(), x.end(), 7) > 0 ? 1u : 0u));
        CHECK(given[2] == 1);
        CHECK(given[3] == mask_of([&](int, int v) { return (v & 3) == (x[lane] & 3); }));
        CHECK(given[4] == (uniform ? ~0u : 0u));
        CHECK(given[5] == (uniform ? 1u : 0u));
        CHECK(given[6] == static_cast<unsigned>(std::accumulate(x.begin(), x.end(), 0)));
        CHECK(given[7] == static_cast<unsigned>(*std::min_element(x.begin(), x.end())));
        CHECK(given[8] == largest);
        CHECK(given[9] == exclusive);
        CHECK(given[10] ==
              (lane % 2 == 1 ? mask_of([](int i, int v) { return i % 2 == 1 && v > 0; }) : even));
        CHECK(given[11] == mask_of([&](int, int v) { return v % 5 == x[lane] % 5; }));
    }
}

TEST_CASE("CUDA: barriers that count, and named barriers", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    auto x = random_values<int>(100, -49, 49, 3);
    x[77] = 17;
    const auto py = gpu.zeros<int>(100);
    gpu.run("block_votes", {1}, {100}, gpu.upload(x), py);
    const int positive = static_cast<int>(std::count_if(x.begin(), x.end(), [](int v) { return v > 0; }));
    CHECK(gpu.download<int>(py, 100) == std::vector<int>(100, positive * 100 + 11));

    const auto ph = gpu.zeros<int>(128);
    gpu.run("halves", {1}, {128}, gpu.upload(x), ph);
    const auto y = gpu.download<int>(ph, 128);
    for (int t = 0; t < 64; ++t) {
        CHECK(y[64 + t] == 3 * x[63 - t]);
        CHECK(y[t] == 3 * x[t] + 1);
    }
}

TEST_CASE("CUDA: cooperative groups", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    const int n = 128;
    const auto x = random_values<int>(n, -30, 30, 4);
    const auto py = gpu.zeros<int>(n * 8);
    gpu.run("groups", {1}, {n}, gpu.upload(x), py);
    const auto y = gpu.download<int>(py, n * 8);
    for (int t = 0; t < n; ++t) {
        INFO("thread " << t);
        const int warp = t / 32 * 32, tile = t / 8 * 8;
        int size = 0, rank = 0, sum = 0, least = 1000, like = 0, pair_size = 0, pair_rank = 0;
        for (int i = warp; i < warp + 32; ++i) {
            if (x[i] % 3 == 0) {
                ++size;
                sum += x[i];
                rank += i < t ? 1 : 0;
            }
            if ((x[i] & 3) == (x[t] & 3)) {
                least = std::min(least, x[i]);
                ++like;
            }
            if (i / 8 == t / 8 && (x[i] > 0) == (x[t] > 0)) {
                ++pair_size;
                pair_rank += i < t ? 1 : 0;
            }
        }
        const int* given = &y[t * 8];
        CHECK(given[0] == std::accumulate(x.begin() + tile, x.begin() + tile + 8, 0));
        CHECK(given[1] == *std::max_element(x.begin() + warp, x.begin() + warp + 32));
        CHECK(given[2] == std::accumulate(x.begin() + tile, x.begin() + t + 1, 0));
        CHECK(given[3] == (x[t] % 3 == 0 ? size * 1000 + rank : -1));
        CHECK(given[4] == (x[t] % 3 == 0 ? sum : -1));
        CHECK(given[5] == least * 100 + like);
        CHECK(given[6] == pair_size * 10 + pair_rank);
        CHECK(given[7] == x[tile + 3] +
                              1000 * (std::count(x.begin() + tile, x.begin() + tile + 8, 5) > 0 ? 1 : 0) +
                              100000 * (t % 32 / 8));
    }
}

TEST_CASE("CUDA: sums and compaction by groups", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    const int n = 700;
    const auto x = random_values<float>(n, -100, 100, 5);  // whole numbers: any order gives the same sum
    const auto sum = gpu.zeros<float>(1);
    gpu.run("group_sum", {2}, {128}, gpu.upload(x), n, sum);
    CHECK(gpu.download<float>(sum, 1)[0] == std::accumulate(x.begin(), x.end(), 0.0f));

    const auto v = random_values<int>(n, -9, 9, 6);
    const auto count = gpu.zeros<int>(1), out = gpu.zeros<int>(n);
    gpu.run("aggregate", {6}, {128}, gpu.upload(v), n, count, out);
    std::vector<int> expected;
    std::copy_if(v.begin(), v.end(), std::back_inserter(expected), [](int value) { return value > 0; });
    REQUIRE(gpu.download<int>(count, 1)[0] == static_cast<int>(expected.size()));
    auto given = gpu.download<int>(out, expected.size());
    std::sort(given.begin(), given.end());
    std::sort(expected.begin(), expected.end());
    CHECK(given == expected);
}

TEST_CASE("CUDA: warp-level instructions of the lanes left in a loop", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    const auto x = random_values<int>(32, 0, 12, 7);
    const auto py = gpu.zeros<int>(32);
    gpu.run("ragged", {1}, {32}, gpu.upload(x), py);
    const auto y = gpu.download<int>(py, 32);
    for (int lane = 0; lane < 32; ++lane) {
        int sum = 0;
        for (int i = 0; i < x[lane]; ++i) {
            int first = -1;
            for (int other = 0; other < 32; ++other) {
                if (x[other] <= i) continue;
                if (first < 0) first = other;
                sum += (i + other) & 1;
            }
            sum += first;
        }
        CHECK(y[lane] == sum);
    }
}

TEST_CASE("CUDA: warps that arrive at a barrier and leave do not count twice", "[ptx][cuda]") {
    CudaGpu gpu("warps.ptx");
    const auto x = random_values<int>(32, -1000, 1000, 8);
    const auto py = gpu.zeros<int>(64);
    gpu.run("early_leavers", {1}, {128}, gpu.upload(x), py);
    const auto y = gpu.download<int>(py, 64);
    for (int t = 0; t < 64; ++t) {
        unsigned v = static_cast<unsigned>(x[t % 32]);
        for (int i = 0; i < 1000; ++i) v = (v ^ v >> 3) * 3 + 1;
        CHECK(y[t] == static_cast<int>(v));
    }
}
