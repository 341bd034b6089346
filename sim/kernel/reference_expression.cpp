#include "sim/kernel/reference_expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "isa/common/error.h"

namespace heddle::kernel {
namespace {

using Node = ReferenceExpression::Node;
using Kind = Node::Kind;

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

std::size_t function_named(const std::string& name) {
    const auto* found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                     [&](const Function& function) { return function.name == name; });
    return static_cast<std::size_t>(found - kFunctions.begin());
}

}  // namespace

/// Recursive descent; what binds tighter lies deeper.
class ReferenceParser {
  public:
    ReferenceParser(const std::string& text, ReferenceExpression& result) : text_(text), result_(result) {}

    void parse() {
        result_.root_ = conditional();
        skip_space();
        if (at_ < text_.size()) fail("expected an operator or the end");
    }

  private:
    static constexpr int kDeepest = 200;

    [[noreturn]] void fail(const std::string& problem) const {
        const std::string found = at_ < text_.size() ? "`" + text_.substr(at_, 1) + "`" : "the end";
        throw Error("column " + std::to_string(at_ + 1) + " of `" + text_ + "`: " + problem + ", found " +
                    found);
    }

    void skip_space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    bool take(const std::string& symbol) {
        skip_space();
        if (text_.compare(at_, symbol.size(), symbol) != 0) return false;
        at_ += symbol.size();
        return true;
    }
    void expect(const std::string& symbol) {
        if (!take(symbol)) fail("expected `" + symbol + "`");
    }

    std::size_t add(Node node) {
        result_.nodes_.push_back(std::move(node));
        return result_.nodes_.size() - 1;
    }
    std::size_t apply(const std::string& function, std::vector<std::size_t> arguments) {
        return add({Kind::function, 0, function_named(function), std::move(arguments)});
    }

    std::size_t conditional() {
        if (++depth_ > kDeepest) fail("nested too deeply");
        std::size_t value = comparison();
        if (take("?")) {
            const std::size_t yes = conditional();
            expect(":");
            value = apply("?:", {value, yes, conditional()});
        }
        --depth_;
        return value;
    }

    std::size_t comparison() {
        const std::size_t left = sum();
        for (const char* symbol : {">=", "<=", "==", "!=", ">", "<"}) {
            if (take(symbol)) return apply(symbol, {left, sum()});
        }
        return left;
    }

    std::size_t sum() {
        std::size_t left = product();
        while (true) {
            if (take("+")) {
                left = apply("+", {left, product()});
            } else if (take("-")) {
                left = apply("-", {left, product()});
            } else {
                return left;
            }
        }
    }

    std::size_t product() {
        std::size_t left = unary();
        while (true) {
            const char* symbol = take("*") ? "*" : take("/") ? "/" : take("%") ? "%" : nullptr;
            if (symbol == nullptr) return left;
            left = apply(symbol, {left, unary()});
        }
    }

    std::size_t unary() {
        if (++depth_ > kDeepest) fail("nested too deeply");
        std::size_t value = 0;
        if (take("-")) {
            const std::size_t minus_one = add({Kind::number, -1, 0, {}});
            value = apply("*", {minus_one, unary()});
        } else {
            value = primary();
        }
        --depth_;
        return value;
    }

    std::size_t primary() {
        skip_space();
        if (take("(")) {
            const std::size_t value = conditional();
            expect(")");
            return value;
        }
        if (at_ < text_.size() &&
            (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.')) {
            char* end = nullptr;
            const double number = std::strtod(text_.c_str() + at_, &end);
            at_ = static_cast<std::size_t>(end - text_.c_str());
            return add({Kind::number, number, 0, {}});
        }
        return named();
    }

    std::string word() {
        skip_space();
        const std::size_t first = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
            ++at_;
        }
        if (first == at_) fail("expected a number or a name");
        return text_.substr(first, at_ - first);
    }

