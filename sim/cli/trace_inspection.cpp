#include "sim/cli/trace_inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/cli/terminal.h"
#include "sim/report/numbers.h"
#include "sim/report/text_table.h"
#include "sim/run/assemble/assemble.h"
#include "sim/config/gpu_names.h"
#include "workloads/trace/names.h"
#include "workloads/trace/structure.h"
#include "workloads/trace/turns.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Group {
    std::string name;
    std::uint64_t count = 0, recorded = 0;
    double flops = 0, bytes = 0, measured_us = 0;

    void add(const trace::Trace& trace, const trace::Op& op) {
        const double turns = trace::turns_of(op);
        count += trace::count_of_turns(op);
        flops += turns * trace::floating_point_operations(trace, op);
        bytes += turns * trace::bytes_moved(trace, op);
        if (!op.measured_us) return;
        ++recorded;
        measured_us += turns * *op.measured_us;
    }
};

/// Recorded microseconds, communication apart. Estimated: ops on operands that were made up or whose numbers
/// were not recorded (attribute "assumed").
struct Coverage {
    double understood = 0, estimated = 0, unknown = 0, communication = 0;
    /// Operands that follow from the kernel's name, grid and block: ops that are simulated, and those that no
    /// lowering carries out, which a simulation estimates from their bytes.
    double inferred = 0, roofline = 0;
    double total() const { return understood + estimated + inferred + roofline + unknown; }
};

std::string inferred_text(const Coverage& coverage) {
    if (coverage.inferred + coverage.roofline <= 0) return {};
    return fmt::format(
        "{:.1f} % inferred (sizes from names and grids), {:.1f} % inferred without a lowering (by their bytes "
        "alone), ",
        100 * coverage.inferred / coverage.total(), 100 * coverage.roofline / coverage.total());
}

Coverage coverage_of(const trace::Trace& trace) {
    Coverage coverage;
    for (const trace::Op& op : trace.ops) {
        const double time = op.measured_us.value_or(0);
        if (op.kind == trace::OpKind::collective) {
            coverage.communication += time;
        } else if (op.get(keys::any.assumed).rfind("inferred: ", 0) == 0) {
            (op.kind == trace::OpKind::unknown ? coverage.roofline : coverage.inferred) += time;
        } else if (op.kind == trace::OpKind::unknown) {
            coverage.unknown += time;
        } else {
            (op.has(keys::any.assumed) ? coverage.estimated : coverage.understood) += time;
        }
    }
    return coverage;
}

struct Inspection {
    std::vector<Group> kinds, phases;  ///< by falling recorded time, then operations, then name
    Group all;
    std::uint64_t parameters = 0, parameter_bytes = 0;
    Coverage coverage;
    std::vector<trace::RepeatedLayers> layers;
    trace::PeakMemory memory;
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
    // Parameters that share memory count once: as the largest, which may be a whole list of them.
    std::map<std::uint64_t, const trace::Tensor*> largest;
    for (const trace::Tensor& tensor : trace.tensors) {
        if (tensor.role != trace::TensorRole::parameter) continue;
        if (tensor.storage == 0) {
            inspection.parameters += static_cast<std::uint64_t>(tensor.elements());
            inspection.parameter_bytes += tensor.bytes();
            continue;
        }
        const trace::Tensor*& kept = largest[tensor.storage];
        if (kept == nullptr || kept->bytes() < tensor.bytes()) kept = &tensor;
    }
    for (const auto& [storage, tensor] : largest) {
        inspection.parameters += static_cast<std::uint64_t>(tensor->elements());
        inspection.parameter_bytes += tensor->bytes();
    }
    inspection.coverage = coverage_of(trace);
    inspection.layers = trace::find_layers(trace);
    inspection.memory = trace::peak_memory(trace);
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
    return sim::fit_columns(rows, {false, true, true, true, true, true}, table_width());
}

std::string layers_text(const trace::Trace& trace, const std::vector<trace::RepeatedLayers>& all) {
    std::string text;
    for (const trace::RepeatedLayers& layers : all) {
        text += fmt::format(
            "\n{}: {} times {} ops, from op {} of the phase on, {}{}\n", trace::name_of(layers.phase),
            layers.count, layers.period, layers.first, sim::format_si(layers.flops, "FLOP"),
            layers.measured_us > 0 ? ", " + sim::format_microseconds(layers.measured_us) : "");
        constexpr std::size_t most_lines = 24;
        for (std::size_t i = 0; i < std::min(layers.ops.size(), most_lines); ++i)
            text += "  " + sim::describe_op(trace, trace.ops[layers.ops[i]]) + "\n";
        if (layers.ops.size() > most_lines)
            text += fmt::format("  ... and {} more\n", layers.ops.size() - most_lines);
    }
    return text.empty() ? text : "\nlayers, by repetition" + text;
}

