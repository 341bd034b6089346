// Each op against numbers worked out by hand or by another formula.
#include "workloads/reference/execute.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "workloads/trace/shape.h"

using namespace heddle::trace;
using heddle::reference::execute;
using heddle::reference::TensorValues;

namespace {

struct Operand {
    Shape shape;
    std::vector<double> values = {};
    ElementType type = ElementType::f64;
};

/// Runs one op and returns its results.
std::vector<std::vector<double>> run(OpKind kind, const std::vector<Operand>& inputs,
                                     const std::vector<Operand>& outputs, const Attributes& attributes = {}) {
    Trace trace;
    Op op;
    op.kind = kind;
    op.name = "tested";
    op.attributes = attributes;
    for (const Operand& input : inputs) op.inputs.push_back(trace.add(Tensor{"in", input.type, input.shape}));
    for (const Operand& output : outputs)
        op.outputs.push_back(trace.add(Tensor{"out", output.type, output.shape}));
    trace.add(op);
    TensorValues values(trace);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto storage = values.storage(op.inputs[i]);
        REQUIRE(inputs[i].values.size() == storage.size());
        std::copy(inputs[i].values.begin(), inputs[i].values.end(), storage.begin());
    }
    execute(trace, values);
    std::vector<std::vector<double>> results;
    for (const TensorId id : op.outputs)
        results.emplace_back(values.storage(id).begin(), values.storage(id).end());
    return results;
}

using List = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
constexpr std::int64_t one = 1;

}  // namespace

TEST_CASE("matmul with transposes, accumulator and epilogue") {
    CHECK(run(OpKind::matmul, {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{3, 2}, {7, 8, 9, 10, 11, 12}}},
              {{{2, 2}}})[0] == Numbers{58, 64, 139, 154});
    CHECK(run(OpKind::matmul, {{{3, 2}, {1, 4, 2, 5, 3, 6}}, {{2, 3}, {7, 9, 11, 8, 10, 12}}}, {{{2, 2}}},
              {{keys::matmul.transpose_a, one}, {keys::matmul.transpose_b, one}})[0] ==
          Numbers{58, 64, 139, 154});
    CHECK(run(OpKind::matmul, {{{1, 2}, {1, 2}}, {{2, 2}, {1, 0, 0, 1}}, {{2}, {10, -20}}}, {{{1, 2}}})[0] ==
          Numbers{11, -18});
    CHECK(run(OpKind::matmul, {{{1, 2}, {1, 2}}, {{2, 2}, {1, 0, 0, 1}}, {{2}, {10, -20}}}, {{{1, 2}}},
              {{keys::matmul.epilogue, "y0 = max(x0 + x1, 0)"}})[0] == Numbers{11, 0});
}

TEST_CASE("elementwise broadcasts by NumPy's rules, strides and offsets address a larger storage") {
    CHECK(run(OpKind::elementwise, {{{2, 1}, {1, 2}}, {{3}, {10, 20, 30}}}, {{{2, 3}}},
              {{keys::elementwise.expression, "y0 = x0 + x1"}})[0] == Numbers{11, 21, 31, 12, 22, 32});
    // The middle columns of a 2 x 4 matrix, read in place.
    CHECK(run(OpKind::copy, {{{2, 2}, {0, 1, 2, 3, 4, 5, 6}}}, {{{2, 2}}},
              Attributes(Attributes::Map{{"input0_strides", List{4, 1}}, {"input0_offset", one}}))[0] ==
          Numbers{1, 2, 5, 6});
}

