// The text of an Expression is read by precedence; every error names its column.
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>

#include "isa/common/error.h"
#include "isa/common/expression_syntax.h"
#include "isa/common/nesting.h"
#include "workloads/expression/builder.h"
#include "workloads/expression/expression.h"

namespace heddle::expression {
namespace {

struct Function {
    std::string_view name;
    Operator op;
};

constexpr std::array functions{
    Function{"min", Operator::minimum},
    Function{"max", Operator::maximum},
    Function{"abs", Operator::absolute},
    Function{"exp", Operator::exponential},
    Function{"log", Operator::logarithm},
    Function{"sqrt", Operator::square_root},
    Function{"rsqrt", Operator::reciprocal_square_root},
    Function{"reciprocal", Operator::reciprocal},
    Function{"tanh", Operator::hyperbolic_tangent},
    Function{"sigmoid", Operator::sigmoid},
    Function{"erf", Operator::error_function},
    Function{"floor", Operator::floor},
    Function{"select", Operator::select},
};

constexpr std::array kInfix{
    InfixOperator{">=", 1, Grouping::none}, InfixOperator{"<=", 1, Grouping::none}, InfixOperator{"==", 1, Grouping::none},
    InfixOperator{"!=", 1, Grouping::none}, InfixOperator{">", 1, Grouping::none},  InfixOperator{"<", 1, Grouping::none},
    InfixOperator{"+", 2},                  InfixOperator{"-", 2},                  InfixOperator{"*", 3},
    InfixOperator{"/", 3},
};
/// In the order of kInfix.
constexpr std::array kInfixOperators{Operator::greater_equal, Operator::less_equal, Operator::equal, Operator::not_equal, Operator::greater,
                                     Operator::less,          Operator::add,        Operator::subtract, Operator::multiply, Operator::divide};

class Parser {
  public:
    explicit Parser(const std::string& text) : text_(text), cursor_(text) {}

    Expression parse() {
        do {
            cursor_.skip_space();
            if (cursor_.at_end()) break;
            assignment();
        } while (cursor_.take(";"));
        cursor_.skip_space();
        if (!cursor_.at_end())
            fail("unexpected '" + std::string(1, cursor_.peek()) + "'", "end the assignment with ';'");
        if (outputs_.empty()) fail("no output is assigned", "write for example y0 = x0 + x1");
        std::vector<int> outputs;
        for (const auto& [index, node] : outputs_) {
            if (index != outputs.size()) {
                fail("y" + std::to_string(outputs.size()) + " is never assigned",
                     "number outputs from y0 up");
            }
            outputs.push_back(node);
        }
        return builder_.finish(outputs);
    }

  private:
    [[noreturn]] void fail(const std::string& problem, const std::string& remedy = {}) const {
        constexpr std::size_t longest = 200;  // of what is quoted, so that the problem stays in sight
        const std::string quoted = text_.size() <= longest ? text_ : text_.substr(0, longest) + "...";
        throw Error(problem, {.key = "\"" + quoted + "\" column " + std::to_string(cursor_.at() + 1)}, remedy);
    }

    void expect(std::string_view token) {
        if (!cursor_.take(token)) {
            fail(cursor_.at_end() ? "the text ends where '" + std::string(token) + "' was expected"
                          : "expected '" + std::string(token) + "' before '" + std::string(1, cursor_.peek()) + "'");
        }
    }
    /// The number after the letter of x12, s0, y1, t3; false when `name` is not of that form. Operands are
    /// few, temporaries may be as many as a long text needs.
    static bool numbered(std::string_view name, char letter, unsigned& index) {
        const std::size_t longest = letter == 't' ? 9 : 5;
        if (name.size() < 2 || name.size() > longest || name[0] != letter) return false;
        const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), index);
        return error == std::errc{} && end == name.data() + name.size();
    }

    void assignment() {
        const std::size_t start = cursor_.at();
        const std::string_view name = cursor_.word();
        unsigned index = 0;
        const bool output = numbered(name, 'y', index);
        if (!output && !numbered(name, 't', index)) {
            cursor_.go_to(start);
            fail("an assignment must start with an output y0, y1, ... or a temporary t0, t1, ...");
        }
        expect("=");
        const int node = ternary();
        if (!(output ? outputs_ : temporaries_).try_emplace(index, node).second) {
            cursor_.go_to(start);
            fail(std::string(name) + " is assigned twice");
        }
    }

