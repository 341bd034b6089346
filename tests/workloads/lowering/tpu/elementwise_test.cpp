#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <variant>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

TEST_CASE("elementwise ops at odd sizes") {
    models::Tpu tpu("tpu", small_tpu());
    const auto run = [&](const std::string& expression, OpBuilder builder, OpCheck check = {}) {
        INFO(expression);
        check_ops(tpu, builder.with("expression", expression).done().trace, check);
    };
    OpCheck positive;
    positive.positive = true;
    const auto two = [] {
        return OpBuilder(OpKind::elementwise).input({37, 301}).input({37, 301}).output({37, 301});
    };
    run("y0 = x0 + x1", two());
    run("y0 = max(x0 * x1, 0)", two());
    run("y0 = x1 > 0 ? x0 : 0", two());
    run("y0 = tanh(x0) * sigmoid(x1) + erf(x0) - exp(x1)", two());
    run("y0 = log(x0) / sqrt(x1) + rsqrt(x0) * reciprocal(x1)", two(), positive);
    run("y0 = min(abs(x0), floor(x1 * 4)) + (x0 <= x1) - (x0 == x1)", two());
    run("y0 = x0", OpBuilder(OpKind::elementwise).input({100003}).output({100003}));
    run("y0 = x0 * 2", OpBuilder(OpKind::elementwise).input({}).output({}));
    run("y0 = s0 * x0 + x1; y1 = x2 - s1 * y0", OpBuilder(OpKind::elementwise)
                                                    .input({513})
                                                    .input({513})
                                                    .input({513})
                                                    .output({513})
                                                    .output({513})
                                                    .with("scalars", std::vector<double>{0.5, 0.125}));
    run("y0 = random(3) < 0.5 ? 0 : x0 * 2",
        OpBuilder(OpKind::elementwise).input({7, 1000}).output({7, 1000}));
    run("y0 = random(3) + x0 * 0", OpBuilder(OpKind::elementwise).input({5, 1}).output({5, 2051}));
}

TEST_CASE("elementwise ops that broadcast") {
    models::Tpu tpu("tpu", small_tpu());
    const auto run = [&](OpBuilder builder) {
        check_ops(tpu, builder.with("expression", std::string("y0 = x0 * 2 + x1")).done().trace);
    };
    run(OpBuilder(OpKind::elementwise).input({65, 130}).input({130}).output({65, 130}));
    run(OpBuilder(OpKind::elementwise).input({65, 130}).input({65, 1}).output({65, 130}));
    run(OpBuilder(OpKind::elementwise).input({65, 130}).input({}).output({65, 130}));
    run(OpBuilder(OpKind::elementwise).input({130}).input({65, 1}).output({65, 130}));
    run(OpBuilder(OpKind::elementwise).input({3, 5, 7, 9}).input({5, 1, 1}).output({3, 5, 7, 9}));
    run(OpBuilder(OpKind::elementwise).input({3, 5, 7, 9}).input({3, 1, 7, 1}).output({3, 5, 7, 9}));
    run(OpBuilder(OpKind::elementwise).input({3, 1, 7, 9}).input({1, 5, 1, 9}).output({3, 5, 7, 9}));
    run(OpBuilder(OpKind::elementwise).input({2000, 3}).input({3}).output({2000, 3}));
}

TEST_CASE("elementwise ops with types and strides") {
    models::Tpu tpu("tpu", small_tpu());
    const auto run = [&](const std::string& expression, OpBuilder builder, double tolerance = 1e-6) {
        INFO(expression);
        OpCheck check;
        check.tolerance = tolerance;
        check_ops(tpu, builder.with("expression", expression).done().trace, check);
    };
    // bf16 keeps 8 bits: half a unit of the last place of numbers from 1 to 2 is 2^-8.
    run("y0 = x0 + x1",
        OpBuilder(OpKind::elementwise)
            .input({33, 257}, ElementType::bf16)
            .input({33, 257})
            .output({33, 257}, ElementType::bf16),
        1.0 / 256);
    run("y0 = x0 > 0",
        OpBuilder(OpKind::elementwise).input({33, 257}).output({33, 257}, ElementType::boolean));
    run("y0 = x1 ? x0 : 0", OpBuilder(OpKind::elementwise)
                                .input({33, 257})
                                .input({33, 257}, ElementType::boolean)
                                .output({33, 257}));
    run("y0 = x0 * 3 + 1",
        OpBuilder(OpKind::elementwise).input({99}, ElementType::i64).output({99}, ElementType::i64));
    // A transposed view, a slice, and an output that is a slice.
    run("y0 = x0 + x1", OpBuilder(OpKind::elementwise)
                            .input({40, 50})
                            .input({40, 50})
                            .output({40, 50})
                            .with("input0_strides", std::vector<std::int64_t>{1, 40}));
    run("y0 = x0 + x1", OpBuilder(OpKind::elementwise)
                            .input({40, 50})
                            .input({40, 50})
                            .output({40, 50})
                            .with("input0_strides", std::vector<std::int64_t>{120, 2})
                            .with("input0_offset", std::int64_t{7}));
}

