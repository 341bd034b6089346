// Reverse-mode differentiation over the nodes of an Expression.
#include "workloads/expression/derivative.h"

#include <cmath>
#include <numbers>

#include "workloads/expression/builder.h"

namespace heddle::expression {
namespace {

class Reverse {
  public:
    explicit Reverse(const Expression& expression)
        : expression_(expression), place_(builder_.copy(expression)) {
        adjoint_.assign(expression.nodes.size(), builder_.constant(0));
        for (std::size_t k = 0; k < expression.outputs.size(); ++k) {
            add(expression.outputs[k], builder_.input(expression.input_count + static_cast<unsigned>(k)));
        }
        for (std::size_t i = expression.nodes.size(); i-- > 0;) {
            if (!builder_.is_constant(adjoint_[i], 0)) propagate(static_cast<int>(i));
        }
    }

    int adjoint_of_input(unsigned input) {
        for (std::size_t i = 0; i < expression_.nodes.size(); ++i) {
            const Node& node = expression_.nodes[i];
            if (node.op == Operator::input && node.index == input) return adjoint_[i];
        }
        return builder_.constant(0);
    }

    Expression finish(const std::vector<int>& outputs) const { return builder_.finish(outputs); }

  private:
    int make(Operator op, int a, int b = -1, int c = -1) { return builder_.simplified(op, a, b, c); }
    int times(int a, int b) { return make(Operator::multiply, a, b); }
    int number(double value) { return builder_.constant(value); }
    void add(int node, int amount) { adjoint_[node] = make(Operator::add, adjoint_[node], amount); }

    void propagate(int index) {
        const Node& node = expression_.nodes[index];
        const int g = adjoint_[index];
        const int y = place_[index];
        const int a = node.a < 0 ? -1 : place_[node.a];
        const int b = node.b < 0 ? -1 : place_[node.b];
        switch (node.op) {
            case Operator::add:
                add(node.a, g);
                add(node.b, g);
                break;
            case Operator::subtract:
                add(node.a, g);
                add(node.b, make(Operator::negate, g));
                break;
            case Operator::multiply:
                add(node.a, times(g, b));
                add(node.b, times(g, a));
                break;
            case Operator::divide:
                add(node.a, make(Operator::divide, g, b));
                add(node.b, make(Operator::negate, make(Operator::divide, times(g, y), b)));
                break;
            case Operator::maximum:
                choose(node, make(Operator::greater, a, b), g);
                break;
            case Operator::minimum:
                choose(node, make(Operator::less, a, b), g);
                break;
            case Operator::select:
                add(node.b, make(Operator::select, a, g, number(0)));
                add(node.c, make(Operator::select, a, number(0), g));
                break;
            case Operator::negate:
                add(node.a, make(Operator::negate, g));
                break;
            case Operator::absolute: {
                const int negative = make(Operator::less, a, number(0));
                const int positive = make(Operator::greater, a, number(0));
                const int rest = make(Operator::select, negative, make(Operator::negate, g), number(0));
                add(node.a, make(Operator::select, positive, g, rest));
                break;
            }
            default:
                unary(node, g, a, y);
        }
    }

    void choose(const Node& node, int condition, int g) {
        add(node.a, make(Operator::select, condition, g, number(0)));
        add(node.b, make(Operator::select, condition, number(0), g));
    }

    /// Functions of one operand: gradient times the derivative, written with the function's own value `y`
    /// where it helps.
    void unary(const Node& node, int g, int a, int y) {
        switch (node.op) {
            case Operator::exponential:
                add(node.a, times(g, y));
                break;
            case Operator::logarithm:
                add(node.a, make(Operator::divide, g, a));
                break;
            case Operator::square_root:
                add(node.a, make(Operator::divide, times(g, number(0.5)), y));
                break;
            case Operator::reciprocal_square_root:
                add(node.a, times(times(g, number(-0.5)), make(Operator::divide, y, a)));
                break;
            case Operator::reciprocal:
                add(node.a, make(Operator::negate, times(g, times(y, y))));
                break;
            case Operator::hyperbolic_tangent:
                add(node.a, times(g, make(Operator::subtract, number(1), times(y, y))));
                break;
            case Operator::sigmoid:
                add(node.a, times(g, times(y, make(Operator::subtract, number(1), y))));
                break;
            case Operator::error_function: {
                const int bell = make(Operator::exponential, make(Operator::negate, times(a, a)));
                add(node.a, times(g, times(number(2 * std::numbers::inv_sqrtpi), bell)));
                break;
            }
            default:
                break;  // leaves, floor and comparisons: no gradient
        }
    }

    const Expression& expression_;
    Builder builder_;
    std::vector<int> place_;
    std::vector<int> adjoint_;
};

}  // namespace

Expression gradients(const Expression& expression, const std::vector<unsigned>& inputs) {
    Reverse reverse(expression);
    std::vector<int> outputs;
    outputs.reserve(inputs.size());
    for (const unsigned input : inputs) outputs.push_back(reverse.adjoint_of_input(input));
    return reverse.finish(outputs);
}

Expression gradient(const Expression& expression, unsigned input) {
    return gradients(expression, {input});
}

Expression renumber_inputs(const Expression& expression, const std::vector<unsigned>& new_index) {
    Expression result = expression;
    result.input_count = 0;
    for (Node& node : result.nodes) {
        if (node.op != Operator::input) continue;
        node.index = new_index.at(node.index);
        result.input_count = std::max(result.input_count, node.index + 1);
    }
    return result;
}

}  // namespace heddle::expression
