// The fused step computes what the step computed, in the double-precision reference.
#include "workloads/fusion/fuse.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "random_graph.h"
#include "same_values.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/gpt.h"
#include "workloads/zoo/tape.h"

using namespace heddle;
using heddle::tests::Chain;
using heddle::tests::count;
using heddle::tests::random_graph;
using trace::ElementType;
using trace::OpKind;
using trace::TensorId;
using trace::Trace;

namespace {

void check_same_values(const Trace& plain, const Trace& fused) {
    heddle::tests::check_same_values(plain, fused, 1e-12);
}

}  // namespace

TEST_CASE("a chain becomes one op that writes only what somebody reads") {
    Chain c;
    const TensorId x = c.input({6, 8}), bias = c.input({8}), w = c.input({8, 8});
    const TensorId a = c.tape.elementwise("bias", "y0 = x0 + x1", {x, bias});
    const TensorId b = c.tape.elementwise("gelu", "y0 = s0 * x0 * (1 + erf(x0))", {a}, {}, {0.5});
    const TensorId half = c.tape.cast("half", b, ElementType::bf16);
    const TensorId d = c.tape.elementwise("scaled", "y0 = s0 * x0 + x1", {half, a}, ElementType::f32, {3});
    c.tape.matmul("product", d, w);
    const Trace plain = c.tape.finish();
    fusion::FusionCount counted;
    const Trace fused = fusion::fuse(plain, {}, &counted);
    REQUIRE(fused.ops.size() == 2);
    CHECK(counted.before == 5);
    CHECK(counted.dropped == 3);
    CHECK(fused.ops[0].inputs == std::vector<TensorId>{x, bias});
    CHECK(fused.ops[0].outputs == std::vector<TensorId>{d});
    check_same_values(plain, fused);
}

TEST_CASE("a reduction takes no chain of which a result is read by nobody") {
    // As in recordings that do not say what an op made, and so not who read it.
    Trace step;
    const TensorId x = step.add({"x", ElementType::f32, {6, 8}, trace::TensorRole::input, 1});
    const TensorId a = step.add({"a", ElementType::f32, {6, 8}, trace::TensorRole::activation, 2});
    const TensorId unread = step.add({"unread", ElementType::f32, {6, 8}, trace::TensorRole::activation, 3});
    const TensorId sum = step.add({"sum", ElementType::f32, {8}, trace::TensorRole::activation, 4});
    const auto op = [&](OpKind kind, TensorId from, TensorId to, std::vector<trace::OpId> after) {
        trace::Op made;
        made.name = step.tensor(to).name;
        made.kind = kind;
        made.inputs = {from};
        made.outputs = {to};
        made.dependencies = std::move(after);
        if (kind == OpKind::elementwise) made.set(keys::elementwise.expression, "y0 = 2 * x0");
        if (kind == OpKind::reduce) {
            made.set(keys::reduce.reduction, "sum");
            made.set(keys::reduce.axes, {0});
        }
        step.add(made);
    };
    op(OpKind::elementwise, x, a, {});
    op(OpKind::elementwise, a, unread, {0});
    op(OpKind::reduce, a, sum, {0});
    step.check();
    const Trace fused = fusion::fuse(step);
    CHECK_NOTHROW(fused.check());
    REQUIRE(fused.ops.size() == 2);
    CHECK(fused.ops[1].kind == OpKind::reduce);
    check_same_values(step, fused);
}

TEST_CASE("a product in between ends a chain, and a result that it needs is still written") {
    Chain c;
    const TensorId x = c.input({8, 8}), w = c.input({8, 8});
    const TensorId a = c.tape.elementwise("a", "y0 = 2 * x0", {x});
    const TensorId b = c.tape.elementwise("b", "y0 = x0 + 1", {a});
    const TensorId p = c.tape.matmul("p", a, w);
    const TensorId d = c.tape.elementwise("d", "y0 = x0 + x1", {b, p});
    c.tape.elementwise("e", "y0 = x0 * x0", {d});
    const Trace plain = c.tape.finish();
    const Trace fused = fusion::fuse(plain);
    REQUIRE(fused.ops.size() == 3);
    CHECK(fused.ops[0].outputs == std::vector<TensorId>{a, b});
    CHECK(fused.ops[1].kind == OpKind::matmul);
    check_same_values(plain, fused);
}

TEST_CASE("a sum takes the chain before it into its kernel") {
    Chain c;
    const TensorId x = c.input({6, 8}), y = c.input({8});
    const TensorId a = c.tape.elementwise("square", "y0 = x0 * x0", {x});
    const TensorId b = c.tape.elementwise("scaled", "y0 = x0 * x1", {a, y});
    c.tape.reduce("sum", b, "sum", {1}, {6});
    const Trace plain = c.tape.finish();
    const Trace fused = fusion::fuse(plain);
    REQUIRE(fused.ops.size() == 1);
    CHECK(fused.ops[0].kind == OpKind::reduce);
    check_same_values(plain, fused);
}

TEST_CASE("a training step keeps its losses, its products and its updates") {
    zoo::GptOptions options;
    options.layers = 2;
    options.hidden = 32;
    options.heads = 2;
    options.batch = 2;
    options.sequence = 16;
    options.vocabulary = 40;
    options.attention = zoo::AttentionForm::composed;
    const Trace plain = zoo::gpt(options);
    const Trace fused = fusion::fuse(plain);
    CHECK(fused.ops.size() < plain.ops.size());
    for (const OpKind kind : {OpKind::matmul, OpKind::layer_norm, OpKind::softmax, OpKind::embedding})
        CHECK(count(fused, kind) == count(plain, kind));
    check_same_values(plain, fused);
}

TEST_CASE("random graphs of elementwise ops, sums and products keep their values") {
    std::mt19937 random(11);
    std::size_t before = 0, after = 0;
    for (int round = 0; round < 60; ++round) {
        const Trace plain = random_graph(random, 1);
        const Trace fused = fusion::fuse(plain);
        before += plain.ops.size();
        after += fused.ops.size();
        check_same_values(plain, fused);
    }
    CHECK(after < before * 8 / 10);
}