TEST_CASE("copies and casts and transposes") {
    models::Tpu tpu("tpu", small_tpu());
    const auto run = [&](OpBuilder builder, double tolerance = 0, std::int64_t classes = 0) {
        OpCheck check;
        check.tolerance = tolerance;
        check.classes = classes;
        check_ops(tpu, builder.done().trace, check);
    };
    const auto copy = [] { return OpBuilder(OpKind::copy); };
    run(copy().input({12345}).output({12345}));
    run(copy().input({12, 345}).output({345, 12}));
    run(copy().input({12, 345}).output({12, 345}, ElementType::bf16), 1.0 / 512);
    run(copy().input({12, 345}, ElementType::bf16).output({12, 345}));
    run(copy().input({300}, ElementType::i64).output({300}), 0, 1000);
    run(copy().input({300}, ElementType::i32).output({300}, ElementType::i64), 0, 2000000000);
    run(copy().input({300}).output({300}, ElementType::i32));
    run(copy().input({300}, ElementType::i32).output({300}, ElementType::boolean), 0, 3);
    run(copy().input({1, 40}).output({30, 40}));
    run(copy().input({30, 1}).output({30, 40}));
    const auto permuted = [&](std::vector<std::int64_t> from, std::vector<std::int64_t> permutation,
                              ElementType type) {
        std::vector<std::int64_t> to;
        for (const std::int64_t axis : permutation) to.push_back(from[static_cast<std::size_t>(axis)]);
        run(copy().input(from, type).output(to, type).with("permutation", permutation));
    };
    permuted({123, 77}, {1, 0}, ElementType::f32);
    permuted({123, 77}, {1, 0}, ElementType::bf16);
    permuted({5, 33, 4, 16}, {0, 2, 1, 3}, ElementType::f32);
    permuted({5, 33, 4, 16}, {0, 2, 3, 1}, ElementType::f32);
    permuted({5, 33, 4, 16}, {3, 2, 1, 0}, ElementType::f32);
    permuted({6, 7, 8}, {1, 2, 0}, ElementType::f32);
}

TEST_CASE("many small matrices are turned in few transfers") {
    models::Tpu tpu("tpu", small_tpu());
    const auto turned = [](std::int64_t count, std::int64_t rows, std::int64_t columns, ElementType type,
                           std::optional<ElementType> to = {}) {
        OpBuilder op(OpKind::copy);
        return op.input({count, rows, columns}, type)
            .output({count, columns, rows}, to.value_or(type))
            .with("permutation", std::vector<std::int64_t>{0, 2, 1})
            .done()
            .trace;
    };
    OpCheck exact;
    exact.tolerance = 0;
    for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::i8, ElementType::i32}) {
        check_ops(tpu, turned(40, 64, 9, type), exact);
        check_ops(tpu, turned(37, 9, 64, type), exact);
        check_ops(tpu, turned(101, 5, 7, type), exact);
    }
    OpCheck rounded;
    rounded.tolerance = 1.0 / 500;
    check_ops(tpu, turned(40, 64, 9, ElementType::f32, ElementType::bf16), rounded);
    check_ops(tpu, turned(101, 5, 7, ElementType::bf16, ElementType::f32), exact);
    check_ops(tpu, turned(3, 150, 120, ElementType::f32), exact);  // large enough by itself
    // Filters of 512 x 512 x 3 x 3, channels last: each filter by itself would take 512 transfers at least.
    const target::TpuTarget large;
    const lowering::LoweredOp lowered = lowering::lower(turned(512, 512, 9, ElementType::bf16), 0, large);
    REQUIRE(lowered.supported);
    std::ptrdiff_t transfers = 0;
    for (const tpu::CoreProgram& core : lowered.program.cores)
        transfers += std::count_if(core.instructions.begin(), core.instructions.end(), [](const auto& one) {
            return std::holds_alternative<tpu::Dma>(one.operation);
        });
    CHECK(transfers <= 64);
}

TEST_CASE("concat and fill and random") {
    models::Tpu tpu("tpu", small_tpu());
    const auto run = [&](OpBuilder builder, double tolerance = 0) {
        OpCheck check;
        check.tolerance = tolerance;
        check_ops(tpu, builder.done().trace, check);
    };
    run(OpBuilder(OpKind::concat)
            .input({3, 10, 5})
            .input({3, 7, 5})
            .input({3, 1, 5})
            .output({3, 18, 5})
            .with("axis", std::int64_t{1}));
    run(OpBuilder(OpKind::concat)
            .input({300, 5})
            .input({300, 70})
            .output({300, 75})
            .with("axis", std::int64_t{1}));
    run(OpBuilder(OpKind::fill).output({1234, 5}).with("value", 2.5));
    run(OpBuilder(OpKind::fill).output({5000}, ElementType::i64).with("value", 3.0).with("step", 2.0));
    run(OpBuilder(OpKind::fill).output({5000}).with("value", 3.0).with("step", 0.5));
    run(OpBuilder(OpKind::random)
            .output({100, 33})
            .with("low", -2.0)
            .with("high", 2.0)
            .with("stream", std::int64_t{9}),
        1e-6);
    run(OpBuilder(OpKind::random)
            .output({2500}, ElementType::i64)
            .with("low", 0.0)
            .with("high", 1000.0)
            .with("distribution", std::string("integer")));
}
