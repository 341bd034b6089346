// Elementwise ops, copies, lists of tensors and LSTM cells, lowered to PTX and executed, beside the
// double-precision reference.
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

TEST_CASE("elementwise operations broadcast, stride and convert") {
    Builder b;
    const TensorId x = b.tensor({13, 37}), row = b.tensor({37}), column = b.tensor({13, 1}),
                   one = b.tensor({}), half = b.tensor({13, 37}, ElementType::bf16);
    const TensorId y = b.tensor({13, 37}), z = b.tensor({13, 37}, ElementType::f16),
                   flag = b.tensor({13, 37}, ElementType::boolean);
    b.op(OpKind::elementwise, {x, row, column, one, half}, {y})
        .set(keys::elementwise.expression, "y0 = max(x0 * x1 + x2, x3) / (2 + x4 * x4)");
    b.op(OpKind::elementwise, {x}, {z})
        .set(keys::elementwise.expression, "y0 = tanh(x0) * exp(-x0) + sqrt(abs(x0))");
    b.op(OpKind::elementwise, {x, row}, {flag}).set(keys::elementwise.expression, "y0 = x0 > x1");
    // Columns of x^T, three axes, read through strides.
    const TensorId cube = b.tensor({4, 5, 6}), turned = b.tensor({6, 4, 5}),
                   cast = b.tensor({4, 5, 6}, ElementType::bf16);
    b.op(OpKind::copy, {cube}, {turned}).set(keys::copy.permutation, {2, 0, 1});
    b.op(OpKind::copy, {cube}, {cast});
    // Channels last and first again, by way of tiles.
    const TensorId picture = b.tensor({3, 37, 6, 9}), last = b.tensor({3, 6, 9, 37}),
                   again = b.tensor({3, 37, 6, 9});
    Op& to_last = b.op(OpKind::copy, {picture}, {last});
    to_last.set(keys::copy.permutation, {0, 2, 3, 1});
    to_last.set(keys::copy.tiles, 1);
    Op& to_first = b.op(OpKind::copy, {last}, {again});
    to_first.set(keys::copy.permutation, {0, 3, 1, 2});
    to_first.set(keys::copy.tiles, 1);
    const TensorId filled = b.tensor({1001}, ElementType::bf16), noise = b.tensor({777});
    b.op(OpKind::fill, {}, {filled}).set(keys::fill.value, 0.75);
    trace::Op& counting = b.op(OpKind::fill, {}, {b.tensor({3, 219}, ElementType::i32)});
    counting.set(keys::fill.value, 656.0);
    counting.set(keys::fill.step, -1.0);
    Op& random = b.op(OpKind::random, {}, {noise});
    random.set(keys::random.stream, 5);
    CHECK(worst_error(b.trace) < 0x1p-8);
}

TEST_CASE("results whose axes lie in another order in memory, and row sums of products") {
    Builder b;
    // [batch, heads, sequence, head_dim], kept as [batch, sequence, heads, head_dim].
    const std::vector<std::int64_t> shape{2, 3, 11, 64}, strides{11 * 3 * 64, 64, 3 * 64, 1};
    const TensorId x = b.tensor(shape), y = b.tensor(shape, ElementType::bf16), z = b.tensor(shape),
                   u = b.tensor(shape, ElementType::bf16), v = b.tensor(shape, ElementType::bf16),
                   sums = b.tensor({2, 3, 11});
    Op& scaled = b.op(OpKind::elementwise, {x}, {y});
    scaled.set(keys::elementwise.expression, "y0 = s0 * x0");
    scaled.set(keys::elementwise.scalars, {0.125});
    scaled.set_strides("output0", strides);
    b.op(OpKind::copy, {x}, {z}).set_strides("output0", strides);
    Op& products = b.op(OpKind::reduce, {u, v}, {sums});
    products.set(keys::reduce.reduction, "sum");
    products.set(keys::reduce.expression, "y0 = x0 * x1");
    products.set(keys::reduce.axes, {3});
    products.set_strides("input1", strides);
    CHECK(worst_error(b.trace) < 1e-5);
}

TEST_CASE("lists of tensors are carried out by few launches, as one by one") {
    // Whole vectors and not, several chunks, more tensors than a launch takes, one that two launches share.
    std::vector<std::int64_t> sizes{5, 1024, 1, 70001, 66000, 400000};
    for (std::int64_t i = 0; i < 50; ++i) sizes.push_back(12 + i % 3);
    for (const bool listed : {false, true}) {
        Builder b;
        std::vector<TensorId> parameters, gradients;
        for (const std::int64_t size : sizes) {
            parameters.push_back(b.tensor({size}));
            gradients.push_back(b.tensor({size}, ElementType::bf16));
        }
        const TensorId rate = b.tensor({1});
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            Op& square = b.op(OpKind::reduce, {gradients[i]}, {b.tensor({1})});
            square.set(keys::reduce.reduction, "sum");
            square.set(keys::reduce.expression, "y0 = x0 * x0");
            if (listed) square.set(keys::any.list, 1);
        }
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            Op& update =
                b.op(OpKind::elementwise, {parameters[i], gradients[i], rate}, {b.tensor({sizes[i]})});
            update.set(keys::elementwise.expression, "y0 = x0 - s0 * x1 * x2");
            update.set(keys::elementwise.scalars, {0.5});
            if (listed) update.set(keys::any.list, 2);
        }
        target::GpuTarget target;
        target.compute_capability = 80;
        const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target);
        const std::size_t launches = lowered.program.launches.size();
        if (listed) {
            // 20 tensors of whole vectors and 36 others; sums of 56 tensors, 48 in a launch.
            CHECK(launches == 1 + 1 + 2 + 1 + 1);
            CHECK(lowered.ops[0].launch_count == 4);
            CHECK(lowered.ops[1].launch_count == 0);
            CHECK(lowered.ops[sizes.size()].launch_count == 2);
        } else {
            CHECK(launches >= 2 * sizes.size());
        }
        // Sums of up to 400,000 squares in f32.
        CHECK(worst_error(b.trace, 80) < 1e-5);
    }
}

TEST_CASE("an LSTM cell and its gradient match the reference") {
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
        Builder b;
        const auto tensor = [&](std::int64_t columns) { return b.tensor({7, columns}, type); };
        const TensorId x = tensor(4 * 19), h = tensor(4 * 19), c = tensor(19),
                       bias = b.tensor({4 * 19}, type), second = b.tensor({4 * 19}, type), new_h = tensor(19),
                       new_c = tensor(19), gates = tensor(4 * 19), dh = tensor(19), dc = tensor(19),
                       d_gates = tensor(4 * 19), d_old = tensor(19);
        b.op(OpKind::lstm_cell, {x, h, c, bias, second}, {new_h, new_c, gates});
        b.op(OpKind::lstm_cell_grad, {dh, dc, c, new_c, gates}, {d_gates, d_old});
        CHECK(worst_error(b.trace, 80) < (type == ElementType::f32 ? 1e-5 : 0x1p-6));
    }
}