std::string memory_text(const trace::Trace& trace, const trace::PeakMemory& memory) {
    if (memory.bytes == 0) return {};
    std::string text =
        fmt::format("\npeak memory {} at op {} ({}): ", sim::format_si(double(memory.bytes), "B"), memory.at,
                    sim::describe_op(trace, trace.ops[memory.at]));
    std::string parts;
    for (std::size_t role = 0; role < memory.by_role.size(); ++role) {
        if (memory.by_role[role] == 0) continue;
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ",
                             trace::name_of(static_cast<trace::TensorRole>(role)),
                             sim::format_si(double(memory.by_role[role]), "B"));
    }
    return text + parts + "\n";
}

/// Kernels or ops of one name that no rule understands.
struct Stranger {
    std::size_t count = 0;
    double measured_us = 0;
    std::string reason;
};

/// The longest first, then by count.
std::vector<std::pair<std::string, Stranger>> strangers_of(const trace::Trace& trace) {
    std::map<std::string, Stranger> strangers;
    for (const trace::Op& op : trace.ops) {
        if (op.kind != trace::OpKind::unknown || op.has(keys::any.assumed)) continue;
        Stranger& stranger = strangers[op.kernel_name.empty() ? op.name : op.kernel_name];
        ++stranger.count;
        stranger.measured_us += op.measured_us.value_or(0);
        if (stranger.reason.empty()) stranger.reason = op.get(keys::any.reason);
    }
    std::vector<std::pair<std::string, Stranger>> order(strangers.begin(), strangers.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return a.second.measured_us > b.second.measured_us;
    });
    return order;
}

/// Kernels and ops that no rule understands, with why.
std::string unknown_text(const trace::Trace& trace) {
    const std::vector<std::pair<std::string, Stranger>> order = strangers_of(trace);
    if (order.empty()) return {};
    constexpr std::size_t most_lines = 16, longest_name = 60;
    std::vector<std::vector<std::string>> rows{{"not understood", "count", "time", "why"}};
    for (std::size_t i = 0; i < std::min(order.size(), most_lines); ++i) {
        const auto& [name, stranger] = order[i];
        rows.push_back({name.size() > longest_name ? name.substr(0, longest_name) + "..." : name,
                        sim::format_count(stranger.count),
                        stranger.measured_us > 0 ? sim::format_microseconds(stranger.measured_us) : "-",
                        stranger.reason});
    }
    std::string text = "\n" + sim::fit_columns(rows, {false, true, true, false}, table_width());
    if (order.size() > most_lines)
        text += fmt::format("... and {} more in --json\n", order.size() - most_lines);
    if (trace.tensors.empty())
        text +=
            "no shapes of operands were recorded: profile with record_shapes=True, or give an execution "
            "trace "
            "of the same run too: profile.json+execution.json\n";
    return text;
}