TEST_CASE("reductions") {
    const Operand x{{2, 3}, {1, -5, 2, 4, 0, 9}};
    const auto reduce = [&](const std::string& how, const List& axes, const Shape& shape) {
        return run(OpKind::reduce, {x}, {{shape}},
                   {{keys::reduce.reduction, how}, {keys::reduce.axes, axes}})[0];
    };
    CHECK(reduce("sum", {0}, {3}) == Numbers{5, -5, 11});
    CHECK(reduce("sum", {1}, {2, 1}) == Numbers{-2, 13});
    CHECK(reduce("mean", {0, 1}, {}) == Numbers{11.0 / 6});
    CHECK(reduce("max", {1}, {2}) == Numbers{2, 9});
    CHECK(reduce("min", {0}, {3}) == Numbers{1, -5, 2});
    CHECK(run(OpKind::reduce, {{{2}, {3, 4}}}, {{{}}}, {{keys::reduce.reduction, "norm2"}})[0] == Numbers{5});
    const auto both =
        run(OpKind::reduce, {x}, {{{2}}, {{2}}},
            {{keys::reduce.reduction, "max"}, {keys::reduce.axes, List{1}}, {keys::reduce.argument, one}});
    CHECK(both[1] == Numbers{2, 2});
    const auto pair = run(OpKind::reduce, {x, {{3}, {1, 0, 2}}}, {{{2}}, {{2}}},
                          {{keys::reduce.reduction, "sum"},
                           {keys::reduce.axes, List{1}},
                           {keys::reduce.expression, "y0 = x0; y1 = x0 * x1"}});
    CHECK(pair[0] == Numbers{-2, 13});
    CHECK(pair[1] == Numbers{5, 22});
    CHECK(run(OpKind::reduce, {x}, {{{}}},
              {{keys::reduce.reduction, "sum"}, {keys::reduce.expression, "y0 = x0 * x0"}})[0] ==
          Numbers{127});
}

TEST_CASE("softmax and cross-entropy of known logits") {
    const double a = std::log(2.0), b = std::log(6.0);
    const auto probabilities = run(OpKind::softmax, {{{1, 3}, {0, a, b}}}, {{{1, 3}}})[0];
    CHECK(probabilities[0] == Approx(1.0 / 9).epsilon(1e-14));
    CHECK(probabilities[2] == Approx(6.0 / 9).epsilon(1e-14));
    const auto loss = run(OpKind::softmax_cross_entropy, {{{1, 3}, {1000, 1000 + a, 1000 + b}}, {{1}, {1}}},
                          {{{1}}, {{1, 3}}});
    CHECK(loss[0][0] == Approx(std::log(4.5)).epsilon(1e-12));
    CHECK_THROWS_AS(run(OpKind::softmax_cross_entropy, {{{1, 3}, {0, 0, 0}}, {{1}, {3}}}, {{{1}}, {{1, 3}}}),
                    heddle::Error);
}

TEST_CASE("layer normalisation of a known row") {
    // Row 1, 2, 3, 6: mean 3, variance 3.5.
    const auto result =
        run(OpKind::layer_norm, {{{1, 4}, {1, 2, 3, 6}}, {{4}, {1, 1, 1, 2}}, {{4}, {0, 0, 0, 1}}},
            {{{1, 4}}, {{1}}, {{1}}}, {{keys::layer_norm.epsilon, 0.5}});
    CHECK(result[1] == Numbers{3});
    CHECK(result[2] == Numbers{0.5});
    CHECK(result[0] == Numbers{-1, -0.5, 0, 4});
}

TEST_CASE("attention: equal keys average the values, a causal mask hides the future") {
    const Operand q{{1, 1, 3, 1}, {5, 6, 7}}, k{{1, 1, 3, 1}, {0, 0, 0}}, v{{1, 1, 3, 1}, {3, 6, 9}};
    const auto full = run(OpKind::attention, {q, k, v}, {{{1, 1, 3, 1}}, {{1, 1, 3}}});
    for (const double y : full[0]) CHECK(y == Approx(6).epsilon(1e-14));
    for (const double y : full[1]) CHECK(y == Approx(std::log(3.0)).epsilon(1e-14));
    const auto causal =
        run(OpKind::attention, {q, k, v}, {{{1, 1, 3, 1}}, {{1, 1, 3}}}, {{keys::attention.causal, one}});
    CHECK(causal[0][0] == Approx(3).epsilon(1e-14));
    CHECK(causal[0][1] == Approx(4.5).epsilon(1e-14));
    CHECK(causal[0][2] == Approx(6).epsilon(1e-14));
}

