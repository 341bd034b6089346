// An Expression back to text. What is used more than once becomes a temporary, so text grows with the node
// count; so does what would nest deeper than the parser follows.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "isa/common/nesting.h"
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

/// Puts the text of every node together from those of its operands, in definition order and without
/// recursion: a sum of a hundred thousand terms is as long a chain of nodes.
class Printer {
  public:
    explicit Printer(const Expression& expression)
        : expression_(expression), uses_(expression.nodes.size()), printed_(expression.nodes.size()) {
        for (const Node& node : expression.nodes) {
            for (const int operand : {node.a, node.b, node.c}) {
                if (operand >= 0) ++uses_[operand];
            }
        }
        for (const int output : expression.outputs) ++uses_[output];
    }

    std::string print() {
        std::string result;
        unsigned temporaries = 0;
        for (std::size_t i = 0; i < expression_.nodes.size(); ++i) {
            const Node& node = expression_.nodes[i];
            Text text = formula(node);
            const bool leaf = operand_count(node.op) == 0;
            if (!leaf && (uses_[i] > 1 || text.levels >= deepest)) {
                const std::string name = "t" + std::to_string(temporaries++);
                result += name + " = " + text.words + "; ";
                printed_[i] = {name, 0, true};
            } else {
                text.stays = leaf;
                printed_[i] = std::move(text);
            }
        }
        for (std::size_t i = 0; i < expression_.outputs.size(); ++i) {
            if (i > 0) result += "; ";
            result += "y" + std::to_string(i) + " = " + operand(expression_.outputs[i], 0).words;
        }
        return result;
    }

  private:
    struct Text {
        std::string words;
        unsigned levels = 0;  ///< how deep the parser finds it nested
        bool stays = false;   ///< leaves and names of temporaries; anything else is used once, and moved
    };

    /// A text that is nested so is given a name: an operand of ?: adds two levels, the assignment one.
    static constexpr unsigned deepest = kDeepestNesting - 3;

    /// The node as an operand of something that binds with `binding`.
    Text operand(int index, int binding) {
        Text& printed = printed_[index];
        const Node& node = expression_.nodes[index];
        const bool name = printed.stays && operand_count(node.op) != 0;
        Text text = printed.stays ? printed : std::move(printed);
        const bool negative = node.op == Operator::constant && (node.value < 0 || std::signbit(node.value));
        if (!name && (precedence(node.op) < binding || (negative && binding > 0))) {
            text.words.insert(0, 1, '(');
            text.words += ')';
            ++text.levels;
        }
        return text;
    }

    static void append(Text& text, const char* between, const Text& next, unsigned levels = 0) {
        text.words += between;
        text.words += next.words;
        text.levels = std::max(text.levels, next.levels + levels);
    }

    Text formula(const Node& node) {
        switch (node.op) {
            case Operator::input:
                return {"x" + std::to_string(node.index)};
            case Operator::scalar:
                return {"s" + std::to_string(node.index)};
            case Operator::constant:
                return {number(node.value)};
            case Operator::random:
                return {"random(" + std::to_string(node.index) + ")"};
            case Operator::philox:
                return {"philox(" + std::to_string(node.index) + ")"};
            case Operator::position:
                return {"position"};
            case Operator::negate: {
                Text text{"-"};
                append(text, "", operand(node.a, 5));
                return text;
            }
            case Operator::select: {
                Text text = operand(node.a, 1);
                append(text, " ? ", operand(node.b, 1), 1);
                append(text, " : ", operand(node.c, 1), 1);
                return text;
            }
            default:
                break;
        }
        const int binding = precedence(node.op);
        if (binding < 5) {
            // Sums and products associate to the left; comparisons do not associate.
            Text text = operand(node.a, binding == 1 ? 2 : binding);
            append(text, spelling(node.op), operand(node.b, binding + 1));
            return text;
        }
        Text text{spelling(node.op)};
        append(text, "(", operand(node.a, 0), 1);
        if (node.b >= 0) append(text, ", ", operand(node.b, 0), 1);
        text.words += ')';
        return text;
    }

    const Expression& expression_;
    std::vector<unsigned> uses_;
    std::vector<Text> printed_;
};

}  // namespace

std::string to_text(const Expression& expression) {
    return Printer(expression).print();
}

}  // namespace heddle::expression
