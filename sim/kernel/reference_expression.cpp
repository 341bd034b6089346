#include "sim/kernel/reference_expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "isa/common/error.h"
#include "isa/common/expression_syntax.h"
#include "isa/common/nesting.h"

namespace heddle::kernel {
namespace {

using Step = ReferenceExpression::Step;
using Kind = Step::Kind;

struct Function {
    const char* name;  ///< operators too, under names that no text can spell
    std::size_t arguments;
    double (*apply)(const double*);
};

constexpr std::array<Function, 26> kFunctions{{
    {"min", 2, [](const double* v) { return std::fmin(v[0], v[1]); }},
    {"max", 2, [](const double* v) { return std::fmax(v[0], v[1]); }},
    {"abs", 1, [](const double* v) { return std::abs(v[0]); }},
    {"exp", 1, [](const double* v) { return std::exp(v[0]); }},
    {"log", 1, [](const double* v) { return std::log(v[0]); }},
    {"sqrt", 1, [](const double* v) { return std::sqrt(v[0]); }},
    {"tanh", 1, [](const double* v) { return std::tanh(v[0]); }},
    {"sin", 1, [](const double* v) { return std::sin(v[0]); }},
    {"cos", 1, [](const double* v) { return std::cos(v[0]); }},
    {"erf", 1, [](const double* v) { return std::erf(v[0]); }},
    {"pow", 2, [](const double* v) { return std::pow(v[0], v[1]); }},
    {"floor", 1, [](const double* v) { return std::floor(v[0]); }},
    {"ceil", 1, [](const double* v) { return std::ceil(v[0]); }},
    {"fma", 3, [](const double* v) { return std::fma(v[0], v[1], v[2]); }},
    {"+", 2, [](const double* v) { return v[0] + v[1]; }},
    {"-", 2, [](const double* v) { return v[0] - v[1]; }},
    {"*", 2, [](const double* v) { return v[0] * v[1]; }},
    {"/", 2, [](const double* v) { return v[0] / v[1]; }},
    {"%", 2, [](const double* v) { return std::fmod(v[0], v[1]); }},
    {">=", 2, [](const double* v) { return v[0] >= v[1] ? 1.0 : 0.0; }},
    {"<=", 2, [](const double* v) { return v[0] <= v[1] ? 1.0 : 0.0; }},
    {"==", 2, [](const double* v) { return v[0] == v[1] ? 1.0 : 0.0; }},
    {"!=", 2, [](const double* v) { return v[0] != v[1] ? 1.0 : 0.0; }},
    {">", 2, [](const double* v) { return v[0] > v[1] ? 1.0 : 0.0; }},
    {"<", 2, [](const double* v) { return v[0] < v[1] ? 1.0 : 0.0; }},
    {"?:", 3, [](const double* v) { return v[0] != 0 ? v[1] : v[2]; }},
}};

constexpr std::array kReferenceInfix{
    InfixOperator{">=", 1, Grouping::none}, InfixOperator{"<=", 1, Grouping::none}, InfixOperator{"==", 1, Grouping::none},
    InfixOperator{"!=", 1, Grouping::none}, InfixOperator{">", 1, Grouping::none},  InfixOperator{"<", 1, Grouping::none},
    InfixOperator{"+", 2},                  InfixOperator{"-", 2},                  InfixOperator{"*", 3},
    InfixOperator{"/", 3},                  InfixOperator{"%", 3},
};

std::size_t function_named(std::string_view name) {
    const auto* found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                     [&](const Function& function) { return function.name == name; });
    return static_cast<std::size_t>(found - kFunctions.begin());
}

}  // namespace

/// Steps come out in the order of a stack machine.
class ReferenceParser {
  public:
    ReferenceParser(const std::string& text, ReferenceExpression& result) : text_(text), cursor_(text), result_(result) {}

    void parse() {
        conditional();
        cursor_.skip_space();
        if (!cursor_.at_end()) fail("expected an operator or the end");
    }

  private:
    [[noreturn]] void fail(const std::string& problem) const {
        const std::string found = cursor_.at_end() ? "the end" : "`" + text_.substr(cursor_.at(), 1) + "`";
        throw Error("column " + std::to_string(cursor_.at() + 1) + " of `" + text_ + "`: " + problem + ", found " +
                    found);
    }

    bool take(std::string_view symbol) { return cursor_.take(symbol); }
    void expect(const std::string& symbol) {
        if (!take(symbol)) fail("expected `" + symbol + "`");
    }

    void add(const Step& step) { result_.steps_.push_back(step); }
    void apply(std::string_view function) { add({Kind::function, 0, function_named(function)}); }

    void conditional() {
        const Nesting level(depth_, [this] { fail("nested too deeply"); });
        read_operators(
            1, [this](int least, int most) { return cursor_.take_operator(kReferenceInfix, least, most); },
            [this] {
                unary();
                return true;
            },
            [this](const InfixOperator& op, bool, bool) {
                apply(op.symbol);
                return true;
            });
        if (take("?")) {
            conditional();
            expect(":");
            conditional();
            apply("?:");
        }
    }

    void unary() {
        std::size_t signs = 0;
        for (; take("-"); ++signs) add({Kind::number, -1, 0});
        primary();
        for (; signs > 0; --signs) apply("*");
    }

    void primary() {
        if (take("(")) {
            conditional();
            expect(")");
        } else if (cursor_.at_number()) {
            char* end = nullptr;
            const double number = std::strtod(text_.c_str() + cursor_.at(), &end);
            cursor_.go_to(static_cast<std::size_t>(end - text_.c_str()));
            add({Kind::number, number, 0});
        } else {
            named();
        }
    }