TEST_CASE("lookups") {
    const Operand table{{3, 2}, {1, 2, 3, 4, 5, 6}};
    CHECK(run(OpKind::embedding, {table, {{2}, {2, 0}}}, {{{2, 2}}})[0] == Numbers{5, 6, 1, 2});
    CHECK_THROWS_AS(run(OpKind::embedding, {table, {{1}, {3}}}, {{{1, 2}}}), heddle::Error);
    CHECK_THROWS_AS(run(OpKind::embedding, {table, {{1}, {-1}}}, {{{1, 2}}}), heddle::Error);
    CHECK(run(OpKind::embedding_grad, {{{3, 2}, {1, 1, 2, 2, 4, 4}}, {{3}, {1, 1, 0}}}, {{{2, 2}}})[0] ==
          Numbers{4, 4, 3, 3});
    CHECK(run(OpKind::gather, {table, {{2}, {1, 1}}}, {{{3, 2}}}, {{keys::gather.axis, one}})[0] ==
          Numbers{2, 2, 4, 4, 6, 6});
    CHECK(run(OpKind::gather, {table, {{3}, {1, 0, 1}}}, {{{3}}},
              {{keys::gather.axis, one}, {keys::gather.along, one}})[0] == Numbers{2, 3, 6});
    CHECK(run(OpKind::scatter, {table, {{3}, {1, 0, 1}}, {{3}, {-1, -2, -3}}}, {{{3, 2}}},
              {{keys::scatter.axis, one}, {keys::scatter.along, one}})[0] == Numbers{1, -1, -2, 4, 5, -3});
    // Two index tensors: the coordinates (2, 1) and (0, 0).
    CHECK(run(OpKind::gather, {table, {{2}, {2, 0}}, {{2}, {1, 0}}}, {{{2}}})[0] == Numbers{6, 1});
    CHECK(run(OpKind::scatter, {table, {{2}, {2, 0}}, {{2}, {1, 0}}, {{2}, {-1, -2}}}, {{{3, 2}}})[0] ==
          Numbers{-2, 2, 3, 4, 5, -1});
    CHECK(run(OpKind::fill, {}, {{{3}}}, {{keys::fill.value, 2.0}, {keys::fill.step, 0.5}})[0] ==
          Numbers{2, 2.5, 3});
    CHECK(run(OpKind::scatter, {table, {{2}, {0, 0}}, {{2, 2}, {1, 1, 1, 1}}}, {{{3, 2}}},
              {{keys::scatter.accumulate, one}})[0] == Numbers{3, 4, 3, 4, 5, 6});
}

TEST_CASE("copies, concatenation, fills") {
    CHECK(run(OpKind::copy, {{{2, 3}, {1, 2, 3, 4, 5, 6}}}, {{{3, 2}}},
              {{keys::copy.permutation, List{1, 0}}})[0] == Numbers{1, 4, 2, 5, 3, 6});
    CHECK(run(OpKind::copy, {{{2}, {1.75, -1.75}}}, {{{2}, {}, ElementType::i32}})[0] == Numbers{1, -1});
    CHECK(run(OpKind::copy, {{{2}, {0, 0.5}}}, {{{2}, {}, ElementType::boolean}})[0] == Numbers{0, 1});
    CHECK(run(OpKind::copy, {{{1, 2}, {1, 2}}}, {{{2, 2}}})[0] == Numbers{1, 2, 1, 2});
    CHECK(run(OpKind::concat, {{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}}, {{{2, 3}}},
              {{keys::concat.axis, one}})[0] == Numbers{1, 3, 4, 2, 5, 6});
    CHECK(run(OpKind::fill, {}, {{{3}}}, {{keys::fill.value, 2.5}})[0] == Numbers{2.5, 2.5, 2.5});
}

TEST_CASE("nothing unknown is passed over") {
    CHECK_THROWS_AS(run(OpKind::unknown, {}, {}), heddle::Error);
    CHECK_THROWS_AS(run(OpKind::collective, {}, {}, {{keys::collective.ranks, 8}}), heddle::Error);
}

TEST_CASE("initial values are deterministic, in range and exact in narrow formats") {
    Trace trace;
    Op op;
    op.kind = OpKind::embedding;
    op.inputs = {trace.add(Tensor{"table", ElementType::bf16, {50, 30}, TensorRole::parameter}),
                 trace.add(Tensor{"ids", ElementType::i32, {200}, TensorRole::input})};
    op.outputs = {trace.add(Tensor{"rows", ElementType::bf16, {200, 30}})};
    trace.add(op);
    const auto table = heddle::reference::initial_values(trace, 0, 1);
    CHECK(table == heddle::reference::initial_values(trace, 0, 1));
    CHECK(table != heddle::reference::initial_values(trace, 0, 2));
    // sqrt(6 / 80) = 0.27: bound 0.25, steps of 2^-9.
    for (const double value : table) {
        CHECK(std::fabs(value) <= 0.25);
        CHECK(value * 512 == std::floor(value * 512));
    }
    std::vector<int> seen(50, 0);
    for (const double id : heddle::reference::initial_values(trace, 1, 1)) {
        REQUIRE(id >= 0);
        REQUIRE(id < 50);
        seen[static_cast<std::size_t>(id)] = 1;
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) > 40);
}