    int ternary() {
        const Nesting level(depth_,
                            [this] { fail("nested too deeply", "assign parts of it to t0, t1, ..."); });
        const int node = read_operators(
            1, [this](int least, int most) { return cursor_.take_operator(kInfix, least, most); }, [this] { return unary(); },
            [this](const InfixOperator& op, int left, int right) {
                return builder_.apply(kInfixOperators[static_cast<std::size_t>(&op - kInfix.data())], left, right);
            });
        if (!cursor_.take("?")) return node;
        const int then = ternary();
        expect(":");
        return builder_.apply(Operator::select, node, then, ternary());
    }

    int unary() {
        bool negative = false;
        while (true) {
            if (cursor_.take("-")) {
                negative = !negative;
            } else if (!cursor_.take("+")) {
                break;
            }
        }
        const int node = primary();
        return negative ? builder_.apply(Operator::negate, node) : node;
    }

    int primary() {
        if (cursor_.take("(")) {
            const int node = ternary();
            expect(")");
            return node;
        }
        if (cursor_.at_number()) return number();
        if (cursor_.at_end()) fail("the text ends where a value was expected");
        const std::size_t start = cursor_.at();
        const std::string_view name = cursor_.word();
        if (name.empty()) fail("unexpected '" + std::string(1, cursor_.peek()) + "'");
        return named(name, start);
    }

    int number() {
        double value = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + cursor_.at(), text_.data() + text_.size(), value);
        if (error != std::errc{}) fail("this is not a number that fits a double");
        cursor_.go_to(static_cast<std::size_t>(end - text_.data()));
        return builder_.constant(value);
    }

    int named(std::string_view name, std::size_t start) {
        unsigned index = 0;
        if (numbered(name, 'x', index)) return builder_.input(index);
        if (numbered(name, 's', index)) return builder_.scalar(index);
        for (const char letter : {'y', 't'}) {
            if (!numbered(name, letter, index)) continue;
            const auto& defined = letter == 'y' ? outputs_ : temporaries_;
            if (const auto found = defined.find(index); found != defined.end()) return found->second;
            cursor_.go_to(start);
            fail(std::string(name) + " is used before it is assigned");
        }
        if (name == "inf") return builder_.constant(std::numeric_limits<double>::infinity());
        if (name == "position") return builder_.position();
        if (name == "random") return builder_.random(stream_of("random"));
        if (name == "philox") return builder_.philox(stream_of("philox"));
        for (const Function& function : functions) {
            if (function.name == name) return call(function.op);
        }
        cursor_.go_to(start);
        unknown(std::string(name));
    }

    int call(Operator op) {
        std::array<int, 3> operands{-1, -1, -1};
        expect("(");
        for (unsigned i = 0; i < operand_count(op); ++i) {
            if (i > 0) expect(",");
            operands[i] = ternary();
        }
        expect(")");
        return builder_.apply(op, operands[0], operands[1], operands[2]);
    }

    /// The number in parentheses after random or philox.
    unsigned stream_of(const std::string& function) {
        expect("(");
        cursor_.skip_space();
        unsigned stream = 0;
        const std::string_view digits = cursor_.word();
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), stream);
        if (error != std::errc{} || end != digits.data() + digits.size()) {
            fail(function + "() takes the number of its stream", "write for example " + function + "(0)");
        }
        expect(")");
        return stream;
    }

    [[noreturn]] void unknown(const std::string& name) const {
        std::vector<std::string> names{"random", "philox", "inf", "position"};
        for (const Function& function : functions) names.emplace_back(function.name);
        const std::string near = nearest_word(name, names.data(), names.size());
        fail("unknown name '" + name + "'",
             near.empty() ? "inputs are x0, x1, ..." : "did you mean " + near + "?");
    }

    const std::string& text_;
    TextCursor cursor_;
    unsigned depth_ = 0;
    Builder builder_;
    std::map<unsigned, int> outputs_;
    std::map<unsigned, int> temporaries_;
};

}  // namespace

Expression parse(const std::string& text) {
    return Parser(text).parse();
}

}  // namespace heddle::expression
