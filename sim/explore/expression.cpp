#include "sim/explore/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "isa/common/error.h"
#include "isa/common/expression_syntax.h"
#include "isa/common/nesting.h"
#include "sim/explore/axis.h"

namespace heddle::explore {
namespace {

constexpr Dimension kNone{}, kSeconds{1, 0, 0, 0, 0}, kBytes{0, 1, 0, 0, 0}, kJoules{0, 0, 1, 0, 0},
    kCycles{0, 0, 0, 1, 0}, kArea{0, 0, 0, 0, 1}, kHertz{-1, 0, 0, 0, 0}, kBandwidth{-1, 1, 0, 0, 0},
    kPerCycle{0, 1, 0, -1, 0}, kWatts{-1, 0, 1, 0, 0};

struct Unit {
    const char* symbol;
    double factor;
    Dimension dimension;
};

constexpr double kKibi = 1024;
constexpr double kLargestExponent = 1000;
// Longer symbols before their beginnings.
constexpr Unit kUnits[] = {
    {"KiB/cycle", kKibi, kPerCycle},
    {"B/cycle", 1, kPerCycle},
    {"TiB/s", kKibi* kKibi* kKibi* kKibi, kBandwidth},
    {"GiB/s", kKibi* kKibi* kKibi, kBandwidth},
    {"MiB/s", kKibi* kKibi, kBandwidth},
    {"KiB/s", kKibi, kBandwidth},
    {"TB/s", 1e12, kBandwidth},
    {"GB/s", 1e9, kBandwidth},
    {"MB/s", 1e6, kBandwidth},
    {"kB/s", 1e3, kBandwidth},
    {"Tb/s", 1e12 / 8, kBandwidth},
    {"Gb/s", 1e9 / 8, kBandwidth},
    {"Mb/s", 1e6 / 8, kBandwidth},
    {"B/s", 1, kBandwidth},
    {"TiB", kKibi* kKibi* kKibi* kKibi, kBytes},
    {"GiB", kKibi* kKibi* kKibi, kBytes},
    {"MiB", kKibi* kKibi, kBytes},
    {"KiB", kKibi, kBytes},
    {"TB", 1e12, kBytes},
    {"GB", 1e9, kBytes},
    {"MB", 1e6, kBytes},
    {"kB", 1e3, kBytes},
    {"B", 1, kBytes},
    {"GHz", 1e9, kHertz},
    {"MHz", 1e6, kHertz},
    {"kHz", 1e3, kHertz},
    {"Hz", 1, kHertz},
    {"cycles", 1, kCycles},
    {"cycle", 1, kCycles},
    {"mm2", 1, kArea},
    {"ps", 1e-12, kSeconds},
    {"ns", 1e-9, kSeconds},
    {"us", 1e-6, kSeconds},
    {"ms", 1e-3, kSeconds},
    {"s", 1, kSeconds},
    {"mW", 1e-3, kWatts},
    {"kW", 1e3, kWatts},
    {"W", 1, kWatts},
    {"pJ", 1e-12, kJoules},
    {"nJ", 1e-9, kJoules},
    {"uJ", 1e-6, kJoules},
    {"mJ", 1e-3, kJoules},
    {"J", 1, kJoules},
    {"%", 0.01, kNone},
    {"$", 1, kNone},
};

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

constexpr int kPower = 3;
constexpr std::array kFormulaInfix{InfixOperator{"+", 1}, InfixOperator{"-", 1}, InfixOperator{"*", 2}, InfixOperator{"/", 2},
                                   InfixOperator{"^", kPower, Grouping::right}};

/// Powers beyond are those of nothing that a parameter has.
int limited(std::int64_t power) {
    constexpr std::int64_t kMost = 1 << 30;
    return static_cast<int>(std::clamp(power, -kMost, kMost));
}

Dimension combined(const Dimension& a, const Dimension& b, int sign) {
    Dimension result;
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = limited(std::int64_t{a[i]} + std::int64_t{sign} * b[i]);
    return result;
}

}  // namespace

Dimension dimension_of(models::Quantity quantity) {
    using models::Quantity;
    switch (quantity) {
        case Quantity::frequency:
            return kHertz;
        case Quantity::bytes:
            return kBytes;
        case Quantity::bandwidth:
            return kBandwidth;
        case Quantity::per_cycle:
            return kPerCycle;
        case Quantity::cycles:
            return kCycles;
        case Quantity::time:
            return kSeconds;
        case Quantity::power:
            return kWatts;
        case Quantity::energy:
            return kJoules;
        case Quantity::count:
        case Quantity::ratio:
            break;
    }
    return kNone;
}

std::string name_of(const Dimension& dimension) {
    if (dimension == kNone) return "a bare number";
    if (dimension == kArea) return "mm2";
    for (const char* symbol : {"Hz", "B/s", "B/cycle", "B", "cycles", "s", "W", "J"}) {
        for (const Unit& unit : kUnits)
            if (std::string(unit.symbol) == symbol && unit.dimension == dimension) return symbol;
    }
    const char* names[] = {"s", "B", "J", "cycle", "mm2"};
    std::string text;
    for (std::size_t i = 0; i < dimension.size(); ++i)
        if (dimension[i] != 0)
            text += fmt::format("{}{}^{}", text.empty() ? "" : " ", names[i], dimension[i]);
    return text;
}

/// Nodes come out in the order of a stack machine.
class ExpressionParser {
  public:
    ExpressionParser(Expression& result) : result_(result), text_(result.text_), cursor_(text_) {}