    std::string word() {
        cursor_.skip_space();
        const std::string_view found = cursor_.word();
        if (found.empty()) fail("expected a number or a name");
        return std::string(found);
    }

    std::size_t operand(const std::string& buffer, bool initial) {
        const auto [place, fresh] = known_.try_emplace({buffer, initial}, known_.size());
        if (fresh) result_.operands_.push_back({buffer, initial});
        return place->second;
    }

    void named() {
        std::string name = word();
        const bool initial = name == "initial" && take(".");
        if (initial) name = word();
        if (take("[")) {
            conditional();
            expect("]");
            return add({Kind::element, 0, operand(name, initial)});
        }
        if (initial) fail("expected `[`");
        if (take("(")) return call(name);
        for (std::size_t i = variables_.size(); i-- > 0;) {
            if (variables_[i].first == name) return add({Kind::variable, 0, variables_[i].second});
        }
        if (name == "inf") return add({Kind::number, HUGE_VAL, 0});
        fail("`" + name + "` is no variable (a buffer is written `" + name + "[i]`)");
    }

    void call(const std::string& name) {
        if (name == "count") {
            const std::size_t buffer = operand(word(), false);
            expect(")");
            return add({Kind::count, 0, buffer});
        }
        if (name == "sum") return sum_over();
        const std::size_t function = function_named(name);
        if (function == kFunctions.size()) fail("there is no function `" + name + "`");
        std::size_t arguments = 0;
        do {
            conditional();
            ++arguments;
        } while (take(","));
        expect(")");
        if (arguments != kFunctions[function].arguments) {
            fail("`" + name + "` takes " + std::to_string(kFunctions[function].arguments) + " arguments");
        }
        add({Kind::function, 0, function});
    }

    void sum_over() {
        const std::string variable = word();
        expect(",");
        conditional();
        expect(",");
        const std::size_t slot = result_.variable_count_++;
        variables_.push_back({variable, slot});
        const std::size_t begin = result_.steps_.size();
        add({Kind::sum_begin, 0, slot});
        conditional();
        result_.steps_[begin].other = result_.steps_.size();
        add({Kind::sum_end, 0, slot, begin});
        variables_.pop_back();
        expect(")");
    }

    const std::string& text_;
    TextCursor cursor_;
    ReferenceExpression& result_;
    unsigned depth_ = 0;
    std::map<std::pair<std::string, bool>, std::size_t> known_;  ///< operands
    std::vector<std::pair<std::string, std::size_t>> variables_{{"i", 0}};
};

namespace {

struct Evaluation {
    const std::vector<Step>& steps;
    const std::vector<ReferenceExpression::Operand>& operands;
    const std::vector<ReferenceExpression::Source>& sources;
    std::vector<double> variables;

    /// A sum that is being added up: its term stands on top of the stack when a turn ends.
    struct Turns {
        double count, total, turn;
    };
    std::vector<double> stack;
    std::vector<Turns> sums;

    double pop() {
        const double value = stack.back();
        stack.pop_back();
        return value;
    }

    double value() {
        for (std::size_t at = 0; at < steps.size(); ++at) at = perform(at);
        return stack.back();
    }

    /// Returns the step behind which it goes on.
    std::size_t perform(std::size_t at) {
        const Step& step = steps[at];
        switch (step.kind) {
            case Kind::number:
                stack.push_back(step.number);
                return at;
            case Kind::variable:
                stack.push_back(variables[step.index]);
                return at;
            case Kind::count:
                stack.push_back(static_cast<double>(sources[step.index].count));
                return at;
            case Kind::element:
                stack.back() = element(step, std::floor(stack.back()));
                return at;
            case Kind::sum_begin:
                return begin_sum(step, at);
            case Kind::sum_end:
                return end_turn(step, at);
            case Kind::function:
                break;
        }
        const Function& function = kFunctions[step.index];
        const double result = function.apply(stack.data() + (stack.size() - function.arguments));
        stack.resize(stack.size() - function.arguments);
        stack.push_back(result);
        return at;
    }

    double element(const Step& step, double index) const {
        const ReferenceExpression::Source& source = sources[step.index];
        if (!(index >= 0 && index < static_cast<double>(source.count))) {
            throw Error("element " + std::to_string(index) + " of buffer " + operands[step.index].buffer +
                        " does not exist: it has " + std::to_string(source.count));
        }
        return source.element(static_cast<std::uint64_t>(index));
    }

    std::size_t begin_sum(const Step& step, std::size_t at) {
        const double count = pop();
        if (!(0 < count)) {
            stack.push_back(0);
            return step.other;
        }
        sums.push_back({count, 0, 0});
        variables[step.index] = 0;
        return at;
    }

    std::size_t end_turn(const Step& step, std::size_t at) {
        Turns& sum = sums.back();
        sum.total += pop();
        if (++sum.turn < sum.count) {
            variables[step.index] = sum.turn;
            return step.other;
        }
        stack.push_back(sum.total);
        sums.pop_back();
        return at;
    }
};

}  // namespace

ReferenceExpression::ReferenceExpression(const std::string& text) {
    ReferenceParser(text, *this).parse();
}

double ReferenceExpression::evaluate(const std::vector<Source>& sources, std::uint64_t index) const {
    Evaluation evaluation{steps_, operands_, sources, std::vector<double>(variable_count_), {}, {}};
    evaluation.variables[0] = static_cast<double>(index);
    return evaluation.value();
}

}  // namespace heddle::kernel
