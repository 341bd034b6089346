// Kernels of wgmma.cu against plain C++.
#include <catch2/catch.hpp>

#include "cuda_gpu.h"
#include "isa/numerics/formats.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

constexpr int kRows = 128, kColumns = 192, kDepth = 320;

struct Operands {
    // Small integers: every product and sum is exact.
    std::vector<int> a = random_values<int>(kRows * kDepth, -8, 8, 1);
    std::vector<int> b = random_values<int>(kDepth * kColumns, -8, 8, 2);  // [k][column]

    float product(int row, int column) const {
        int sum = 0;
        for (int k = 0; k < kDepth; ++k) sum += a[row * kDepth + k] * b[k * kColumns + column];
        return static_cast<float>(sum);
    }
};

std::vector<std::uint16_t> as_format(numerics::Format format, const std::vector<int>& values) {
    std::vector<std::uint16_t> bits;
    for (const int value : values)
        bits.push_back(static_cast<std::uint16_t>(numerics::from_float(format, static_cast<float>(value))));
    return bits;
}

void check(const std::vector<float>& c, const Operands& operands, float sign) {
    for (int row = 0; row < kRows; ++row)
        for (int column = 0; column < kColumns; ++column)
            REQUIRE(c[row * kColumns + column] == sign * operands.product(row, column));
}

}  // namespace

TEST_CASE("CUDA: warpgroup products of two stages in shared memory", "[ptx][cuda]") {
    const Operands operands;
    std::vector<int> turned(operands.b.size());
    for (int k = 0; k < kDepth; ++k)
        for (int column = 0; column < kColumns; ++column)
            turned[column * kDepth + k] = operands.b[k * kColumns + column];
    CudaGpu gpu("wgmma.ptx");
    const auto a = gpu.upload(as_format(numerics::Format::bf16, operands.a)),
               b = gpu.upload(as_format(numerics::Format::bf16, turned)),
               c = gpu.zeros<float>(kRows * kColumns);
    gpu.run("gemm_staged", {kColumns / 64, kRows / 64}, {128}, kColumns, kDepth, a, b, c);
    check(gpu.download<float>(c, kRows * kColumns), operands, 1);
}

TEST_CASE("CUDA: warpgroup products with A from registers", "[ptx][cuda]") {
    const Operands operands;
    CudaGpu gpu("wgmma.ptx");
    const auto a = gpu.upload(as_format(numerics::Format::fp16, operands.a)),
               b = gpu.upload(as_format(numerics::Format::fp16, operands.b)),
               c = gpu.zeros<float>(kRows * kColumns);
    gpu.run("gemm_from_registers", {kColumns / 64, kRows / 64}, {128}, kColumns, kDepth, a, b, c);
    check(gpu.download<float>(c, kRows * kColumns), operands, -1);
}
