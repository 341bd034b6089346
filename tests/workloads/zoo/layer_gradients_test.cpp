// Gradient rules of layers against central differences of the executed forward pass.
#include <catch2/catch.hpp>

#include "finite_differences.h"
#include "isa/common/error.h"

using namespace heddle::zoo;

namespace {

TensorId label(Tape& tape, const std::string& name, Shape shape) {
    return tape.external(name, ElementType::i32, std::move(shape), TensorRole::input);
}

}  // namespace

TEST_CASE("convolution, both layouts, strides, padding, dilation, groups, bias") {
    for (const bool last : {false, true}) {
        compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
            const TensorId x = variable(tape, "x", last ? Shape{2, 5, 4, 4} : Shape{2, 4, 5, 4}, wanted);
            const TensorId w = variable(tape, "w", last ? Shape{6, 3, 2, 2} : Shape{6, 2, 3, 2}, wanted);
            ConvolutionOptions options;
            options.strides = {2, 1};
            options.padding = {1, 1};
            options.dilation = {1, 2};
            options.groups = 2;
            options.channels_last = last;
            options.bias = variable(tape, "bias", {6}, wanted);
            return tape.convolution("y", x, w, options);
        });
    }
}

TEST_CASE("pooling by maximum and by mean") {
    for (const bool maximum : {false, true}) {
        compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
            PoolingOptions options;
            options.maximum = maximum;
            options.window = {3, 2};
            options.strides = {2, 1};
            options.padding = {1, 0};
            return tape.pooling("y", variable(tape, "x", {2, 3, 5, 4}, wanted), options);
        });
    }
}

TEST_CASE("batch normalisation of images and of rows, with running statistics") {
    for (const bool rows : {false, true}) {
        compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
            const TensorId x = variable(tape, "x", rows ? Shape{7, 3} : Shape{2, 3, 2, 2}, wanted);
            const TensorId gamma = variable(tape, "gamma", {3}, wanted);
            const TensorId beta = variable(tape, "beta", {3}, wanted);
            const std::vector<TensorId> running{
                tape.external("running_mean", ElementType::f64, {3}, TensorRole::other),
                tape.external("running_variance", ElementType::f64, {3}, TensorRole::other)};
            return tape.batch_norm("y", x, gamma, beta, running);
        });
    }
}

TEST_CASE("root mean square normalisation") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {3, 6}, wanted);
        return tape.rms_norm("y", x, variable(tape, "gamma", {6}, wanted));
    });
}

TEST_CASE("dropout passes the gradient of what it kept") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        return tape.dropout("y", variable(tape, "x", {5, 7}, wanted), 0.4, 3);
    });
}

TEST_CASE("LSTM cells, one after the other") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {2, 12}, wanted);
        const TensorId h = variable(tape, "h", {2, 12}, wanted);
        const TensorId c = variable(tape, "c", {2, 3}, wanted);
        const TensorId bias = variable(tape, "bias", {12}, wanted);
        const TensorId w = variable(tape, "w", {3, 12}, wanted);
        const auto first = tape.lstm_cell("first", x, h, c, bias);
        const auto second = tape.lstm_cell("second", x, tape.matmul("again", first.h, w), first.c, bias);
        return tape.elementwise("both", "y0 = x0 * x1", {second.h, second.c}, ElementType::f64);
    });
}

TEST_CASE("the largest of a row send their gradient back") {
    for (const std::int64_t k : {1, 3}) {
        compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
            return tape.top_k("y", variable(tape, "x", {4, 6}, wanted), k).values;
        });
    }
}

TEST_CASE("sums along an axis, and their own gradient's") {
    for (const std::int64_t axis : {0, 1, 2}) {
        compare_with_differences([=](Tape& tape, std::vector<TensorId>& wanted) {
            const TensorId x = variable(tape, "x", {3, 4, 2}, wanted);
            return tape.cumulative_sum("y", tape.cumulative_sum("sums", x, axis), 2 - axis);
        });
    }
}

TEST_CASE("rows gathered and scattered") {
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {4, 3}, wanted);
        return tape.gather("y", x, label(tape, "indices", {6}));  // some row more than once
    });
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {6, 3}, wanted);
        const TensorId updates = variable(tape, "updates", {4, 3}, wanted);
        return tape.scatter("y", x, label(tape, "positions", {4}), updates);
    });
}

TEST_CASE("several ops differentiated as one") {
    // y = x^2 by a rule that is given: 2 x dy.
    compare_with_differences([](Tape& tape, std::vector<TensorId>& wanted) {
        const TensorId x = variable(tape, "x", {3, 2}, wanted);
        const TensorId y = tape.elementwise("floor", "y0 = x0 * x0 + 0 * floor(x0)", {x}, ElementType::f64);
        tape.differentiate_as_one({{x}, y, [x](Tape& t, TensorId dy, const std::vector<bool>&) {
                                       return std::vector<std::optional<Gradient>>{
                                           Gradient{t.elementwise("dx", "y0 = 2 * x0 * x1", {x, dy}), 0}};
                                   }});
        return tape.elementwise("more", "y0 = x0 * x1", {y, x}, ElementType::f64);
    });
}

TEST_CASE("what is computed again gives the same gradients, and what is kept is not computed again") {
    for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
        std::size_t ops = 0, products = 0;
        compare_with_differences([&](Tape& tape, std::vector<TensorId>& wanted) {
            TensorId x = variable(tape, "x", {3, 4}, wanted);
            for (int i = 0; i < 2; ++i) {
                const TensorId w = variable(tape, "w", {4, 4}, wanted);
                tape.begin_segment(recompute);
                const TensorId product = tape.matmul("product", x, w);
                const TensorId seen =
                    tape.view("seen", tape.elementwise("tanh", "y0 = tanh(x0)", {product}), {4, 3});
                const TensorId dropped = tape.dropout("dropped", seen, 0.3, i);
                x = tape.elementwise("residual", "y0 = x0 + x1", {tape.view("back", dropped, {3, 4}), x});
                tape.end_segment();
            }
            const auto record = tape.trace();
            ops = record.ops.size();
            Tape copy = tape;
            copy.backward(copy.reduce("sum", x, "sum", {0, 1}, {}), wanted);
            for (std::size_t i = ops; i < copy.trace().ops.size(); ++i)
                products += copy.trace().ops[i].name == "product again";
            return x;
        });
        // Two segments of one product each.
        CHECK(products == (recompute == Recompute::full ? 2 : 0));
    }
}
