// Matrix products, lowered to PTX and executed, beside the double-precision reference.
#include <catch2/catch.hpp>

#include "gpu_op_check.h"
#include "workloads/lowering/gpu/gpu_lowering.h"

using namespace heddle;
using namespace heddle::lowering::test;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::TensorId;
using trace::TensorRole;

TEST_CASE("matrix products of every layout and type match the reference") {
    const auto product = [](ElementType in, ElementType out, bool ta, bool tb, std::int64_t m, std::int64_t n,
                            std::int64_t k, std::int64_t batch = 1, unsigned capability = 90,
                            bool tf32 = false) {
        Builder b;
        const auto shape = [&](std::int64_t rows, std::int64_t columns) {
            return batch > 1 ? std::vector<std::int64_t>{batch, rows, columns}
                             : std::vector<std::int64_t>{rows, columns};
        };
        const TensorId x = b.tensor(ta ? shape(k, m) : shape(m, k), in);
        const TensorId w = b.tensor(tb ? shape(n, k) : shape(k, n), in);
        const TensorId y = b.tensor(shape(m, n), out);
        Op& op = b.op(OpKind::matmul, {x, w}, {y});
        op.set(keys::matmul.transpose_a, ta);
        op.set(keys::matmul.transpose_b, tb);
        if (tf32) op.set(keys::any.compute_type, "tf32");
        return worst_error(b.trace, capability);
    };
    // Initial values are multiples of 2^-7 in [-1, 1): products are exact in fp32, sums over k <= 200 nearly
    // so.
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            CAPTURE(ta, tb);
            CHECK(product(ElementType::f32, ElementType::f32, ta, tb, 70, 45, 33) < 1e-5);
            CHECK(product(ElementType::bf16, ElementType::f32, ta, tb, 72, 136, 96) < 1e-5);
            CHECK(product(ElementType::f16, ElementType::f32, ta, tb, 33, 57, 21) < 1e-5);
            CHECK(product(ElementType::f16, ElementType::f32, ta, tb, 72, 56, 40, 1, 70) < 1e-5);
            for (const unsigned capability : {70u, 80u, 90u}) {
                CAPTURE(capability);
                CHECK(product(ElementType::f32, ElementType::f32, ta, tb, 72, 44, 36, 1, capability, true) <
                      1e-5);
                CHECK(product(ElementType::f64, ElementType::f64, ta, tb, 35, 38, 42, 1, capability) < 1e-13);
            }
            // What is not contiguous along k is transposed first.
            CHECK(product(ElementType::e4m3, ElementType::f32, ta, tb, 48, 80, 64, 2) < 1e-3);
            CHECK(product(ElementType::e4m3, ElementType::f32, ta, tb, 48, 80, 64, 1, 89) < 1e-3);
            CHECK(product(ElementType::i8, ElementType::i32, ta, tb, 48, 80, 64, 2, 80) == 0);
            CHECK(product(ElementType::i8, ElementType::i32, ta, tb, 48, 80, 64) == 0);
        }
    }
    CHECK(product(ElementType::bf16, ElementType::bf16, false, true, 64, 64, 64) < 0x1p-8);
    CHECK(product(ElementType::f64, ElementType::f64, false, false, 19, 35, 27) < 1e-13);
    CHECK(product(ElementType::f32, ElementType::f32, false, true, 17, 40, 9, 3) < 1e-5);
    CHECK(product(ElementType::bf16, ElementType::f32, false, false, 40, 24, 56, 5) < 1e-5);
    // Few tiles and a long k: split-K with its reduction.
    CHECK(product(ElementType::bf16, ElementType::f32, false, true, 64, 64, 8192) < 1e-3);
}