    void parse() {
        sum();
        cursor_.skip_space();
        if (!cursor_.at_end()) fail();
    }

  private:
    using Kind = Expression::Kind;

    [[noreturn]] void fail() const {
        const std::string rest = trimmed(std::string(cursor_.rest()));
        throw Error(
            rest.empty() ? "`" + text_ + "` ends too early" : "`" + text_ + "`: cannot read `" + rest + "`",
            {result_.option_, 0, ""}, "write for example `hbm.stacks * 670 GB/s`");
    }
    [[noreturn]] void too_deep() const {
        throw Error("`" + text_ + "` is nested too deeply", {result_.option_, 0, ""},
                    "parentheses, signs and powers nest at most " + std::to_string(kDeepestNesting) + " deep");
    }
    bool take(std::string_view symbol) { return cursor_.take(symbol); }
    void emit(Kind kind) { result_.nodes_.push_back({kind, {}, ""}); }

    void sum() { operators(1); }
    bool operators(int least) {
        static constexpr std::array kKinds{Kind::add, Kind::subtract, Kind::multiply, Kind::divide, Kind::power};  // as in kFormulaInfix
        return read_operators(
            least,
            [this](int low, int high) {
                const InfixOperator* const found = cursor_.take_operator(kFormulaInfix, low, high);
                if (found != nullptr && ++depth_ > kDeepestNesting) too_deep();  // a level for as long as its second operand is read
                return found;
            },
            [this] { return operand(); },
            [this](const InfixOperator& op, bool, bool) {
                --depth_;
                emit(kKinds[static_cast<std::size_t>(&op - kFormulaInfix.data())]);
                return true;
            });
    }
    bool operand() {
        const Nesting level(depth_, [this] { too_deep(); });
        if (take("-")) {
            operators(kPower);
            emit(Kind::negate);
        } else if (take("(")) {
            sum();
            if (!take(")")) fail();
        } else if (cursor_.at_number()) {
            number();
        } else {
            word();
        }
        return true;
    }
    void number() {
        double number = 0;
        const auto [end, failure] = std::from_chars(text_.data() + cursor_.at(), text_.data() + text_.size(), number);
        if (failure != std::errc{} || !std::isfinite(number)) fail();
        cursor_.go_to(static_cast<std::size_t>(end - text_.data()));
        const std::size_t before = cursor_.at();
        cursor_.skip_space();
        const std::size_t at = cursor_.at();
        for (const Unit& unit : kUnits) {
            const std::string symbol = unit.symbol;
            if (text_.compare(at, symbol.size(), symbol) != 0) continue;
            const std::size_t after = at + symbol.size();
            if (after < text_.size() && is_word(text_[after]) && is_word(symbol.back())) continue;
            cursor_.go_to(after);
            result_.nodes_.push_back({Kind::number, {number * unit.factor, unit.dimension}, ""});
            return;
        }
        if (std::isalpha(static_cast<unsigned char>(cursor_.peek())) != 0) {
            throw Error("`" + text_ + "`: there is no unit `" + std::string(cursor_.word(".")) + "`",
                        {result_.option_, 0, ""},
                        "units are those of hardware files: MHz, MiB, GB/s, W, us, %; and mm2");
        }
        cursor_.go_to(before);
        result_.nodes_.push_back({Kind::number, {number, kNone}, ""});
    }
    void word() {
        const std::size_t begin = cursor_.at();
        const std::string word(cursor_.word("."));
        if (word.empty() || std::isalpha(static_cast<unsigned char>(word[0])) == 0) {
            cursor_.go_to(begin);
            fail();
        }
        if (!take("(")) {
            result_.nodes_.push_back({Kind::name, {}, word});
            return;
        }
        const bool two = word == "min" || word == "max";
        const Kind kind = word == "min"     ? Kind::minimum
                          : word == "max"   ? Kind::maximum
                          : word == "round" ? Kind::round
                          : word == "floor" ? Kind::floor
                          : word == "ceil"  ? Kind::ceil
                          : word == "sqrt"  ? Kind::sqrt
                                            : Kind::name;
        if (kind == Kind::name)
            throw Error("`" + text_ + "`: there is no function `" + word + "`", {result_.option_, 0, ""},
                        "known: min, max, round, floor, ceil, sqrt");
        sum();
        if (two) {
            if (!take(",")) fail();
            sum();
        }
        if (!take(")")) fail();
        emit(kind);
    }

