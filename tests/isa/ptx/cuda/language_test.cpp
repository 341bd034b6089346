// Kernels of language.cu, as compiled for several generations and without optimisation, against plain C++.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const char* const kFiles[] = {"language_75.ptx", "language_80.ptx",    "language_89.ptx",
                              "language_90.ptx", "language_debug.ptx", "language_fast.ptx"};

int queens(int n, unsigned columns, unsigned left, unsigned right) {
    const unsigned all = (1u << n) - 1;
    if (columns == all) return 1;
    int count = 0;
    for (unsigned open = all & ~(columns | left | right); open != 0; open &= open - 1) {
        const unsigned place = open & (0u - open);
        count += queens(n, columns | place, (left | place) << 1, (right | place) >> 1);
    }
    return count;
}

}  // namespace

TEST_CASE("CUDA: queens on a board by recursion", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        const int n = 6;
        const auto solutions = gpu.zeros<int>(32);
        gpu.run("count_queens", {1}, {32}, n, solutions);
        const auto given = gpu.download<int>(solutions, 32);
        int total = 0;
        for (int i = 0; i < n; ++i) {
            CHECK(given[i] == queens(n, 1u << i, 2u << i, 1u << i >> 1));
            total += given[i];
        }
        CHECK(total == 4);  // the known number of solutions
    }
}

TEST_CASE("CUDA: templates, lambdas, tables and addresses of any space", "[ptx][cuda]") {
    const int weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    const auto x = random_values<int>(64, -1000, 1000, 1);
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        const auto py = gpu.zeros<int>(192);
        const auto pz = gpu.zeros<float>(64);
        gpu.dynamic_shared_bytes = 64 * sizeof(int);
        gpu.run("mixture", {1}, {64}, gpu.upload(x), py, pz);
        const auto y = gpu.download<int>(py, 192);
        const auto z = gpu.download<float>(pz, 64);
        std::vector<int> scratch(64);
        std::vector<std::array<int, 8>> values(64);
        for (int t = 0; t < 64; ++t) {
            for (int i = 0; i < 8; ++i) {
                values[t][i] = x[(t + i) % 64] * weights[i];
                scratch[t] += i % 2 == 0 ? values[t][i] : values[t][i] / 3;
            }
            ++scratch[t];
        }
        INFO(file);
        for (int t = 0; t < 64; ++t) {
            CHECK(y[t] == scratch[63 - t] + x[t] + x[1] + x[2] + x[3] + x[4] + values[t][t & 7]);
            const int in_shared = t % 3 == 0 ? t * 10 : scratch[t];
            const int in_local = t % 3 == 1 ? t * 10 : values[t][t & 7];
            CHECK(y[128 + t] == in_shared + in_local);
            CHECK(y[64 + t] == (t % 3 == 2 ? t * 10 : 0));
            const float products[3] = {1.0f * 4 * 7 * 10, 2.0f * 5 * 8 * 11, 3.0f * 6 * 9 * 12};
            CHECK(z[t] == products[t % 3]);
        }
        CHECK(gpu.download<int>(module_variable_address(gpu.memory, "counter"), 1)[0] == 15);
    }
}

TEST_CASE("CUDA: virtual functions and structures", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        const auto py = gpu.zeros<float>(64);
        gpu.run("shapes", {1}, {32}, py);
        const auto y = gpu.download<float>(py, 64);
        INFO(file);
        for (int t = 0; t < 32; ++t) {
            CHECK(y[t] == static_cast<float>(t % 3 == 0 ? 2 * t * t : 3 * (t + 1) * (t + 1)));
            int power[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
            for (int step = 0; step < 3; ++step) {
                int next[3][3] = {};
                for (int i = 0; i < 9; ++i) {
                    for (int k = 0; k < 3; ++k)
                        next[i / 3][i % 3] += power[i / 3][k] * ((k * 3 + i % 3 + t) % 4);
                }
                std::copy(&next[0][0], &next[0][0] + 9, &power[0][0]);
            }
            CHECK(y[32 + t] == static_cast<float>(power[t % 3][t / 3 % 3]));
        }
    }
}

TEST_CASE("CUDA: printf", "[ptx][cuda]") {
    for (const char* file : kFiles) {
        CudaGpu gpu(file);
        gpu.run("report", {1}, {32}, 3);
        CHECK(gpu.printed ==
              "thread 0 of 32:  0.00 a\nthread 1 of 32:  0.75 b odd\nthread 2 of 32:  1.50 c\n");
    }
}
