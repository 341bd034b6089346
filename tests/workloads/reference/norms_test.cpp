// Norms against their definition and their gradients against differences of the forward function; dropout,
// quantisation and top-k against numbers worked out by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/reference/execute.h"

using namespace heddle::trace;
using heddle::reference::execute;
using heddle::reference::TensorValues;

namespace {

using Numbers = std::vector<double>;
using Shape = std::vector<std::int64_t>;

struct Operand {
    Shape shape;
    Numbers values = {};
    ElementType type = ElementType::f64;
};

std::vector<Numbers> run(OpKind kind, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
                         const Attributes& attributes) {
    Trace trace;
    Op op;
    op.kind = kind;
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
    std::vector<Numbers> results;
    for (const TensorId id : op.outputs) results.emplace_back(values[id].begin(), values[id].end());
    return results;
}

Numbers waves(std::size_t count, double step, double phase) {
    Numbers numbers;
    for (std::size_t i = 0; i < count; ++i)
        numbers.push_back(std::sin(step * static_cast<double>(i) + phase) + 0.3);
    return numbers;
}

struct Norm {
    OpKind forward, backward;
    Shape x, statistics;
    std::int64_t parameters;
    Attributes attributes;
    bool mean;
};

}  // namespace

TEST_CASE("gradients of norms are the derivatives of their forward functions") {
    const Norm norms[] = {
        {OpKind::rms_norm, OpKind::rms_norm_grad, {3, 7}, {3}, 7, {{keys::rms_norm.epsilon, 0.01}}, false},
        {OpKind::group_norm,
         OpKind::group_norm_grad,
         {2, 6, 3},
         {2, 2},
         6,
         {{keys::group_norm.epsilon, 0.01}, {keys::group_norm.groups, 2}},
         true},
        {OpKind::batch_norm,
         OpKind::batch_norm_grad,
         {4, 3, 2},
         {3},
         3,
         {{keys::batch_norm.epsilon, 0.01}},
         true}};
    for (const Norm& norm : norms) {
        std::size_t elements = 1;
        for (const std::int64_t extent : norm.x) elements *= static_cast<std::size_t>(extent);
        const auto parameters = static_cast<std::size_t>(norm.parameters);
        const Numbers x = waves(elements, 1.7, 0.2), dy = waves(elements, 0.9, 1.1),
                      gamma = waves(parameters, 2.3, 0.5), beta = waves(parameters, 0.4, 0.7);
        const auto forward = [&](const Numbers& at, const Numbers& scale) {
            std::vector<Operand> inputs{{norm.x, at}, {{norm.parameters}, scale}};
            std::vector<Operand> outputs{{norm.x}, {norm.statistics}};
            if (norm.mean) {
                inputs.push_back({{norm.parameters}, beta});
                outputs.push_back({norm.statistics});
            }
            return run(norm.forward, inputs, outputs, norm.attributes);
        };
        const auto loss = [&](const Numbers& at, const Numbers& scale) {
            const Numbers y = forward(at, scale)[0];
            double sum = 0;
            for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
            return sum;
        };
        const std::vector<Numbers> made = forward(x, gamma);
        std::vector<Operand> inputs{{norm.x, dy}, {norm.x, x}};
        for (std::size_t i = 1; i < made.size(); ++i) inputs.push_back({norm.statistics, made[i]});
        inputs.push_back({{norm.parameters}, gamma});
        const std::vector<Numbers> gradients =
            run(norm.backward, inputs, {{norm.x}, {{norm.parameters}}}, norm.attributes);
        const double h = 1e-5;
        INFO(name_of(norm.forward));
        const auto derivative = [&](const Numbers& around, std::size_t i, const auto& function) {
            Numbers up = around, down = around;
            up[i] += h;
            down[i] -= h;
            return (function(up) - function(down)) / (2 * h);
        };
        for (std::size_t i = 0; i < elements; ++i)
            CHECK(gradients[0][i] ==
                  Approx(derivative(x, i, [&](const Numbers& at) { return loss(at, gamma); })).margin(1e-7));
        for (std::size_t i = 0; i < parameters; ++i)
            CHECK(gradients[1][i] == Approx(derivative(gamma, i, [&](const Numbers& scale) {
                                         return loss(x, scale);
                                     })).margin(1e-7));
    }
}

TEST_CASE("batch norm keeps running statistics, the variance without bias") {
    // Two samples of two channels: 1, 3 and 10, 10.
    const auto results =
        run(OpKind::batch_norm,
            {{{2, 2}, {1, 10, 3, 10}}, {{2}, {1, 1}}, {{2}, {0, 5}}, {{2}, {8, 0}}, {{2}, {4, 1}}},
            {{{2, 2}}, {{2}}, {{2}}, {{2}}, {{2}}},
            {{keys::batch_norm.epsilon, 1.0}, {keys::batch_norm.momentum, 0.25}});
    CHECK(results[1] == Numbers{2, 10});
    CHECK(results[2][0] == Approx(1 / std::sqrt(2.0)));
    CHECK(results[0][0] == Approx(-1 / std::sqrt(2.0)));
    CHECK(results[0][1] == 5);
    CHECK(results[3] == Numbers{0.75 * 8 + 0.25 * 2, 0.25 * 10});
    CHECK(results[4] == Numbers{0.75 * 4 + 0.25 * 2, 0.75});
}

TEST_CASE("quantisation limits and rounds, top-k takes the first of equals") {
    const auto narrow = run(OpKind::quantise, {{{4}, {1.06, -900, 0.3, 100}}, {{1}, {2}}},
                            {{{4}, {}, ElementType::e4m3}, {{1}}}, {});
    CHECK(narrow[1] == Numbers{900});
    CHECK(narrow[0][1] == -448);
    CHECK(narrow[0][3] == 200);
    const auto top = run(OpKind::top_k, {{{2, 4}, {1, 5, 5, 2, 9, 9, 9, 9}}}, {{{2, 2}}, {{2, 2}}}, {});
    CHECK(top[0] == Numbers{5, 5, 9, 9});
    CHECK(top[1] == Numbers{1, 2, 0, 1});
}

TEST_CASE("sums along an axis, from either end") {
    const Operand x{{2, 3}, {1, 2, 4, 10, 20, 40}};
    const auto sums = [&](std::int64_t axis, std::int64_t reverse) {
        return run(OpKind::cumulative_sum, {x}, {Operand{{2, 3}}},
                   {{keys::cumulative_sum.axis, axis}, {keys::cumulative_sum.reverse, reverse}})[0];
    };
    CHECK(sums(1, 0) == Numbers{1, 3, 7, 10, 30, 70});
    CHECK(sums(1, 1) == Numbers{7, 6, 4, 70, 60, 40});
    CHECK(sums(0, 0) == Numbers{1, 2, 4, 11, 22, 44});
    CHECK(sums(0, 1) == Numbers{11, 22, 44, 10, 20, 40});
}
