// Convolution, pooling and the LSTM cell against numbers worked out by hand, the defining property of a
// gradient of something linear, and differences.
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/reference/execute.h"
#include "workloads/trace/shape.h"

using namespace heddle::trace;
using heddle::reference::execute;
using heddle::reference::TensorValues;

namespace {

using List = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Attributes = Attributes;
constexpr std::int64_t one = 1;
const std::string nhwc = "nhwc";
const std::string max_pooling = "max";
const std::string mean_pooling = "mean";

struct Operand {
    Shape shape;
    Numbers values;
};

std::vector<Numbers> run(OpKind kind, const std::vector<Operand>& inputs, const std::vector<Shape>& outputs,
                         const Attributes& attributes = {}) {
    Trace trace;
    Op op;
    op.kind = kind;
    op.name = "tested";
    op.attributes = attributes;
    for (const Operand& input : inputs)
        op.inputs.push_back(trace.add(Tensor{"in", ElementType::f64, input.shape}));
    for (const Shape& shape : outputs)
        op.outputs.push_back(trace.add(Tensor{"out", ElementType::f64, shape}));
    trace.add(op);
    TensorValues values(trace);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        REQUIRE(inputs[i].values.size() == values.storage(op.inputs[i]).size());
        std::copy(inputs[i].values.begin(), inputs[i].values.end(), values.storage(op.inputs[i]).begin());
    }
    execute(trace, values);
    std::vector<Numbers> results;
    for (const TensorId id : op.outputs)
        results.emplace_back(values.storage(id).begin(), values.storage(id).end());
    return results;
}

/// Small integers, so that sums are exact.
Operand random_integers(const Shape& shape, std::uint64_t stream) {
    Operand operand{shape, Numbers(static_cast<std::size_t>(element_count(shape)))};
    for (std::size_t i = 0; i < operand.values.size(); ++i)
        operand.values[i] = std::floor(heddle::expression::random_uniform(stream, i) * 9) - 4;
    return operand;
}

double dot(const Numbers& a, const Numbers& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

}  // namespace

