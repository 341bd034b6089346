#include "workloads/hlo/coming_turns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace heddle::hlo {

using trace::ElementType;
using Steps = ComingTurns::Steps;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Integers up to this one are numbers of the type, and of a double.
double largest_integer(ElementType type, bool is_unsigned) {
    switch (type) {
        case ElementType::i8:
            return 127;
        case ElementType::u8:
            return 255;
        case ElementType::i16:
            return is_unsigned ? 65'535 : 32'767;
        case ElementType::i32:
            return is_unsigned ? 4'294'967'295 : 2'147'483'647;
        case ElementType::i64:
        case ElementType::f64:
            return 0x1p53;
        case ElementType::f32:
            return 0x1p24;
        case ElementType::f16:
            return 0x1p11;
        case ElementType::bf16:
            return 0x1p8;
        default:
            return 0;
    }
}

/// The first turn in which `holds` says something else of a number that changes by `step` each turn.
double first_change(double number, double step, const std::function<bool(double)>& holds) {
    const bool now = holds(number);
    const double reaches_zero = std::ceil(-number / step);
    // It goes away from 0, or comes there later than turns can be counted.
    if (!(reaches_zero >= 0 && reaches_zero < 0x1p53)) return kNever;
    // Before 0, at it, and behind it: the division may be off by its last bit.
    for (double turn = std::max(1.0, reaches_zero); turn <= reaches_zero + 2; ++turn)
        if (holds(number + step * turn) != now) return turn;
    return kNever;
}

Steps sum(const Steps& a, const Steps& b, double times) {
    Steps result(std::max(a.size(), b.size()), 0);
    for (std::size_t i = 0; i < a.size(); ++i) result[i] += a[i];
    for (std::size_t i = 0; i < b.size(); ++i) result[i] += times * b[i];
    return result;
}

/// Changes in the same turns, nobody knows by how much.
Steps uneven(Steps steps) {
    for (double& step : steps)
        if (step != 0) step = std::nan("");
    return steps;
}

std::function<bool(double)> relation(const std::string& direction) {
    static const std::map<std::string, std::function<bool(double)>> relations{
        {"EQ", [](double x) { return x == 0; }}, {"NE", [](double x) { return x != 0; }},
        {"LT", [](double x) { return x < 0; }},  {"LE", [](double x) { return x <= 0; }},
        {"GT", [](double x) { return x > 0; }},  {"GE", [](double x) { return x >= 0; }}};
    const auto found = relations.find(direction);
    return found == relations.end() ? relations.at("EQ") : found->second;
}

bool is_not_negative(double number) {
    return number >= 0;
}

}  // namespace

bool changes(const Steps& steps) {
    return std::any_of(steps.begin(), steps.end(), [](double step) { return step != 0; });
}

void ComingTurns::open() {
    alike_.push_back(kNever);
}

void ComingTurns::decide(double number, const Steps& steps, const std::function<bool(double)>& holds) {
    std::optional<std::size_t> toward;  // the loop whose turns bring the change
    double turn = kNever;
    for (std::size_t loop = 0; loop < std::min(steps.size(), alike_.size()); ++loop) {
        if (steps[loop] == 0) continue;
        const double first = std::isnan(steps[loop]) ? 1 : first_change(number, steps[loop], holds);
        if (first == kNever) continue;
        // Turns of two loops bring it together: it lies elsewhere in each turn of the outer one.
        if (toward) alike_[*toward] = 1;
        toward = loop;
        turn = first;
    }
    if (toward) alike_[*toward] = std::min(alike_[*toward], turn);
}

void ComingTurns::decide(const Value& value) {
    if (value.kind == Value::Kind::number)
        decide(0, value.steps, [](double difference) { return difference == 0; });
}

Steps ComingTurns::steps_of(const Instruction& at, const std::vector<Value>& operands, const Value& result) {
    Steps all;
    for (const Value& value : operands) all = sum(all, uneven(value.steps), 1);
    if (!changes(all)) return {};
    const auto steps = [&](std::size_t i) -> const Steps& { return operands.at(i).steps; };
    const auto number = [&](std::size_t i) { return operands.at(i).number; };
    const auto scaled = [&](std::size_t i, double by) { return sum({}, steps(i), by); };
    // Which of two is the larger; from then on its steps count.
    const auto larger = [&](std::size_t a, std::size_t b) {
        decide(number(a) - number(b), sum(steps(a), steps(b), -1), is_not_negative);
        return number(a) >= number(b) ? a : b;
    };
    const std::string& opcode = at.opcode;
    if (opcode == "compare") {
        const auto direction = at.attributes.find("direction");
        decide(number(0) - number(1), sum(steps(0), steps(1), -1),
               relation(direction == at.attributes.end() ? "" : direction->second));
        return {};
    }
    if (opcode == "convert" && at.shape.type == ElementType::boolean) {
        decide(number(0), steps(0), [](double x) { return x != 0; });
        return {};
    }
    if (opcode == "convert") return within_type(at, result, steps(0));
    if (opcode == "add") return within_type(at, result, sum(steps(0), steps(1), 1));
    if (opcode == "subtract") return within_type(at, result, sum(steps(0), steps(1), -1));
    if (opcode == "negate") return within_type(at, result, scaled(0, -1));
    if (opcode == "multiply" && !changes(steps(0))) return within_type(at, result, scaled(1, number(0)));
    if (opcode == "multiply" && !changes(steps(1))) return within_type(at, result, scaled(0, number(1)));
    if (opcode == "select" && !changes(steps(0))) return steps(number(0) != 0 ? 1 : 2);
    if (opcode == "maximum") return steps(larger(0, 1));
    if (opcode == "minimum") return steps(larger(0, 1) == 0 ? 1 : 0);
    if (opcode == "clamp") {  // least, number, most
        const std::size_t least = larger(1, 0);
        return steps(larger(least, 2) == least ? 2 : least);
    }
    return uneven(all);
}

/// As long as the result stays an integer that its type holds.
Steps ComingTurns::within_type(const Instruction& at, const Value& result, Steps steps) {
    const double most = largest_integer(at.shape.type, at.shape.is_unsigned);
    const double least = at.shape.is_unsigned || at.shape.type == ElementType::u8 ? 0 : -most;
    const auto fits = [&](double x) { return x == std::floor(x) && x >= least && x <= most; };
    bool even = fits(result.number);
    for (const double step : steps) even = even && step == std::floor(step) && std::abs(step) <= 0x1p53;
    if (!even) return uneven(std::move(steps));
    decide(result.number - most, steps, [](double x) { return x <= 0; });
    decide(result.number - least, steps, is_not_negative);
    return steps;
}

}  // namespace heddle::hlo
