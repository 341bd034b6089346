// Rows by index, experts, dropout and the largest of a row, lowered to PTX and executed, beside the
// double-precision reference.
#include <catch2/catch.hpp>

#include "gpu_op_check.h"

using namespace heddle;
using namespace heddle::lowering::test;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::TensorId;
using trace::TensorRole;

TEST_CASE("rows by index and concatenation") {
    Builder b;
    const TensorId table = b.tensor({50, 18}), indices = b.tensor({31}, ElementType::i64, TensorRole::label),
                   rows = b.tensor({31, 18}), back = b.tensor({50, 18}),
                   low = b.tensor({50, 18}, ElementType::bf16);
    b.op(OpKind::embedding, {table, indices}, {rows});
    b.op(OpKind::embedding_grad, {rows, indices}, {back});
    b.op(OpKind::embedding_grad, {rows, indices}, {low});
    const TensorId joined = b.tensor({31, 54}), picked = b.tensor({31, 18});
    b.op(OpKind::concat, {rows, rows, rows}, {joined}).set(keys::concat.axis, 1);
    b.op(OpKind::gather, {table, indices}, {picked});
    CHECK(worst_error(b.trace) < 0x1p-8);
}

TEST_CASE("rows are added to 16-bit rows, by atomics where the device has them") {
    Builder b;
    for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
        const TensorId table = b.tensor({50, 18}, type), updates = b.tensor({31, 18}, type),
                       indices = b.tensor({31}, ElementType::i64, TensorRole::label),
                       sum = b.tensor({50, 18}, type);
        b.op(OpKind::scatter, {table, indices, updates}, {sum}).set(keys::scatter.accumulate, 1);
    }
    // A few sums of numbers below 1, each rounded to 8 bits at worst.
    CHECK(worst_error(b.trace, 90) < 0x1p-6);
    CHECK(worst_error(b.trace, 80) < 0x1p-6);
}

TEST_CASE("places of tokens in experts of limited capacity") {
    Builder b;
    const TensorId chosen = b.tensor({300}, ElementType::i32, TensorRole::label), table = b.tensor({4, 8}),
                   rows = b.tensor({300, 8}), slots = b.tensor({300}, ElementType::i32);
    b.op(OpKind::gather, {table, chosen}, {rows});  // indices below 4
    Op& op = b.op(OpKind::expert_slots, {chosen}, {slots});
    op.set(keys::expert_slots.experts, 4);
    op.set(keys::expert_slots.capacity, 60);
    CHECK(worst_error(b.trace, 80) == 0);
}

TEST_CASE("sums along rows and along other axes, forwards and backwards, of pieces and of whole numbers") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        const auto sums = [&](const std::vector<std::int64_t>& shape, std::int64_t axis, ElementType type) {
            const TensorId x = b.tensor(shape, type), y = b.tensor(shape, type), z = b.tensor(shape, type);
            b.op(OpKind::cumulative_sum, {x}, {y}).set(keys::cumulative_sum.axis, axis);
            Op& backwards = b.op(OpKind::cumulative_sum, {y}, {z});
            backwards.set(keys::cumulative_sum.axis, axis);
            backwards.set(keys::cumulative_sum.reverse, 1);
        };
        sums({7, 20}, 1, ElementType::f32);    // rows of a warp
        sums({3, 32}, 1, ElementType::f32);    // whole
        sums({3, 300}, 1, ElementType::f32);   // a block for each
        sums({2, 2500}, 1, ElementType::f64);  // in three pieces
        sums({5, 70}, 0, ElementType::f32);    // lines
        sums({3, 41, 6}, 1, ElementType::f32);
        sums({1, 1}, 0, ElementType::f32);
        CHECK(worst_error(b.trace, capability) < 1e-5);
    }
}

TEST_CASE("dropout, the largest of a row, positions of extrema, concatenation in one launch") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        const TensorId x = b.tensor({13, 77}), y = b.tensor({13, 77}),
                       mask = b.tensor({13, 77}, ElementType::boolean);
        Op& dropout = b.op(OpKind::dropout, {x}, {y, mask});
        dropout.set(keys::dropout.probability, 0.2);
        dropout.set(keys::dropout.seed, 77);
        const TensorId best = b.tensor({13, 4}), places = b.tensor({13, 4}, ElementType::i64);
        b.op(OpKind::top_k, {x}, {best, places});
        for (const char* reduction : {"max", "min"}) {
            const TensorId value = b.tensor({13}), place = b.tensor({13}, ElementType::i64),
                           alone = b.tensor({13});
            Op& position = b.op(OpKind::reduce, {x}, {value, place});
            position.set(keys::reduce.reduction, std::string(reduction));
            position.set(keys::reduce.axes, {1});
            position.set(keys::reduce.argument, 1);
            Op& only = b.op(OpKind::reduce, {x}, {alone});
            only.set(keys::reduce.reduction, std::string(reduction));
            only.set(keys::reduce.axes, {1});
        }
        const TensorId narrow = b.tensor({13, 9}), joined = b.tensor({13, 86});
        b.op(OpKind::concat, {x, narrow}, {joined}).set(keys::concat.axis, 1);
        const TensorId columns = b.tensor({77});
        Op& alone = b.op(OpKind::reduce, {x}, {columns});
        alone.set(keys::reduce.reduction, "sum");
        alone.set(keys::reduce.axes, {0});
        alone.set(keys::reduce.column_alone, 1);
        CHECK(worst_error(b.trace, capability) < 1e-5);
    }
}