Json coverage_json(const Coverage& coverage) {
    return {{"understood_us", coverage.understood}, {"estimated_us", coverage.estimated},
            {"inferred_us", coverage.inferred},     {"inferred_by_bytes_us", coverage.roofline},
            {"unknown_us", coverage.unknown},       {"communication_us", coverage.communication}};
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

std::string warning_for_people(const trace::Trace& trace) {
    const Coverage coverage = coverage_of(trace);
    if (coverage.total() > 0) {
        const double share = (coverage.understood + coverage.estimated + coverage.inferred) / coverage.total();
        if (share >= 0.5) return {};
        return fmt::format("only {:.1f} % of the recorded time can be simulated; `heddle trace doctor` says what "
                           "is missing\n",
                           100 * share);
    }
    if (trace.ops.empty()) return {};
    const auto known = std::count_if(trace.ops.begin(), trace.ops.end(),
                                     [](const trace::Op& op) { return op.kind != trace::OpKind::unknown; });
    if (2 * static_cast<std::size_t>(known) >= trace.ops.size()) return {};
    return fmt::format("only {} of {} ops can be simulated; `heddle trace doctor` says what is missing\n", known,
                       trace.ops.size());
}

std::string coverage_for_people(const trace::Trace& trace) {
    const Coverage coverage = coverage_of(trace);
    const double total = coverage.total();
    std::string text;
    if (total > 0) {
        text = fmt::format(
            "coverage of {} of recorded time: {:.1f} % understood, {:.1f} % estimated (operands or numbers "
            "assumed), "
            "{}{:.1f} % unknown\n",
            sim::format_microseconds(total), 100 * coverage.understood / total,
            100 * coverage.estimated / total, inferred_text(coverage), 100 * coverage.unknown / total);
    }
    if (coverage.communication > 0)
        text += "communication, apart: " + sim::format_microseconds(coverage.communication) + "\n";
    std::size_t unknown = 0;
    for (const trace::Op& op : trace.ops) unknown += op.kind == trace::OpKind::unknown ? 1 : 0;
    if (total == 0 && coverage.communication == 0)
        text +=
            fmt::format("coverage: {} of {} ops are understood; no time was recorded\n",
                        sim::format_count(trace.ops.size() - unknown), sim::format_count(trace.ops.size()));
    return text;
}

std::string inspect_for_people(const trace::Trace& trace, const trace::RecordedDevice& device) {
    const Inspection inspection = inspect(trace);
    const bool recorded = inspection.all.recorded > 0;
    std::string text =
        fmt::format("{}: {} ops on {} tensors, {} parameters ({})\n",
                    trace.name.empty() ? "trace" : trace.name, sim::format_count(trace.ops.size()),
                    sim::format_count(trace.tensors.size()), sim::format_count(inspection.parameters),
                    sim::format_si(static_cast<double>(inspection.parameter_bytes), "B"));
    text += fmt::format("{}, {} of distinct operands\n", sim::format_si(inspection.all.flops, "FLOP"),
                        sim::format_si(inspection.all.bytes, "B"));
    if (!device.name.empty()) {
        const std::string preset = sim::hardware_of_gpu(device.name, device.memory_bytes);
        text += "recorded on " + device.name +
                (preset.empty() ? ", which no hardware file describes" : ": --hardware " + preset) + "\n";
    }
    if (recorded) {
        text += fmt::format("recorded time of {} ops: {}\n", sim::format_count(inspection.all.recorded),
                            sim::format_microseconds(inspection.all.measured_us));
    }
    text += "\n" + table("op kind", inspection.kinds, recorded) + "\n" +
            table("phase", inspection.phases, recorded);
    text += layers_text(trace, inspection.layers) + memory_text(trace, inspection.memory);
    return warning_for_people(trace) + text + "\n" + coverage_for_people(trace) + unknown_text(trace);
}

std::string inspect_as_json(const trace::Trace& trace, const trace::RecordedDevice& device) {
    const Inspection inspection = inspect(trace);
    Json json{{"name", trace.name},
              {"ops", trace.ops.size()},
              {"tensors", trace.tensors.size()},
              {"parameters", inspection.parameters},
              {"parameter_bytes", inspection.parameter_bytes}};
    if (!device.name.empty())
        json["device"] = {{"name", device.name},
                          {"memory_bytes", device.memory_bytes},
                          {"hardware", sim::hardware_of_gpu(device.name, device.memory_bytes)}};
    json["total"] = group_json(inspection.all);
    json["kinds"] = Json::array();
    for (const Group& group : inspection.kinds) json["kinds"].push_back(group_json(group));
    json["phases"] = Json::array();
    for (const Group& group : inspection.phases) json["phases"].push_back(group_json(group));
    json["coverage"] = coverage_json(inspection.coverage);
    json["layers"] = Json::array();
    for (const trace::RepeatedLayers& layers : inspection.layers) {
        json["layers"].push_back({{"phase", trace::name_of(layers.phase)},
                                  {"first", layers.first},
                                  {"ops", layers.period},
                                  {"count", layers.count},
                                  {"flops", layers.flops},
                                  {"bytes", layers.bytes},
                                  {"measured_us", layers.measured_us}});
    }
    json["peak_memory"] = {{"bytes", inspection.memory.bytes},
                           {"op", inspection.memory.at},
                           {"resident", inspection.memory.resident}};
    for (std::size_t role = 0; role < inspection.memory.by_role.size(); ++role)
        json["peak_memory"][trace::name_of(static_cast<trace::TensorRole>(role))] =
            inspection.memory.by_role[role];
    json["unknown"] = Json::array();
    for (const auto& [kernel, count] : inspection.unknown) {
        json["unknown"].push_back({{"kernel", kernel}, {"count", count}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

/// Inferred sizes beside the recorded time: the bytes of inferred ops that take long enough for bandwidth to
/// count, as a fraction of what the device could have moved meanwhile.
struct SizeCheck {
    std::size_t ops = 0, too_large = 0;
    double needed_us = 0, recorded_us = 0;
};

SizeCheck check_sizes(const trace::Trace& trace, double bandwidth) {
    // Shorter kernels are decided by their launch; what fits L2 may move faster than memory does.
    constexpr double kLongEnough_us = 20, kMost = 1.1;
    SizeCheck check;
    if (bandwidth <= 0) return check;
    for (const trace::Op& op : trace.ops) {
        const bool moves = op.kind == trace::OpKind::elementwise || op.kind == trace::OpKind::copy ||
                           op.kind == trace::OpKind::fill;
        if (!moves || !op.measured_us || *op.measured_us < kLongEnough_us ||
            op.get(keys::any.assumed).rfind("inferred: ", 0) != 0)
            continue;
        const double needed_us = 1e6 * trace::bytes_moved(trace, op) / bandwidth;
        ++check.ops;
        check.too_large += needed_us > kMost * *op.measured_us ? 1 : 0;
        check.needed_us += needed_us;
        check.recorded_us += *op.measured_us;
    }
    return check;
}

}  // namespace

std::string diagnosis_for_people(const trace::Trace& trace, const importers::RecordingFacts& facts,
                                 double bandwidth) {
    std::string text = warning_for_people(trace);
    if (!facts.is_recording) return text + "not a recording, but a step that is described in full\n";
    text += "recording: " + facts.kind;
    if (!facts.device.name.empty()) {
        const std::string preset = sim::hardware_of_gpu(facts.device.name, facts.device.memory_bytes);
        text += " of " + facts.device.name +
                (preset.empty() ? ", which no hardware file describes" : " (--hardware " + preset + ")");
    }
    text += fmt::format("\ncalls: {}, with shapes {}, with numbers {}, with results {}\n",
                        sim::format_count(facts.calls), sim::format_count(facts.calls_with_shapes),
                        sim::format_count(facts.calls_with_numbers),
                        sim::format_count(facts.calls_with_results));
    if (facts.kernels > 0)
        text += fmt::format(
            "kernels and copies: {}, {} in all; with a grid {}, launched by no recorded call {} ({})\n",
            sim::format_count(facts.kernels), sim::format_microseconds(facts.kernel_us),
            sim::format_count(facts.kernels_with_grid), sim::format_count(facts.kernels_without_call),
            sim::format_microseconds(facts.without_call_us));
    text += coverage_for_people(trace);
    if (const SizeCheck check = check_sizes(trace, bandwidth); check.ops > 0)
        text += fmt::format(
            "inferred sizes of {} longer kernels need {:.0f} % of the device's bandwidth in the recorded time; {} "
            "need more than it has\n",
            check.ops, 100 * check.needed_us / check.recorded_us, check.too_large);
    const std::vector<importers::MissingFact> missing = importers::missing_facts(facts);
    if (!missing.empty()) {
        std::vector<std::vector<std::string>> rows{{"missing", "what would have recorded it"}};
        for (const importers::MissingFact& one : missing) rows.push_back({one.what, one.remedy});
        text += "\n" + sim::fit_columns(rows, {false, false}, table_width());
    }
    return text + unknown_text(trace);
}

std::string diagnosis_as_json(const trace::Trace& trace, const importers::RecordingFacts& facts, double bandwidth) {
    const Coverage coverage = coverage_of(trace);
    Json json{{"kind", facts.is_recording ? facts.kind : "step"},
              {"device",
               {{"name", facts.device.name},
                {"memory_bytes", facts.device.memory_bytes},
                {"hardware", sim::hardware_of_gpu(facts.device.name, facts.device.memory_bytes)}}},
              {"calls", facts.calls},
              {"calls_with_shapes", facts.calls_with_shapes},
              {"calls_with_numbers", facts.calls_with_numbers},
              {"calls_with_results", facts.calls_with_results},
              {"kernels", facts.kernels},
              {"kernels_with_grid", facts.kernels_with_grid},
              {"kernels_without_call", facts.kernels_without_call},
              {"copies", facts.copies},
              {"copies_with_bytes", facts.copies_with_bytes},
              {"collectives", facts.collectives},
              {"collectives_with_bytes", facts.collectives_with_bytes}};
    json["coverage"] = coverage_json(coverage);
    const SizeCheck check = check_sizes(trace, bandwidth);
    json["inferred_sizes"] = {{"ops", check.ops},
                              {"too_large", check.too_large},
                              {"needed_us", check.needed_us},
                              {"recorded_us", check.recorded_us}};
    json["missing"] = Json::array();
    for (const importers::MissingFact& one : importers::missing_facts(facts))
        json["missing"].push_back({{"what", one.what}, {"remedy", one.remedy}});
    json["unknown"] = Json::array();
    for (const auto& [name, stranger] : strangers_of(trace))
        json["unknown"].push_back({{"kernel", name},
                                   {"count", stranger.count},
                                   {"measured_us", stranger.measured_us},
                                   {"reason", stranger.reason}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::cli
