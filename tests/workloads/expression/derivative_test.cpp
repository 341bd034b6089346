#include "workloads/expression/derivative.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace heddle::expression;

namespace {

std::vector<double> values(const Expression& expression, const std::vector<double>& inputs,
                           const std::vector<double>& scalars) {
    std::vector<double> outputs(expression.outputs.size());
    evaluate(expression, inputs, scalars, 3, outputs);
    return outputs;
}

}  // namespace

TEST_CASE("derivatives agree with central differences") {
    const std::vector<double> scalars{0.7, -0.2};
    for (const std::string text :
         {"y0 = x0 + x1 - x2", "y0 = x0 * x1 / x2", "y0 = max(x0, x1) + min(x1, x2)",
          "y0 = exp(x0) * log(x1)", "y0 = sqrt(x1) + rsqrt(x2)", "y0 = reciprocal(x0 * x1)",
          "y0 = tanh(x0) * sigmoid(x1)", "y0 = erf(x0 * s0) + abs(x0 - x1)",
          "y0 = x0 > x1 ? x0 * x2 : x1 * x2", "y0 = floor(x0) * x1",
          "y0 = 0.5 * x0 * (1 + tanh(0.7978845608 * (x0 + 0.044715 * x0 * x0 * x0)))",
          "y0 = s0 * x0 + x1; y1 = x2 - s1 * y0", "y0 = random(1) < 0.5 ? x0 : x1 * x1"}) {
        const Expression expression = parse(text);
        for (const std::vector<double>& point : {std::vector<double>{0.31, 1.7, 2.3}, {1.9, 0.4, 0.8}}) {
            for (unsigned input = 0; input < 3; ++input) {
                constexpr double h = 1e-6;
                std::vector<double> up = point, down = point;
                up[input] += h;
                down[input] -= h;
                const auto high = values(expression, up, scalars), low = values(expression, down, scalars);
                double expected = 0;
                std::vector<double> arguments(point.begin(), point.begin() + expression.input_count);
                for (std::size_t k = 0; k < high.size(); ++k) {
                    const double g = 1.5 - static_cast<double>(k);
                    expected += g * (high[k] - low[k]) / (2 * h);
                    arguments.push_back(g);
                }
                CAPTURE(text, input);
                CHECK(values(gradient(expression, input), arguments, scalars)[0] ==
                      Approx(expected).epsilon(1e-6).margin(1e-8));
            }
        }
    }
}

TEST_CASE("the derivative of ReLU is the textbook's, with no leftovers") {
    const Expression derived = gradient(parse("y0 = max(x0, 0)"), 0);
    CHECK(to_text(derived) == "y0 = x0 > 0 ? x1 : 0");
    CHECK(values(derived, {0.0, 5.0}, {})[0] == 0);
    CHECK(to_text(gradient(parse("y0 = x0 + x1"), 1)) == "y0 = x2");
    CHECK(to_text(renumber_inputs(parse("y0 = x2 * x0"), {1, 9, 0})) == "y0 = x0 * x1");
}
