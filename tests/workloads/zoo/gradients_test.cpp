// Gradient rules against central differences of the executed forward pass.
#include <catch2/catch.hpp>

#include "finite_differences.h"
#include "isa/common/error.h"

using namespace heddle::zoo;

TEST_CASE("matmul, all four layouts, with bias and batches") {
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
                MatmulOptions options;
                options.transpose_a = ta;
                options.transpose_b = tb;
                const TensorId a = variable(tape, "a", ta ? Shape{4, 3} : Shape{3, 4}, wanted);
                const TensorId b = variable(tape, "b", tb ? Shape{5, 4} : Shape{4, 5}, wanted);
                options.bias = variable(tape, "bias", {5}, wanted);
                return tape.matmul("y", a, b, options);
            });
        }
    }
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId a = variable(tape, "a", {2, 3, 2, 4}, wanted);
        const TensorId b = variable(tape, "b", {3, 4, 2}, wanted);
        return tape.matmul("y", a, b);
    });
}

TEST_CASE("elementwise, with broadcasting and scalars") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {3, 4}, wanted);
        const TensorId row = variable(tape, "row", {4}, wanted);
        const TensorId column = variable(tape, "column", {3, 1}, wanted);
        const TensorId biased = tape.elementwise("biased", "y0 = x0 + x1", {x, row}, ElementType::f64);
        const TensorId gelu = tape.elementwise(
            "gelu", "y0 = 0.5 * x0 * (1 + tanh(0.79788456 * (x0 + 0.044715 * x0 * x0 * x0)))", {biased},
            ElementType::f64);
        return tape.elementwise("scaled", "y0 = max(x0, 0) * s0 + x0 * x1", {gelu, column}, ElementType::f64,
                                {0.3});
    });
}

TEST_CASE("a tensor used twice gets the sum of both gradients") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {3, 3}, wanted);
        return tape.elementwise("sum", "y0 = x0 + x1", {tape.matmul("square", x, x), x}, ElementType::f64);
    });
}

TEST_CASE("mean softmax cross-entropy, directly and through a weighted sum") {
    compare_with_differences(
        [](Tape& tape, std::vector<TensorId>& wanted) {
            const TensorId x = variable(tape, "x", {4, 5}, wanted);
            const TensorId labels = tape.external("labels", ElementType::i32, {4}, TensorRole::label);
            return tape.reduce("mean", tape.softmax_cross_entropy("loss", x, labels).loss, "mean", {0}, {});
        },
        true);
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {4, 5}, wanted);
        const TensorId labels = tape.external("labels", ElementType::i32, {4}, TensorRole::label);
        return tape.softmax_cross_entropy("loss", x, labels).loss;
    });
}

TEST_CASE("sums and means over some axes") {
    for (const std::string reduction : {"sum", "mean"}) {
        compare_with_differences([&](Tape& tape, std::vector<TensorId>& wanted) {
            const TensorId x = variable(tape, "x", {2, 3, 4}, wanted);
            const TensorId squared = tape.elementwise("squared", "y0 = x0 * x0", {x}, ElementType::f64);
            return tape.reduce("reduced", squared, reduction, {0, 2}, {3});
        });
    }
}

TEST_CASE("softmax and layer normalisation") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        return tape.softmax("softmax", variable(tape, "x", {3, 4}, wanted));
    });
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {3, 6}, wanted);
        const TensorId gamma = variable(tape, "gamma", {6}, wanted);
        const TensorId beta = variable(tape, "beta", {6}, wanted);
        return tape.layer_norm("norm", x, gamma, beta);
    });
}

TEST_CASE("attention, full, causal and with grouped key heads") {
    for (const bool causal : {false, true}) {
        compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
            const TensorId q = variable(tape, "q", {2, 4, 3, 5}, wanted);
            const TensorId k = variable(tape, "k", {2, 2, 3, 5}, wanted);
            const TensorId v = variable(tape, "v", {2, 2, 3, 5}, wanted);
            return tape.attention("attention", q, k, v, causal);
        });
    }
}

TEST_CASE("embedding: rows looked up twice get both gradients") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId table = variable(tape, "table", {3, 4}, wanted);
        const TensorId indices = tape.external("indices", ElementType::i32, {7}, TensorRole::input);
        return tape.embedding("rows", table, indices);
    });
}

TEST_CASE("casts, transposes, views and concatenation") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {2, 3, 4}, wanted);
        const TensorId y = variable(tape, "y", {4, 2, 5}, wanted);
        const TensorId turned = tape.transpose("turned", tape.cast("cast", x, ElementType::f64), {2, 0, 1});
        const TensorId joined = tape.concat("joined", {turned, y}, 2);
        const TensorId seen = tape.view("seen", joined, {8, 8});
        return tape.matmul("square", seen, seen);
    });
}

TEST_CASE("what has no gradient says so") {
    Tape tape("errors");
    std::vector<TensorId> wanted;
    const TensorId x = variable(tape, "x", {2, 2}, wanted);
    const TensorId other = variable(tape, "other", {2, 2}, wanted);
    const TensorId largest = tape.reduce("largest", x, "max", {0, 1}, {});
    CHECK_THROWS_AS(tape.backward(largest, {x}), heddle::Error);
    CHECK_THROWS_AS(tape.backward(tape.reduce("sum", x, "sum", {0, 1}, {}), {other}), heddle::Error);
    CHECK_THROWS_AS(tape.view("bad", x, {3}), heddle::Error);
}
