// Loops and branches. A step of a model knows how often it loops (lax.scan): the counter is a number while
// the program is read, so loops are unrolled. What depends on data stays unknown.
#include "workloads/hlo/converter.h"

namespace heddle::hlo {
namespace {

constexpr std::size_t kMostIterations = 65'536;

}  // namespace

Value Converter::loop(const Instruction& at, Operands& operands, Scope& scope) {
    const Computation& condition = computation_of(at, "condition");
    const Computation& body = computation_of(at, "body");
    // What is carried is read in every iteration; constants stay numbers.
    const std::function<void(Value&)> settled = [&](Value& value) {
        for (Value& element : value.elements) settled(element);
        if (value.kind == Value::Kind::pending) written(value, at.name);
    };
    Operands state = operands;
    for (Value& value : state) settled(value);
    for (std::size_t iteration = 0; iteration < kMostIterations; ++iteration) {
        const std::vector<Value> more = evaluate(condition, state, &scope);
        if (more.size() != 1) fail(at, "has a condition that is not one value");
        if (more[0].kind != Value::Kind::number)
            return unknown(at, state, "how often it loops depends on data");
        if (more[0].number == 0) return state.size() == 1 ? state[0] : Value::of(std::move(state));
        state = evaluate(body, state, &scope);
        if (state.size() != operands.size()) fail(at, "has a body with other results than it carries");
    }
    return unknown(at, state, "loops more than " + std::to_string(kMostIterations) + " times");
}

Value Converter::conditional(const Instruction& at, Operands& operands, Scope& scope) {
    if (operands.empty()) fail(at, "has no condition");
    if (operands[0].kind != Value::Kind::number) return unknown(at, operands, "its branch depends on data");
    std::vector<std::string> branches;
    for (const char* key : {"true_computation", "false_computation"})
        if (at.attributes.contains(key)) branches.push_back(key);
    for (std::size_t i = 0; at.attributes.contains("branch" + std::to_string(i)); ++i)
        branches.push_back("branch" + std::to_string(i));
    if (branches.empty()) return unknown(at, operands, "its branches are not given");
    // A predicate takes the first branch when it holds, an index counts from 0 and ends in the last.
    const bool predicate = operands[0].type == trace::ElementType::boolean;
    const double number = operands[0].number;
    std::size_t taken = branches.size() - 1;
    if (predicate) {
        taken = number != 0 ? 0 : 1;
    } else if (number >= 0 && number < static_cast<double>(taken)) {
        taken = static_cast<std::size_t>(number);
    }
    Operands arguments;
    if (taken + 1 < operands.size()) arguments.push_back(operands[taken + 1]);
    std::vector<Value> results = evaluate(computation_of(at, branches.at(taken)), arguments, &scope);
    return results.size() == 1 ? results[0] : Value::of(std::move(results));
}

}  // namespace heddle::hlo
