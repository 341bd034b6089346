#include "sim/run/time/op_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "workloads/trace/module.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {
namespace {

struct AttributeText {
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{:.17g}", value); }
    std::string operator()(const std::string& value) const { return value; }
    template <class Number>
    std::string operator()(const std::vector<Number>& values) const {
        std::string text;
        for (const Number value : values) text += (*this)(value) + " ";
        return text;
    }
};

}  // namespace

std::string text_of(const models::ParameterList& parameters) {
    std::string text;
    for (const models::Parameter& parameter : parameters.parameters()) {
        text += fmt::format("{} {:.17g}", parameter.path, parameter.get());
        if (parameter.list != nullptr)
            for (const std::uint32_t value : *parameter.list) text += fmt::format(" {}", value);
        text += '\n';
    }
    return text;
}

std::string op_key(const trace::Trace& trace, const trace::Op& op,
                   const std::function<std::uint64_t(trace::TensorId)>& storage,
                   const std::function<std::string_view(std::uint64_t storage)>& mark) {
    std::string key = trace::name_of(op.kind) + "\n";
    for (const auto& [name, value] : op.attributes)
        if (name != keys::any.turns && name != trace::module_key)
            key += name + "=" + std::visit(AttributeText{}, value) + "\n";
    std::map<std::uint64_t, std::size_t> places;
    const auto add = [&](const char* side, const std::vector<trace::TensorId>& ids) {
        for (const trace::TensorId id : ids) {
            const trace::Tensor& tensor = trace.tensor(id);
            const std::uint64_t memory = storage(id);
            const std::size_t place = places.try_emplace(memory, places.size()).first->second;
            key += fmt::format("{} {} {} @{}{}\n", side, trace::name_of(tensor.type),
                               fmt::join(tensor.shape, "x"), place, mark(memory));
        }
    };
    add("in", op.inputs);
    add("out", op.outputs);
    return key;
}

KernelResult row_of(const trace::Op& op, const LaunchOutcome& outcome) {
    KernelResult row;
    row.name = trace::name_of(op.kind);
    row.cycles = outcome.cycles;
    row.time_us = outcome.seconds * 1e6;
    row.dram_bytes = outcome.dram_bytes;
    row.bound_by = outcome.bound_by;
    row.utilisation = outcome.utilisation;
    row.time_by_reason = outcome.time_by_reason;
    row.time_by_unit = outcome.time_by_unit;
    return row;
}

KernelResult estimated_row(const trace::Op& op, const std::string& reason, const OpEstimate& estimate) {
    KernelResult row;
    row.name = reason;
    if (op.inputs.empty() && op.outputs.empty()) {
        row.fidelity = Fidelity::unknown;
        row.bound_by = op.measured_us ? "recorded time" : "nothing known";
        row.time_us = op.measured_us.value_or(0);
        return row;
    }
    // What nobody understands takes at least the time that its operands take to move.
    row.fidelity = op.kind == trace::OpKind::unknown ? Fidelity::unknown : Fidelity::estimated;
    row.time_us = 1e6 * (estimate.latency_seconds + std::max(estimate.memory_seconds, estimate.compute_seconds));
    row.bound_by = estimate.compute_seconds > estimate.memory_seconds ? estimate.compute : estimate.memory;
    return row;
}

}  // namespace heddle::sim