    std::size_t operand(const std::string& buffer, bool initial) {
        auto& operands = result_.operands_;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].buffer == buffer && operands[i].initial == initial) return i;
        }
        operands.push_back({buffer, initial});
        return operands.size() - 1;
    }

    std::size_t named() {
        std::string name = word();
        const bool initial = name == "initial" && take(".");
        if (initial) name = word();
        if (take("[")) {
            const std::size_t index = conditional();
            expect("]");
            return add({Kind::element, 0, operand(name, initial), {index}});
        }
        if (initial) fail("expected `[`");
        if (take("(")) return call(name);
        for (std::size_t i = variables_.size(); i-- > 0;) {
            if (variables_[i].first == name) return add({Kind::variable, 0, variables_[i].second, {}});
        }
        if (name == "inf") return add({Kind::number, HUGE_VAL, 0, {}});
        fail("`" + name + "` is no variable (a buffer is written `" + name + "[i]`)");
    }

    std::size_t call(const std::string& name) {
        if (name == "count") {
            const std::size_t buffer = operand(word(), false);
            expect(")");
            return add({Kind::count, 0, buffer, {}});
        }
        if (name == "sum") return sum_over();
        const std::size_t function = function_named(name);
        if (function == kFunctions.size()) fail("there is no function `" + name + "`");
        std::vector<std::size_t> arguments{conditional()};
        while (take(",")) arguments.push_back(conditional());
        expect(")");
        if (arguments.size() != kFunctions[function].arguments) {
            fail("`" + name + "` takes " + std::to_string(kFunctions[function].arguments) + " arguments");
        }
        return add({Kind::function, 0, function, std::move(arguments)});
    }

    std::size_t sum_over() {
        const std::string variable = word();
        expect(",");
        const std::size_t count = conditional();
        expect(",");
        const std::size_t slot = result_.variable_count_++;
        variables_.push_back({variable, slot});
        const std::size_t term = conditional();
        variables_.pop_back();
        expect(")");
        return add({Kind::sum, 0, slot, {count, term}});
    }

    const std::string& text_;
    ReferenceExpression& result_;
    std::size_t at_ = 0;
    int depth_ = 0;
    std::vector<std::pair<std::string, std::size_t>> variables_{{"i", 0}};
};

namespace {

struct Evaluation {
    const std::vector<Node>& nodes;
    const std::vector<ReferenceExpression::Operand>& operands;
    const std::vector<ReferenceExpression::Source>& sources;
    std::vector<double> variables;

    double value(std::size_t at) {
        const Node& node = nodes[at];
        switch (node.kind) {
            case Kind::number:
                return node.number;
            case Kind::variable:
                return variables[node.index];
            case Kind::count:
                return static_cast<double>(sources[node.index].count);
            case Kind::element:
                return element(node);
            case Kind::sum:
                return sum(node);
            case Kind::function:
                break;
        }
        std::array<double, 3> arguments{};
        for (std::size_t i = 0; i < node.children.size(); ++i) arguments[i] = value(node.children[i]);
        return kFunctions[node.index].apply(arguments.data());
    }

    double element(const Node& node) {
        const double index = std::floor(value(node.children[0]));
        const ReferenceExpression::Source& source = sources[node.index];
        if (!(index >= 0 && index < static_cast<double>(source.count))) {
            throw Error("element " + std::to_string(index) + " of buffer " + operands[node.index].buffer +
                        " does not exist: it has " + std::to_string(source.count));
        }
        return source.element(static_cast<std::uint64_t>(index));
    }

    double sum(const Node& node) {
        const double count = value(node.children[0]);
        double total = 0;
        for (double k = 0; k < count; ++k) {
            variables[node.index] = k;
            total += value(node.children[1]);
        }
        return total;
    }
};

}  // namespace

ReferenceExpression::ReferenceExpression(const std::string& text) {
    ReferenceParser(text, *this).parse();
}

double ReferenceExpression::evaluate(const std::vector<Source>& sources, std::uint64_t index) const {
    Evaluation evaluation{nodes_, operands_, sources, std::vector<double>(variable_count_)};
    evaluation.variables[0] = static_cast<double>(index);
    return evaluation.value(root_);
}

}  // namespace heddle::kernel
