// heddle trace diff
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/cli/terminal.h"
#include "sim/cli/trace_inspection.h"
#include "sim/report/numbers.h"
#include "sim/report/text_table.h"
#include "sim/run/assemble/assemble.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Sums {
    std::uint64_t count = 0;
    double flops = 0, bytes = 0, measured_us = 0;
    bool operator==(const Sums&) const = default;
};

struct Difference {
    std::map<std::string, std::pair<Sums, Sums>> kinds;  ///< those that differ
    std::size_t first = 0;                               ///< op that is another one
    bool equal = true;
};

std::map<std::string, Sums> sums_of(const trace::Trace& trace) {
    std::map<std::string, Sums> kinds;
    for (const trace::Op& op : trace.ops) {
        Sums& sums = kinds[trace::name_of(op.kind)];
        ++sums.count;
        sums.flops += trace::floating_point_operations(trace, op);
        sums.bytes += trace::bytes_moved(trace, op);
        sums.measured_us += op.measured_us.value_or(0);
    }
    return kinds;
}

bool same_op(const trace::Trace& a, const trace::Op& x, const trace::Trace& b, const trace::Op& y) {
    if (x.kind != y.kind || x.phase != y.phase || x.inputs.size() != y.inputs.size() ||
        x.outputs.size() != y.outputs.size())
        return false;
    const auto same_operands = [&](const std::vector<trace::TensorId>& left,
                                   const std::vector<trace::TensorId>& right) {
        for (std::size_t i = 0; i < left.size(); ++i) {
            const trace::Tensor &one = a.tensor(left[i]), &other = b.tensor(right[i]);
            if (one.type != other.type || one.shape != other.shape) return false;
        }
        return true;
    };
    return same_operands(x.inputs, y.inputs) && same_operands(x.outputs, y.outputs) &&
           x.attributes == y.attributes;
}

Difference compare(const trace::Trace& first, const trace::Trace& second) {
    Difference difference;
    std::map<std::string, Sums> one = sums_of(first), other = sums_of(second);
    for (const auto& [kind, sums] : one)
        if (!(sums == other[kind])) difference.kinds[kind] = {sums, other[kind]};
    for (const auto& [kind, sums] : other)
        if (!one.contains(kind) && sums.count > 0) difference.kinds[kind] = {{}, sums};
    const std::size_t both = std::min(first.ops.size(), second.ops.size());
    while (difference.first < both &&
           same_op(first, first.ops[difference.first], second, second.ops[difference.first]))
        ++difference.first;
    difference.equal = difference.kinds.empty() && difference.first == first.ops.size() &&
                       first.ops.size() == second.ops.size();
    return difference;
}

std::string op_text(const trace::Trace& trace, std::size_t index) {
    if (index >= trace.ops.size()) return "nothing: the trace ends";
    const trace::Op& op = trace.ops[index];
    return sim::describe_op(trace, op) + " (" + op.name + ", " + trace::name_of(op.phase) + ")";
}

}  // namespace

std::string difference_for_people(const trace::Trace& first, const trace::Trace& second) {
    const Difference difference = compare(first, second);
    if (difference.equal) return "the traces have the same ops on the same operands\n";
    const bool recorded = std::any_of(difference.kinds.begin(), difference.kinds.end(), [](const auto& kind) {
        return kind.second.first.measured_us > 0 || kind.second.second.measured_us > 0;
    });
    std::vector<std::vector<std::string>> rows{
        {"op kind", "count", "second", "FLOP", "second", "bytes", "second"}};
    if (recorded) rows[0].insert(rows[0].end(), {"recorded", "second"});
    for (const auto& [kind, sums] : difference.kinds) {
        const auto& [one, other] = sums;
        rows.push_back({kind, sim::format_count(one.count), sim::format_count(other.count),
                        sim::format_si(one.flops, "FLOP"), sim::format_si(other.flops, "FLOP"),
                        sim::format_si(one.bytes, "B"), sim::format_si(other.bytes, "B")});
        if (!recorded) continue;
        rows.back().push_back(sim::format_microseconds(one.measured_us));
        rows.back().push_back(sim::format_microseconds(other.measured_us));
    }
    std::string text;
    if (!difference.kinds.empty())
        text +=
            sim::fit_columns(rows, {false, true, true, true, true, true, true, true, true}, table_width()) +
            "\n";
    if (difference.first < std::max(first.ops.size(), second.ops.size())) {
        text += fmt::format("the first op that differs is number {}:\n  {}\n  {}\n", difference.first,
                            op_text(first, difference.first), op_text(second, difference.first));
    } else {
        text += "the ops are the same, in the same order; their recorded times differ\n";
    }
    return text;
}

std::string difference_as_json(const trace::Trace& first, const trace::Trace& second) {
    const Difference difference = compare(first, second);
    const auto sums_json = [](const Sums& sums) {
        return Json{{"count", sums.count},
                    {"flops", sums.flops},
                    {"bytes", sums.bytes},
                    {"measured_us", sums.measured_us}};
    };
    Json json{{"equal", difference.equal}, {"kinds", Json::array()}};
    for (const auto& [kind, sums] : difference.kinds)
        json["kinds"].push_back(
            {{"name", kind}, {"first", sums_json(sums.first)}, {"second", sums_json(sums.second)}});
    if (difference.first < std::max(first.ops.size(), second.ops.size())) {
        json["first_difference"] = {{"op", difference.first},
                                    {"first", op_text(first, difference.first)},
                                    {"second", op_text(second, difference.first)}};
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::cli
