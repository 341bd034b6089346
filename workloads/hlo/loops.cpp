// Loops and branches. A step of a model knows how often it loops (lax.scan): the counter is a number while
// the program is read. Short loops are written out, turn by turn. Of a long loop a turn that does the same as
// the one before it, and that decides everything as those after it do, is held once for all of them
// (coming_turns.h, workloads/trace/turns.h). What depends on data, or is too much, stays unknown, and its
// name says which turns are missing.
#include <algorithm>
#include <cmath>

#include "workloads/hlo/converter.h"

namespace heddle::hlo {
namespace {

/// Turns that are evaluated one by one, at most.
constexpr double kMostEvaluated = 65'536;
/// Loops of no more turns are read as if they were written out: elementwise operations of several turns may
/// become one. In longer ones each turn writes what it hands to the next, as XLA does: it is settled.
constexpr double kMostTogether = 64;
/// More turns than that are not counted.
constexpr double kMostCounted = 0x1p52;

bool counts(const Value& value) {
    return value.kind == Value::Kind::number;
}

double step_of(const Value& value, std::size_t loop) {
    return loop < value.steps.size() ? value.steps[loop] : 0;
}

/// The same numbers so many turns of the loop later, without its steps.
void go_on_by(Value& value, const Value& stepped, std::size_t loop, double turns) {
    for (std::size_t i = 0; i < std::min(value.elements.size(), stepped.elements.size()); ++i)
        go_on_by(value.elements[i], stepped.elements[i], loop, turns);
    if (!counts(value)) return;
    if (turns > 0) value.number += turns * step_of(stepped, loop);
    value.steps.resize(std::min(value.steps.size(), loop));
}

std::string turn_text(double turn) {
    return std::to_string(static_cast<std::uint64_t>(turn));
}

}  // namespace

void Converter::settle(Value& value, const std::string& name) {
    for (Value& element : value.elements) settle(element, name);
    if (value.kind == Value::Kind::pending) written(value, name);
}

bool Converter::may_be_written_out(const Turns& turns) const {
    const auto fits = [&](std::size_t so_far, std::size_t each, std::size_t most) {
        return static_cast<double>(so_far) + turns.left * static_cast<double>(each) <=
               static_cast<double>(most) / 2;
    };
    return static_cast<double>(turns.evaluated) + turns.left <= kMostEvaluated &&
           fits(evaluated_, turns.last_instructions, kMostInstructions) &&
           fits(writer_.ops(), turns.last_ops, kMostOps);
}

/// What comes behind the loop has a quarter of all that a program may come to.
bool Converter::is_too_much(const Turns& turns) const {
    return static_cast<double>(turns.evaluated) >= kMostEvaluated || evaluated_ > kMostInstructions / 4 * 3 ||
           writer_.ops() > kMostOps / 4 * 3;
}

Converter::Operands Converter::with_steps(const Operands& state, const Turns& turns) const {
    const std::size_t loop = coming_.depth() - 1;
    const std::function<void(Value&, const Value&)> add = [&](Value& now, const Value& before) {
        for (std::size_t i = 0; i < std::min(now.elements.size(), before.elements.size()); ++i)
            add(now.elements[i], before.elements[i]);
        if (!counts(now)) return;
        bool same = counts(before);  // but for this loop
        for (std::size_t outer = 0; outer < loop; ++outer)
            same = same && step_of(before, outer) == step_of(now, outer);
        if (same && (now.number == before.number || (std::isnan(now.number) && std::isnan(before.number))))
            return;
        const double step = now.number - before.number;
        const bool even = same && step == std::floor(step) && now.number == std::floor(now.number) &&
                          std::abs(now.number) <= 0x1p53;
        now.steps.resize(loop + 1, 0);
        now.steps[loop] = even ? step : std::nan("");
    };
    Operands stepped = state;
    for (std::size_t i = 0; i < std::min(state.size(), turns.before.size()); ++i)
        add(stepped[i], turns.before[i]);
    return stepped;
}

void Converter::settle_uneven(Value& now, Value& stepped, const std::string& name) {
    for (std::size_t i = 0; i < now.elements.size(); ++i)
        settle_uneven(now.elements[i], stepped.elements[i], name);
    if (!counts(now) || !is_floating(now.type) || !std::isnan(step_of(stepped, coming_.depth() - 1)))
        return;
    written(now, name);
    stepped = now;
}

bool Converter::go_on(const Value& from, const Value& to) const {
    bool even = from.elements.size() == to.elements.size();
    for (std::size_t i = 0; even && i < from.elements.size(); ++i)
        even = go_on(from.elements[i], to.elements[i]);
    if (!even || !counts(from)) return even;
    const double step = step_of(from, coming_.depth() - 1);
    const bool same = from.number == to.number || (std::isnan(from.number) && std::isnan(to.number));
    even = counts(to) && (step == 0 ? same : to.number == from.number + step);
    for (std::size_t loop = 0; loop < coming_.depth(); ++loop)
        even = even && step_of(from, loop) == step_of(to, loop);  // never so of steps that are not even
    return even;
}

std::vector<Converter::Form> Converter::forms_of(const Operands& state) const {
    std::vector<Form> forms;
    std::vector<trace::TensorId> tensors;
    const std::function<void(const Value&)> add = [&](const Value& value) {
        for (const Value& element : value.elements) add(element);
        Form form{value.kind, value.type, value.shape, value.layout, {}, 0, false, false, false, false};
        if (value.kind == Value::Kind::view) {
            const View& view = value.view;
            const auto known = std::find(tensors.begin(), tensors.end(), view.tensor);
            form.strides = view.strides;
            form.tensor = static_cast<std::size_t>(known - tensors.begin());
            form.begins_later = view.offset != 0;
            form.is_whole = writer_.is_whole(view);
            form.is_input = writer_.role(view) == trace::TensorRole::input;
            form.is_overwritten = writer_.is_overwritten(view);
            if (known == tensors.end()) tensors.push_back(view.tensor);
        }
        forms.push_back(std::move(form));
    };
    for (const Value& value : state) add(value);
    return forms;
}

Value Converter::missing_turns(const Instruction& at, Operands& state, const Turns& turns,
                               const std::string& why) {
    const bool known = turns.even && turns.left < kMostCounted;
    const std::string from = turn_text(turns.counted + 1);
    const std::string which =
        known ? from + " to " + turn_text(turns.counted + turns.left) : "from " + from + " on";
    return unknown(at, state, "its turns " + which + " are missing, " + why);
}

double Converter::turn(const Instruction& at, const Computation& body, Operands& state, Operands stepped,
                       Turns& turns, Scope& scope) {
    const std::vector<Form> forms = turns.is_long ? forms_of(state) : std::vector<Form>{};
    Operands next = evaluate(body, turns.is_long ? stepped : state, &scope);
    if (next.size() != state.size()) fail(at, "has a body with other results than it carries");
    for (Value& value : next)
        if (turns.apart) settle(value, at.name);
    const std::size_t ops = writer_.ops() - turns.begins_at;
    double alike = 1;
    if (turns.is_long) {
        turns.even = true;
        for (std::size_t i = 0; i < next.size(); ++i) turns.even = turns.even && go_on(stepped[i], next[i]);
        if (turns.even && forms == forms_of(next) && ops == turns.last_ops &&
            writer_.are_alike(turns.begins_at - ops, turns.begins_at, ops))
            alike = coming_.alike();
        coming_.close();
    }
    // The last of them is evaluated itself: what it reads of the turn before it is copied there.
    const double counted = alike < 3 || alike >= kMostCounted ? 1 : alike - 1;
    if (turns.apart) writer_.hold_turn(turns.begins_at, writer_.ops(), counted);
    for (std::size_t i = 0; i < next.size(); ++i) {
        go_on_by(next[i], stepped[i], coming_.depth(), counted - 1);
        go_on_by(stepped[i], stepped[i], coming_.depth(), counted - 1);
    }
    turns.before = std::move(stepped);
    turns.last_ops = ops;
    turns.counted += counted;
    ++turns.evaluated;
    state = std::move(next);
    return alike;
}

void Converter::end_last_turn(Turns& turns, bool was_apart) {
    const std::size_t end = writer_.ops(), settled = end - turns.begins_at;
    writer_.hold_turn(was_apart ? turns.begins_at : turns.begins_at - turns.last_ops, end, 1);
    turns.begins_at = end;
    turns.last_ops += settled;
}

Value Converter::loop(const Instruction& at, Operands& operands, Scope& scope) {
    const Computation& condition = computation_of(at, "condition");
    const Computation& body = computation_of(at, "body");
    // What is carried is read in every turn; constants stay numbers.
    Operands state = operands;
    for (Value& value : state) settle(value, at.name);
    for (Turns turns;;) {
        const std::size_t instructions = evaluated_;
        turns.begins_at = writer_.ops();
        coming_.open();
        const std::vector<Value> more = evaluate(condition, with_steps(state, turns), &scope);
        if (more.size() != 1) fail(at, "has a condition that is not one value");
        turns.left = coming_.alike();
        const bool depends = !counts(more[0]), ends = !depends && more[0].number == 0;
        const bool too_much = !depends && !ends && is_too_much(turns);
        if (depends || ends || too_much) coming_.close();
        if (depends) return missing_turns(at, state, turns, "how often it loops depends on data");
        if (ends) return state.size() == 1 ? state[0] : Value::of(std::move(state));
        if (too_much) return missing_turns(at, state, turns, "they are too many and not alike");
        turns.is_long = turns.evaluated >= 2 && !may_be_written_out(turns);
        const bool was_apart = turns.apart;
        turns.apart = turns.evaluated >= 1 && turns.counted + turns.left > kMostTogether;
        for (Value& value : state)
            if (turns.apart) settle(value, at.name);
        Operands stepped = with_steps(state, turns);
        for (std::size_t i = 0; turns.is_long && i < state.size(); ++i)
            settle_uneven(state[i], stepped[i], at.name);
        if (turns.apart) end_last_turn(turns, was_apart);
        if (!turns.is_long) coming_.close();
        const double alike = turn(at, body, state, std::move(stepped), turns, scope);
        turns.last_instructions = evaluated_ - instructions;
        if (alike < kMostCounted) continue;
        turns.left = alike;
        return missing_turns(at, state, turns, std::isinf(alike) ? "it never ends" : "they are too many");
    }
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
    coming_.decide(operands[0]);
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
