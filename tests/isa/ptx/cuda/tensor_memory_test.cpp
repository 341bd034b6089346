// Kernels on tensor memory and on narrow formats as nvcc prints them for sm_100a, against plain C++.
#include <catch2/catch.hpp>
#include <cmath>

#include "cuda_gpu.h"
#include "isa/numerics/formats.h"

namespace heddle::ptx::test {
namespace {

std::vector<std::uint16_t> halves(const std::vector<int>& values) {
    std::vector<std::uint16_t> result;
    for (const int value : values) result.push_back(numerics::fp32_to_fp16(static_cast<float>(value)));
    return result;
}

// Small whole numbers: sums are exact in any order.
void check_product(CudaGpu& gpu, const std::string& entry, unsigned rows, unsigned blocks) {
    const std::vector<int> a = random_values<int>(rows * 64, -9, 9, 1), b = random_values<int>(64 * 64, -9, 9, 2);
    const std::uint64_t a_address = gpu.upload(halves(a)), b_address = gpu.upload(halves(b)), d = gpu.zeros<float>(rows * 64);
    gpu.run(entry, {blocks}, {128}, a_address, b_address, d);
    const std::vector<float> sums = gpu.download<float>(d, rows * 64);
    unsigned wrong = 0;
    for (unsigned row = 0; row < rows; ++row) {
        for (unsigned column = 0; column < 64; ++column) {
            int sum = 0;
            for (unsigned k = 0; k < 64; ++k) sum += a[row * 64 + k] * b[column * 64 + k];
            wrong += sums[row * 64 + column] != static_cast<float>(sum);
        }
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("A thread block multiplies in tensor memory", "[ptx][cuda][tensor]") {
    CudaGpu gpu("tensor_memory.ptx");
    gpu.compute_capability = 100;
    check_product(gpu, "multiply", 128, 1);
}

TEST_CASE("A pair of thread blocks multiplies in the tensor memory of both", "[ptx][cuda][tensor]") {
    CudaGpu gpu("tensor_memory.ptx");
    gpu.compute_capability = 100;
    gpu.cluster = {2};
    check_product(gpu, "multiply_in_pairs", 256, 2);
}

TEST_CASE("Conversions of CUDA's headers to 4-bit and 6-bit floats and scales", "[ptx][cuda]") {
    CudaGpu gpu("tensor_memory.ptx");
    gpu.compute_capability = 100;
    const std::vector<float> x = random_reals(64, -8, 8, 3);
    const std::uint64_t in = gpu.upload(x), out = gpu.zeros<unsigned>(128);
    gpu.run("narrow", {1}, {32}, in, out);
    const std::vector<unsigned> got = gpu.download<unsigned>(out, 128);
    const numerics::Conversion nearest{.overflow = numerics::Overflow::saturate};
    for (unsigned t = 0; t < 32; ++t) {
        const auto code = [&](numerics::Format format, unsigned v) { return numerics::from_float(format, x[2 * t + v], nearest); };
        CHECK(got[4 * t] == (code(numerics::Format::e2m1, 1) << 4 | code(numerics::Format::e2m1, 0)));
        CHECK(got[4 * t + 1] == (code(numerics::Format::e2m3, 1) << 8 | code(numerics::Format::e2m3, 0)));
        const auto scale = [&](float v) { return v <= 0 ? 0u : static_cast<unsigned>(std::ceil(std::log2(v)) + 127); };
        CHECK(got[4 * t + 2] == (scale(x[2 * t + 1]) << 8 | scale(x[2 * t])));
        CHECK((got[4 * t + 3] & 0xFFFF) == numerics::fp32_to_fp16(numerics::to_float(numerics::Format::e2m1, code(numerics::Format::e2m1, 0))));
    }
}

}  // namespace heddle::ptx::test
