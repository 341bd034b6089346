// An Expression back to text. What is used more than once becomes a temporary, so text grows with the node
// count.
#include <charconv>
#include <cmath>

#include "workloads/expression/builder.h"
#include "workloads/expression/expression.h"

namespace heddle::expression {
namespace {

/// How tightly an operator binds: comparison and ?: 1, sums 2, products 3, anything that needs no
/// parentheses 4.
int precedence(Operator op) {
    switch (op) {
        case Operator::select:
            return 0;
        case Operator::greater:
        case Operator::greater_equal:
        case Operator::less:
        case Operator::less_equal:
        case Operator::equal:
        case Operator::not_equal:
            return 1;
        case Operator::add:
        case Operator::subtract:
            return 2;
        case Operator::multiply:
        case Operator::divide:
            return 3;
        case Operator::negate:
            return 4;
        default:
            return 5;
    }
}

const char* spelling(Operator op) {
    switch (op) {
        case Operator::add:
            return " + ";
        case Operator::subtract:
            return " - ";
        case Operator::multiply:
            return " * ";
        case Operator::divide:
            return " / ";
        case Operator::greater:
            return " > ";
        case Operator::greater_equal:
            return " >= ";
        case Operator::less:
            return " < ";
        case Operator::less_equal:
            return " <= ";
        case Operator::equal:
            return " == ";
        case Operator::not_equal:
            return " != ";
        case Operator::minimum:
            return "min";
        case Operator::maximum:
            return "max";
        case Operator::absolute:
            return "abs";
        case Operator::exponential:
            return "exp";
        case Operator::logarithm:
            return "log";
        case Operator::square_root:
            return "sqrt";
        case Operator::reciprocal_square_root:
            return "rsqrt";
        case Operator::reciprocal:
            return "reciprocal";
        case Operator::hyperbolic_tangent:
            return "tanh";
        case Operator::sigmoid:
            return "sigmoid";
        case Operator::error_function:
            return "erf";
        case Operator::floor:
            return "floor";
        default:
            return "";
    }
}

std::string number(double value) {
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

class Printer {
  public:
    explicit Printer(const Expression& expression)
        : expression_(expression), uses_(expression.nodes.size()), name_(expression.nodes.size()) {
        for (const Node& node : expression.nodes) {
            for (const int operand : {node.a, node.b, node.c}) {
                if (operand >= 0) ++uses_[operand];
            }
        }
        for (const int output : expression.outputs) ++uses_[output];
    }

    std::string print() {
        unsigned temporaries = 0;
        std::string result;
        for (std::size_t i = 0; i < expression_.nodes.size(); ++i) {
            if (uses_[i] < 2 || operand_count(expression_.nodes[i].op) == 0) continue;
            const std::string name = "t" + std::to_string(temporaries++);
            result += name + " = " + formula(static_cast<int>(i)) + "; ";
            name_[i] = name;
        }
        for (std::size_t i = 0; i < expression_.outputs.size(); ++i) {
            if (i > 0) result += "; ";
            result += "y" + std::to_string(i) + " = " + operand(expression_.outputs[i], 0);
        }
        return result;
    }

  private:
    /// The node as an operand of something that binds with `binding`.
    std::string operand(int index, int binding) const {
        if (!name_[index].empty()) return name_[index];
        const Node& node = expression_.nodes[index];
        const bool negative = node.op == Operator::constant && (node.value < 0 || std::signbit(node.value));
        const std::string text = formula(index);
        return precedence(node.op) < binding || (negative && binding > 0) ? "(" + text + ")" : text;
    }

    std::string formula(int index) const {
        const Node& node = expression_.nodes[index];
        switch (node.op) {
            case Operator::input:
                return "x" + std::to_string(node.index);
            case Operator::scalar:
                return "s" + std::to_string(node.index);
            case Operator::constant:
                return number(node.value);
            case Operator::random:
                return "random(" + std::to_string(node.index) + ")";
            case Operator::philox:
                return "philox(" + std::to_string(node.index) + ")";
            case Operator::position:
                return "position";
            case Operator::negate:
                return "-" + operand(node.a, 5);
            case Operator::select:
                return operand(node.a, 1) + " ? " + operand(node.b, 1) + " : " + operand(node.c, 1);
            default:
                break;
        }
        const int binding = precedence(node.op);
        if (binding < 5) {
            // Sums and products associate to the left; comparisons do not associate.
            return operand(node.a, binding == 1 ? 2 : binding) + spelling(node.op) +
                   operand(node.b, binding + 1);
        }
        std::string text = spelling(node.op) + ("(" + operand(node.a, 0));
        if (node.b >= 0) text += ", " + operand(node.b, 0);
        return text + ")";
    }

    const Expression& expression_;
    std::vector<unsigned> uses_;
    std::vector<std::string> name_;
};

}  // namespace

std::string to_text(const Expression& expression) {
    return Printer(expression).print();
}

}  // namespace heddle::expression