    Expression& result_;
    const std::string& text_;
    TextCursor cursor_;
    unsigned depth_ = 0;
};

Expression Expression::parse(const std::string& text, const std::string& option) {
    Expression result;
    result.text_ = trimmed(text);
    result.option_ = option;
    ExpressionParser(result).parse();
    return result;
}

Value Expression::evaluate(const Lookup& lookup, const std::vector<std::string>& known) const {
    std::vector<Value> stack;
    const auto unlike = [&](const Value& a, const Value& b) {
        throw Error("`" + text_ + "` puts " + explore::name_of(a.dimension) + " beside " +
                        explore::name_of(b.dimension),
                    {option_, 0, ""}, "give numbers their units");
    };
    for (const Node& node : nodes_) {
        if (node.kind == Kind::number) {
            stack.push_back(node.value);
            continue;
        }
        if (node.kind == Kind::name) {
            const std::optional<Value> value = lookup(node.name);
            if (!value) {
                const std::string near = nearest_word(node.name, known.data(), known.size());
                throw Error("`" + text_ + "`: unknown parameter `" + node.name + "`", {option_, 0, ""},
                            near.empty() ? "`heddle hardware describe` lists every parameter"
                                         : "did you mean `" + near + "`?");
            }
            stack.push_back(*value);
            continue;
        }
        Value b = stack.back();
        const bool two = node.kind == Kind::add || node.kind == Kind::subtract ||
                         node.kind == Kind::multiply || node.kind == Kind::divide ||
                         node.kind == Kind::power || node.kind == Kind::minimum || node.kind == Kind::maximum;
        if (two) stack.pop_back();
        Value& a = stack.back();
        switch (node.kind) {
            case Kind::add:
            case Kind::subtract:
            case Kind::minimum:
            case Kind::maximum:
                if (a.dimension != b.dimension) unlike(a, b);
                a.number = node.kind == Kind::add        ? a.number + b.number
                           : node.kind == Kind::subtract ? a.number - b.number
                           : node.kind == Kind::minimum  ? std::min(a.number, b.number)
                                                         : std::max(a.number, b.number);
                break;
            case Kind::multiply:
                a = {a.number * b.number, combined(a.dimension, b.dimension, 1)};
                break;
            case Kind::divide:
                a = {a.number / b.number, combined(a.dimension, b.dimension, -1)};
                break;
            case Kind::power: {
                if (b.dimension != kNone) unlike(b, {});
                a.number = std::pow(a.number, b.number);
                if (a.dimension == kNone) break;
                if (!(std::abs(b.number) <= kLargestExponent) || b.number != std::floor(b.number))
                    unlike(a, {});
                for (int& part : a.dimension) part = limited(std::int64_t{part} * static_cast<int>(b.number));
                break;
            }
            case Kind::negate:
                a.number = -a.number;
                break;
            case Kind::round:
                a.number = std::round(a.number);
                break;
            case Kind::floor:
                a.number = std::floor(a.number);
                break;
            case Kind::ceil:
                a.number = std::ceil(a.number);
                break;
            case Kind::sqrt:
                if (a.dimension != kNone) unlike(a, {});
                a.number = std::sqrt(a.number);
                break;
            case Kind::number:
            case Kind::name:
                break;
        }
    }
    return stack.back();
}

Constraint Constraint::parse(const std::string& text) {
    for (const char* comparison : {"<=", ">=", "==", "<", ">"}) {
        const std::size_t at = text.find(comparison);
        if (at == std::string::npos) continue;
        const std::size_t length = std::string(comparison).size();
        return {Expression::parse(text.substr(0, at), "--constraint"),
                Expression::parse(text.substr(at + length), "--constraint"), comparison, trimmed(text)};
    }
    throw Error("`" + text + "` compares nothing", {"--constraint", 0, ""},
                "write for example `--constraint 'area.total <= 814 mm2'`");
}

double Constraint::violation(const Lookup& lookup, const std::vector<std::string>& known) const {
    const Value a = left.evaluate(lookup, known), b = right.evaluate(lookup, known);
    if (a.dimension != b.dimension)
        throw Error("`" + text + "` compares " + name_of(a.dimension) + " with " + name_of(b.dimension),
                    {"--constraint", 0, ""}, "give numbers their units");
    constexpr double kSmallest = 1e-9;
    const bool holds = comparison == "<="   ? a.number <= b.number
                       : comparison == ">=" ? a.number >= b.number
                       : comparison == "<"  ? a.number < b.number
                       : comparison == ">"  ? a.number > b.number
                                            : a.number == b.number;
    if (holds) return 0;
    const double scale = std::max({std::abs(a.number), std::abs(b.number), kSmallest});
    const double part = std::abs(a.number - b.number) / scale;
    return std::isfinite(part) ? std::max(part, kSmallest) : 1;
}

Link Link::parse(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw Error("`" + text + "` links nothing", {"--link", 0, ""},
                    "write for example `--link 'hbm.bandwidth = hbm.stacks * 670 GB/s'`");
    return {trimmed(text.substr(0, equals)), Expression::parse(text.substr(equals + 1), "--link"),
            trimmed(text)};
}

}  // namespace heddle::explore