TEST_CASE("a recorded product has the tile, the stages and the copies of its kernel") {
    target::GpuTarget a100;
    a100.compute_capability = 80;
    for (const bool transposed : {false, true}) {
        CAPTURE(transposed);
        Builder b;
        const TensorId x = b.tensor({40, 68}),
                       w = b.tensor(std::vector<std::int64_t>{transposed ? 72 : 68, transposed ? 68 : 72}),
                       y = b.tensor({40, 72});
        Op& product = b.op(OpKind::matmul, {x, w}, {y});
        product.set(keys::matmul.transpose_b, transposed);
        product.set(keys::any.compute_type, "tf32");
        // cutlass_80_tensorop_s1688gemm_128x256_32x3_..._align1: n, m and k of the tile.
        product.set(keys::any.tile, {128, 256, 32});
        product.set(keys::any.stages, 3);
        product.set(keys::any.copy_elements, 1);
        const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, a100);
        REQUIRE(lowered.program.launches.size() == 1);
        const std::string& name = lowered.program.launches[0].kernel->entry;
        CAPTURE(name);
        CHECK(name.find("_256x128x32_") != std::string::npos);
        CHECK(name.find("_stages3_") != std::string::npos);
        CHECK(name.find("_a1_b1") != std::string::npos);
        CHECK(worst_error(b.trace, 80) < 1e-5);
        // cutlass_80_tensorop_s1688gemm_64x64_16x10_..._align4
        product.set(keys::any.tile, {64, 64, 16});
        product.set(keys::any.stages, 10);
        product.set(keys::any.copy_elements, 4);
        const lowering::GpuLowering deep = lowering::lower_for_gpu(b.trace, a100);
        const std::string& deep_name = deep.program.launches.at(0).kernel->entry;
        CAPTURE(deep_name);
        CHECK(deep_name.find("_64x64x16_") != std::string::npos);
        CHECK(deep_name.find("_stages10_") != std::string::npos);
        CHECK(worst_error(b.trace, 80) < 1e-5);
    }
}

TEST_CASE("a recorded product on CUDA cores has its kernel's tile, and odd rows of results are whole") {
    target::GpuTarget a100;
    a100.compute_capability = 80;
    // ampere_sgemm_128x64_nn: n and m of the tile; tiles of other extents are not made.
    for (const auto& [tile, name] :
         {std::pair<std::vector<std::int64_t>, std::string>{{128, 64}, "_64x128x8_"},
          {{64, 128}, "_128x64x8_"},
          {{32, 128}, "_128x32x8_"},
          {{128, 32}, "_32x128x8_"},
          {{32, 64}, "_64x32x8_"},
          {{32, 32}, ""}}) {
        for (const std::int64_t columns : {133, 8}) {
            Builder b;
            const TensorId x = b.tensor({150, 21}), w = b.tensor({21, columns}), bias = b.tensor({columns}),
                           y = b.tensor({150, columns});
            Op& product = b.op(OpKind::matmul, {x, w, bias}, {y});
            product.set(keys::matmul.epilogue, "y0 = max(x0 + x1, 0)");
            product.set(keys::any.tile, tile);
            const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, a100);
            REQUIRE(lowered.program.launches.size() == 1);
            const std::string& entry = lowered.program.launches[0].kernel->entry;
            CAPTURE(entry, columns);
            CHECK(entry.rfind("gemm_simt_f32", 0) == 0);
            CHECK(entry.find(name) != std::string::npos);
            CHECK(worst_error(b.trace, 80) < 1e-5);
        }
    }
}

TEST_CASE("epilogues read a bias per column and an accumulator like the result") {
    Builder b;
    const TensorId x = b.tensor({50, 24}, ElementType::bf16), w = b.tensor({40, 24}, ElementType::bf16);
    const TensorId bias = b.tensor({40}), residual = b.tensor({50, 40}), y = b.tensor({50, 40}),
                   z = b.tensor({50, 40});
    Op& relu = b.op(OpKind::matmul, {x, w, bias}, {y});
    relu.set(keys::matmul.transpose_b, 1);
    relu.set(keys::matmul.epilogue, "y0 = max(x0 + x1, 0)");
    Op& both = b.op(OpKind::matmul, {x, w, residual, bias}, {z});
    both.set(keys::matmul.transpose_b, 1);
    both.set(keys::matmul.epilogue, "y0 = 0.5 * x0 + x1 - x2");
    CHECK(worst_error(b.trace) < 1e-5);
}

TEST_CASE("gradients in e5m2 times weights and activations in e4m3, with a factor for each column") {
    Builder b;
    const TensorId dy = b.tensor({64, 128}, ElementType::e5m2), w = b.tensor({128, 96}, ElementType::e4m3),
                   x = b.tensor({64, 96}, ElementType::e4m3), factors = b.tensor({96}, ElementType::f32),
                   dx = b.tensor({64, 96}, ElementType::bf16), dw = b.tensor({128, 96}, ElementType::bf16);
    b.op(OpKind::matmul, {dy, w, factors}, {dx}).set(keys::matmul.epilogue, "y0 = x0 * x1");
    Op& weights = b.op(OpKind::matmul, {dy, x, factors}, {dw});
    weights.set(keys::matmul.epilogue, "y0 = x0 * x1");
    weights.set(keys::matmul.transpose_a, 1);
    CHECK(worst_error(b.trace) < 0x1p-7);
}