TEST_CASE("convolution of known numbers") {
    // The product of two polynomials is the full convolution with the second reversed:
    // (1 + 2 t + 3 t^2)(4 + 5 t) = 4 + 13 t + 22 t^2 + 15 t^3.
    CHECK(run(OpKind::convolution, {{{1, 1, 3}, {1, 2, 3}}, {{1, 1, 2}, {5, 4}}}, {{1, 1, 4}},
              {{keys::convolution.padding, one}})[0] == Numbers{4, 13, 22, 15});
    // Every second result, two positions apart, with a bias.
    CHECK(run(OpKind::convolution, {{{1, 1, 6}, {1, 2, 3, 4, 5, 6}}, {{1, 1, 2}, {1, 10}}, {{1}, {100}}},
              {{1, 1, 2}},
              {{keys::convolution.strides, std::int64_t{2}},
               {keys::convolution.dilation, std::int64_t{2}}})[0] == Numbers{131, 153});
    // Uneven padding, as XLA writes it.
    CHECK(run(OpKind::convolution, {{{1, 1, 2}, {1, 2}}, {{1, 1, 2}, {1, 10}}}, {{1, 1, 3}},
              {{keys::convolution.padding, List{2, 0}}})[0] == Numbers{0, 10, 21});
    // A 2 x 2 box over a 3 x 3 picture.
    const Operand picture{{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, box{{1, 1, 2, 2}, {1, 1, 1, 1}};
    CHECK(run(OpKind::convolution, {picture, box}, {{1, 1, 2, 2}})[0] == Numbers{12, 16, 24, 28});
    // Depthwise: each channel has its own filter.
    CHECK(run(OpKind::convolution, {{{1, 2, 2}, {1, 2, 3, 4}}, {{2, 1, 1}, {10, 100}}}, {{1, 2, 2}},
              {{keys::convolution.groups, 2}})[0] == Numbers{10, 20, 300, 400});
    // A window of one position is a matrix product over the channels: [2 positions, 3] x [3, 2].
    CHECK(run(OpKind::convolution,
              {{{1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}}, {{2, 1, 1, 3}, {7, 9, 11, 8, 10, 12}}}, {{1, 2, 1, 2}},
              {{keys::convolution.layout, nhwc}})[0] == Numbers{58, 64, 139, 154});
}

TEST_CASE("gradients of a convolution are its adjoints") {
    // <dy, conv(x, w)> = <data_grad(dy, w), x> = <weight_grad(dy, x), w> for all x, w, dy: this defines them.
    const Attributes attributes{{keys::convolution.strides, List{2, 1}},
                                {keys::convolution.padding, List{1, 0, 2, 2}},
                                {keys::convolution.dilation, List{1, 2}},
                                {keys::convolution.groups, 2}};
    for (const bool last : {false, true}) {
        Attributes with = attributes;
        if (last) with.set(keys::convolution.layout, nhwc);
        const Shape x_shape = last ? Shape{2, 7, 5, 4} : Shape{2, 4, 7, 5};
        const Shape w_shape = last ? Shape{6, 3, 2, 2} : Shape{6, 2, 3, 2};
        const Shape y_shape = last ? Shape{2, 3, 7, 6} : Shape{2, 6, 3, 7};
        const Operand x = random_integers(x_shape, 1), w = random_integers(w_shape, 2),
                      dy = random_integers(y_shape, 3);
        const double product = dot(dy.values, run(OpKind::convolution, {x, w}, {y_shape}, with).front());
        CHECK(product != 0);
        CHECK(dot(x.values, run(OpKind::convolution_data_grad, {dy, w}, {x_shape}, with)[0]) == product);
        const auto dw = run(OpKind::convolution_weight_grad, {dy, x}, {w_shape, {6}}, with);
        CHECK(dot(w.values, dw[0]) == product);
        double sum = 0;
        for (const double value : dy.values) sum += value;
        double bias = 0;
        for (const double value : dw[1]) bias += value;
        CHECK(bias == sum);
    }
}

TEST_CASE("pooling of known numbers") {
    const Operand x{{1, 1, 3, 3}, {1, 9, 2, 9, 4, 3, 5, 6, 7}};
    const Attributes attributes{{keys::pooling.pooling, max_pooling}, {keys::pooling.window, List{2, 2}}};
    const auto maxima = run(OpKind::pooling, {x}, {{1, 1, 2, 2}, {1, 1, 2, 2}}, attributes);
    CHECK(maxima[0] == Numbers{9, 9, 9, 7});
    CHECK(maxima[1] == Numbers{1, 1, 3, 8});  // the first of equal maxima
    const Operand dy{{1, 1, 2, 2}, {1, 10, 100, 1000}};
    const Numbers dx{0, 11, 0, 100, 0, 0, 0, 0, 1000};
    CHECK(run(OpKind::pooling_grad, {dy, x}, {{1, 1, 3, 3}}, attributes)[0] == dx);
    CHECK(run(OpKind::pooling_grad, {dy, x, {{1, 1, 2, 2}, maxima[1]}}, {{1, 1, 3, 3}}, attributes)[0] == dx);

    // Padding counts or not; round_up adds a last window, whose part beyond the padding never counts.
    const Operand row{{1, 1, 4}, {6, 12, 18, 24}};
    Attributes mean{{keys::pooling.pooling, mean_pooling},
                    {keys::pooling.window, std::int64_t{3}},
                    {keys::pooling.strides, std::int64_t{2}},
                    {keys::pooling.padding, one}};
    CHECK(run(OpKind::pooling, {row}, {{1, 1, 2}}, mean)[0] == Numbers{6, 18});
    mean.set(keys::pooling.padding_counts, 0);
    CHECK(run(OpKind::pooling, {row}, {{1, 1, 2}}, mean)[0] == Numbers{9, 18});
    mean.set(keys::pooling.round_up, one);
    CHECK(run(OpKind::pooling, {row}, {{1, 1, 3}}, mean)[0] == Numbers{9, 18, 24});
    mean.set(keys::pooling.padding_counts, one);
    CHECK(run(OpKind::pooling, {row}, {{1, 1, 3}}, mean)[0] == Numbers{6, 18, 12});
    const Operand dy3{{1, 1, 3}, {3, 3, 4}};
    CHECK(run(OpKind::pooling_grad, {dy3}, {{1, 1, 4}}, mean)[0] == Numbers{1, 2, 1, 3});
}

TEST_CASE("an LSTM cell against its equations and differences") {
    // One cell by hand: gates sigmoid(0) = 1/2, tanh(log 2) = 3/5: c' = 1/2 * 2 + 1/2 * 3/5 = 1.3.
    const double log2 = std::log(2.0);
    const auto known =
        run(OpKind::lstm_cell, {{{1, 4}, {0, 0, 0, 0}}, {{1, 4}, {0, 0, log2, 0}}, {{1, 1}, {2}}},
            {{1, 1}, {1, 1}, {1, 4}});
    CHECK(known[1][0] == Approx(1.3).epsilon(1e-14));
    CHECK(known[0][0] == Approx(0.5 * std::tanh(1.3)).epsilon(1e-14));

    const std::int64_t rows = 2, cells = 3;
    auto scaled = [](Operand operand) {
        for (double& value : operand.values) value /= 4;
        return operand;
    };
    const Operand x = scaled(random_integers({rows, 4 * cells}, 4)),
                  h = scaled(random_integers({rows, 4 * cells}, 5)),
                  c = scaled(random_integers({rows, cells}, 6)),
                  bias = scaled(random_integers({4 * cells}, 7)),
                  dh = scaled(random_integers({rows, cells}, 8)),
                  dc = scaled(random_integers({rows, cells}, 9));
    const auto loss = [&](const Operand& gates, const Operand& old) {
        const auto y = run(OpKind::lstm_cell, {gates, h, old, bias}, {{rows, cells}, {rows, cells}});
        return dot(dh.values, y[0]) + dot(dc.values, y[1]);
    };
    const auto forward =
        run(OpKind::lstm_cell, {x, h, c, bias}, {{rows, cells}, {rows, cells}, {rows, 4 * cells}});
    const auto grad =
        run(OpKind::lstm_cell_grad, {dh, dc, c, {{rows, cells}, forward[1]}, {{rows, 4 * cells}, forward[2]}},
            {{rows, 4 * cells}, {rows, cells}});
    const auto difference = [&](const Operand& at, std::size_t i, auto evaluate) {
        Operand up = at, down = at;
        up.values[i] += 1e-5;
        down.values[i] -= 1e-5;
        return (evaluate(up) - evaluate(down)) / 2e-5;
    };
    for (std::size_t i = 0; i < x.values.size(); ++i)
        CHECK(grad[0][i] ==
              Approx(difference(x, i, [&](const Operand& v) { return loss(v, c); })).margin(1e-8));
    for (std::size_t i = 0; i < c.values.size(); ++i)
        CHECK(grad[1][i] ==
              Approx(difference(c, i, [&](const Operand& v) { return loss(x, v); })).margin(1e-8));
}

TEST_CASE("attention with dropout: weights are kept and scaled or not, and the gradient knows it") {
    const Attributes attributes{
        {keys::attention.dropout, 0.25}, {keys::attention.stream, 11}, {keys::attention.scale, 0.5}};
    const Shape shape{1, 2, 3, 2};
    const Operand q = random_integers(shape, 1), k = random_integers(shape, 2), v = random_integers(shape, 3),
                  d_out = random_integers(shape, 4);
    // With values that are all one, a row of the result is the sum of its weights after dropout.
    const Operand ones{shape, Numbers(12, 1.0)};
    const Operand zero{shape, Numbers(12, 0.0)};
    const auto kept = run(OpKind::attention, {zero, k, ones}, {shape}, attributes)[0];
    for (std::size_t row = 0; row < 6; ++row) {
        // Three keys: all in the first block of 32, keys 0 and 1 in one number, key 2 in another.
        double expected = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            const auto bits = static_cast<std::uint64_t>(
                heddle::expression::random_uniform(11, row * 8 + j / 2 * 2) * 0x1p24);
            // The lowest byte is not part of the number; look at keys that take others.
            if (j % 2 == 1) expected += (bits & 0xff) >= 64 ? 256.0 / 192 / 3 : 0;
        }
        double low = 0;  // keys 0 and 2
        for (std::size_t j = 0; j < 3; j += 2)
            low += heddle::expression::WeightDropout(0.25, 11).factor(row, 3, j) / 3;
        expected += low;
        CHECK(kept[2 * row] == Approx(expected).epsilon(1e-14));
    }
    const auto loss = [&](const Operand& a, const Operand& b, const Operand& c) {
        return dot(d_out.values, run(OpKind::attention, {a, b, c}, {shape}, attributes)[0]);
    };
    const auto forward = run(OpKind::attention, {q, k, v}, {shape, {1, 2, 3}}, attributes);
    const auto grad =
        run(OpKind::attention_grad, {d_out, q, k, v, {shape, forward[0]}, {{1, 2, 3}, forward[1]}},
            {shape, shape, shape}, attributes);
    for (std::size_t i = 0; i < 12; ++i) {
        const auto difference = [&](const Operand& at, auto evaluate) {
            Operand up = at, down = at;
            up.values[i] += 1e-5;
            down.values[i] -= 1e-5;
            return Approx((evaluate(up) - evaluate(down)) / 2e-5).margin(1e-7);
        };
        CHECK(grad[0][i] == difference(q, [&](const Operand& o) { return loss(o, k, v); }));
        CHECK(grad[1][i] == difference(k, [&](const Operand& o) { return loss(q, o, v); }));
        CHECK(grad[2][i] == difference(v, [&](const Operand& o) { return loss(q, k, o); }));
    }
}

TEST_CASE("sizes that do not fit are named") {
    const auto message = [](OpKind kind, const std::vector<Shape>& in, const std::vector<Shape>& out,
                            const Attributes& attributes) -> std::string {
        std::vector<Operand> operands;
        for (const Shape& shape : in) operands.push_back(random_integers(shape, 1));
        try {
            run(kind, operands, out, attributes);
        } catch (const heddle::Error& error) {
            return error.what();
        }
        return "no error";
    };
    const auto says = [](const std::string& text, const std::string& part) {
        INFO(text);
        CHECK(text.find(part) != std::string::npos);
    };
    const Shape x{1, 4, 5, 5}, w{6, 4, 3, 3};
    says(message(OpKind::convolution, {x, w}, {{1, 6, 5, 5}}, {}), "5 results instead of 3");
    says(message(OpKind::convolution, {x, w}, {{1, 6, 3, 3}}, {{keys::convolution.groups, 4}}), "groups");
    says(message(OpKind::convolution, {x, {6, 3, 3, 3}}, {{1, 6, 3, 3}}, {}), "3 channels instead of 4");
    says(message(OpKind::convolution, {x, w}, {{1, 6, 3, 3}}, {{keys::convolution.layout, "chwn"}}), "nhwc");
    says(message(OpKind::convolution, {x, w}, {{1, 6, 3, 3}}, {{keys::convolution.strides, List{1, 1, 1}}}),
         "3 values");
    says(message(OpKind::convolution, {x, w}, {{1, 6, 3, 3}}, {{keys::convolution.strides, std::int64_t{0}}}),
         "strides");
    says(message(OpKind::convolution, {x, {6, 4, 7, 7}}, {{1, 6, 1, 1}}, {}), "does not fit");
    says(message(OpKind::convolution, {x, w, {5}}, {{1, 6, 3, 3}}, {}), "bias");
    says(message(OpKind::pooling, {x}, {{1, 4, 4, 4}}, {{keys::pooling.window, List{2, 2}}}), "max or mean");
    says(message(OpKind::pooling, {x}, {{1, 4, 8, 8}},
                 {{keys::pooling.window, List{2, 2}},
                  {keys::pooling.pooling, max_pooling},
                  {keys::pooling.padding, std::int64_t{2}}}),
         "padding");
    says(message(OpKind::pooling_grad, {{1, 4, 4, 4}}, {x},
                 {{keys::pooling.window, List{2, 2}}, {keys::pooling.pooling, max_pooling}}),
         "needs x");
    says(message(OpKind::lstm_cell, {{2, 8}, {2, 8}, {2, 3}}, {{2, 3}, {2, 3}}, {}), "gates");
}
