// Collectives, and what runs beside others: an operation in two halves, OPCODE-start and OPCODE-done. A trace
// has it once, where it begins.
#include <algorithm>
#include <set>
#include <string_view>

#include "workloads/hlo/converter.h"

namespace heddle::hlo {

using trace::OpKind;

namespace {

constexpr std::string_view kStart = "-start", kDone = "-done";

std::string without_start(const std::string& opcode) {
    return opcode.ends_with(kStart) ? opcode.substr(0, opcode.size() - kStart.size()) : opcode;
}

/// Operands and results stand beside each other in what the first half gives.
bool gives_operands_too(const std::string& opcode) {
    return opcode == "all-gather-start" || opcode == "collective-permute-start";
}

}  // namespace

bool Converter::is_collective(const std::string& opcode) {
    static const std::set<std::string> all{"all-reduce",          "all-gather",         "all-to-all",
                                           "reduce-scatter",      "collective-permute", "ragged-all-to-all",
                                           "collective-broadcast"};
    return all.contains(without_start(opcode));
}

Value Converter::collective(const Instruction& at, Operands& operands) {
    std::vector<View> views;
    std::int64_t bytes = 0;
    const std::function<void(Value&)> add = [&](Value& value) {
        for (Value& element : value.elements) add(element);
        if (value.kind == Value::Kind::tuple) return;
        bytes += count_of(value.shape) * trace::bytes_of(value.type);
        views.push_back(densely(at, value));
    };
    for (Value& value : operands) add(value);
    std::string name = without_start(at.opcode);
    std::replace(name.begin(), name.end(), '-', '_');
    const bool both = gives_operands_too(at.opcode) && at.shape.tuple && at.shape.elements.size() >= 2;
    const Shape& shape = both ? at.shape.elements[1] : at.shape;
    const std::vector<View> written =
        writer_.emit(label(at), OpKind::collective, views,
                     {{keys::collective.collective, name}, {keys::collective.bytes, bytes}}, flat(shape));
    Value result = built(shape, written);
    if (!both) return result;
    Operands all{operands.size() == 1 ? operands[0] : Value::of(operands), std::move(result)};
    while (all.size() < at.shape.elements.size()) all.push_back(context(at.shape.elements[all.size()]));
    return Value::of(std::move(all));
}

/// What halves tell each other beside values.
Value Converter::context(const Shape& shape) {
    if (!shape.tuple) return Value::of(0, shape.type, shape.dimensions);
    std::vector<Value> elements;
    for (const Shape& element : shape.elements) elements.push_back(context(element));
    return Value::of(std::move(elements));
}

std::optional<Value> Converter::half(const Instruction& at, Operands& operands, Scope& scope) {
    const std::string& opcode = at.opcode;
    if (operands.empty()) return std::nullopt;
    if (opcode == "async-update") return operands[0];
    if (opcode.ends_with(kDone)) {
        const Value& begun = operands[0];
        if (begun.kind != Value::Kind::tuple || has_shape(begun, at.shape)) return begun;
        const std::size_t place = opcode == "copy-done" ? 0 : 1;
        if (begun.elements.size() <= place) fail(at, "ends what nothing has begun");
        return begun.elements[place];
    }
    if (opcode != "copy-start" && opcode != "async-start") return std::nullopt;
    Operands all;
    if (opcode == "copy-start") {
        all = {operands[0], operands[0]};
    } else {
        all = {Value::of(operands), call(at, operands, scope)};
    }
    while (at.shape.tuple && all.size() < at.shape.elements.size())
        all.push_back(context(at.shape.elements[all.size()]));
    return Value::of(std::move(all));
}

}  // namespace heddle::hlo
