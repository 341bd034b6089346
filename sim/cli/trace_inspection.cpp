#include "sim/cli/trace_inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/report/numbers.h"
#include "sim/report/table.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Group {
    std::string name;
    std::uint64_t count = 0, recorded = 0;
    double flops = 0, bytes = 0, measured_us = 0;

    void add(const trace::Trace& trace, const trace::Op& op) {
        ++count;
        flops += trace::floating_point_operations(trace, op);
        bytes += trace::bytes_moved(trace, op);
        if (!op.measured_us) return;
        ++recorded;
        measured_us += *op.measured_us;
    }
};

struct Inspection {
    std::vector<Group> kinds, phases;  ///< by falling recorded time, then operations, then name
    Group all;
    std::uint64_t parameters = 0, parameter_bytes = 0;
    std::vector<std::pair<std::string, std::uint64_t>>
        unknown;  ///< recorded kernels of ops that were not understood
};

std::vector<Group> sorted(const std::map<std::string, Group>& groups) {
    std::vector<Group> list;
    for (const auto& [name, group] : groups) {
        list.push_back(group);
        list.back().name = name;
    }
    std::stable_sort(list.begin(), list.end(), [](const Group& a, const Group& b) {
        return a.measured_us != b.measured_us ? a.measured_us > b.measured_us : a.flops > b.flops;
    });
    return list;
}

Inspection inspect(const trace::Trace& trace) {
    Inspection inspection;
    std::map<std::string, Group> kinds, phases;
    std::map<std::string, std::uint64_t> unknown;
    for (const trace::Op& op : trace.ops) {
        kinds[trace::name_of(op.kind)].add(trace, op);
        phases[trace::name_of(op.phase)].add(trace, op);
        inspection.all.add(trace, op);
        if (op.kind == trace::OpKind::unknown) ++unknown[op.kernel_name.empty() ? op.name : op.kernel_name];
    }
    std::set<std::uint64_t> counted;  // parameters that share memory count once
    for (const trace::Tensor& tensor : trace.tensors) {
        if (tensor.role != trace::TensorRole::parameter) continue;
        if (tensor.storage != 0 && !counted.insert(tensor.storage).second) continue;
        inspection.parameters += static_cast<std::uint64_t>(tensor.elements());
        inspection.parameter_bytes += tensor.bytes();
    }
    inspection.kinds = sorted(kinds);
    inspection.phases = sorted(phases);
    inspection.unknown.assign(unknown.begin(), unknown.end());
    return inspection;
}

std::string table(const std::string& heading, const std::vector<Group>& groups, bool recorded) {
    std::vector<std::vector<std::string>> rows{{heading, "count", "FLOP", "bytes"}};
    if (recorded) rows[0].insert(rows[0].end(), {"recorded", "time"});
    for (const Group& group : groups) {
        rows.push_back({group.name, sim::format_count(group.count), sim::format_si(group.flops, "FLOP"),
                        sim::format_si(group.bytes, "B")});
        if (recorded) {
            rows.back().push_back(sim::format_count(group.recorded));
            rows.back().push_back(group.recorded == 0 ? "-" : sim::format_microseconds(group.measured_us));
        }
    }
    return sim::align_columns(rows, {false, true, true, true, true, true});
}

Json group_json(const Group& group) {
    Json json;
    if (!group.name.empty()) json["name"] = group.name;
    json["count"] = group.count;
    json["flops"] = group.flops;
    json["bytes"] = group.bytes;
    json["recorded"] = group.recorded;
    json["measured_us"] = group.recorded == 0 ? Json(nullptr) : Json(group.measured_us);
    return json;
}

}  // namespace

std::string inspect_for_people(const trace::Trace& trace) {
    const Inspection inspection = inspect(trace);
    const bool recorded = inspection.all.recorded > 0;
    std::string text =
        fmt::format("{}: {} ops on {} tensors, {} parameters ({})\n",
                    trace.name.empty() ? "trace" : trace.name, sim::format_count(trace.ops.size()),
                    sim::format_count(trace.tensors.size()), sim::format_count(inspection.parameters),
                    sim::format_si(static_cast<double>(inspection.parameter_bytes), "B"));
    text += fmt::format("{}, {} of distinct operands\n", sim::format_si(inspection.all.flops, "FLOP"),
                        sim::format_si(inspection.all.bytes, "B"));
    if (recorded) {
        text += fmt::format("recorded time of {} ops: {}\n", sim::format_count(inspection.all.recorded),
                            sim::format_microseconds(inspection.all.measured_us));
    }
    text += "\n" + table("op kind", inspection.kinds, recorded) + "\n" +
            table("phase", inspection.phases, recorded);
    if (!inspection.unknown.empty()) text += "\nnot understood:\n";
    for (const auto& [kernel, count] : inspection.unknown) text += fmt::format("  {} x {}\n", count, kernel);
    return text;
}

std::string inspect_as_json(const trace::Trace& trace) {
    const Inspection inspection = inspect(trace);
    Json json{{"name", trace.name},
              {"ops", trace.ops.size()},
              {"tensors", trace.tensors.size()},
              {"parameters", inspection.parameters},
              {"parameter_bytes", inspection.parameter_bytes}};
    json["total"] = group_json(inspection.all);
    json["kinds"] = Json::array();
    for (const Group& group : inspection.kinds) json["kinds"].push_back(group_json(group));
    json["phases"] = Json::array();
    for (const Group& group : inspection.phases) json["phases"].push_back(group_json(group));
    json["unknown"] = Json::array();
    for (const auto& [kernel, count] : inspection.unknown) {
        json["unknown"].push_back({{"kernel", kernel}, {"count", count}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::cli
