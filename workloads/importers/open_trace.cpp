#include "workloads/importers/open_trace.h"

#include <filesystem>
#include <optional>

#include "isa/common/error.h"
#include "workloads/hlo/module.h"
#include "workloads/importers/execution_trace.h"
#include "workloads/importers/import_recording.h"
#include "workloads/importers/kineto.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/file.h"
#include "workloads/trace_files/json.h"
#include "workloads/trace_files/read.h"

namespace heddle::importers {
namespace {

std::string base_name(const std::string& path) {
    const std::size_t slash = path.find_last_of("/:");
    return path.substr(slash == std::string::npos ? 0 : slash + 1);
}

/// A recording becomes a step; what it has is counted before.
trace::Trace import_counted(Recording recording, const std::string& name, const std::string& kind,
                            RecordingFacts* facts) {
    if (facts != nullptr) *facts = facts_of(recording, kind);
    return import_recording(std::move(recording), name);
}

trace::Trace open_chakra(trace::ByteStream& stream, trace::RecordedDevice* device, RecordingFacts* facts) {
    trace::ChakraGraph graph;
    Recording recording;
    std::optional<bool> ours;
    trace::read_chakra(*stream.bytes, stream.name, graph, [&](trace::ChakraNode&& node) {
        if (!ours) ours = trace::holds_heddle_trace(graph);
        if (*ours) {
            graph.nodes.push_back(std::move(node));
        } else {
            trace::in_file(stream.name, [&] { recording.add(node); });
        }
    });
    if (ours.value_or(trace::holds_heddle_trace(graph)))
        return trace::from_chakra(graph, stream.name, device);
    return trace::in_file(stream.name, [&] {
        recording.finish();
        recording.check_callers();
        return import_counted(std::move(recording), base_name(stream.name), "Chakra", facts);
    });
}

/// Two recordings of one run: Kineto's and an execution trace, in either order.
trace::Trace open_joined(const std::string& one, const std::string& other, trace::RecordedDevice* device, RecordingFacts* facts) {
    trace::ByteStream first = trace::open_stream(one), second = trace::open_stream(other);
    trace::FileKind first_kind = trace::recognise(first.head, one),
                    second_kind = trace::recognise(second.head, other);
    if (first_kind == trace::FileKind::execution_trace) {
        std::swap(first, second);
        std::swap(first_kind, second_kind);
    }
    if (first_kind != trace::FileKind::kineto || second_kind != trace::FileKind::execution_trace) {
        throw Error("only a trace of the profiler and an execution trace are joined",
                    {.file = one + "+" + other}, "give one of each, of the same run");
    }
    RecordedOperands operands = read_operands(*second.bytes, second.name);
    Recording recording = read_kineto(*first.bytes, first.name, &operands);
    operands = {};
    if (device != nullptr) *device = recording.device;
    return trace::in_file(first.name,
                          [&] { return import_counted(std::move(recording), base_name(first.name),
                                                       "profile and execution trace of one run", facts); });
}

}  // namespace

trace::Trace open_trace(const std::string& path, trace::RecordedDevice* device, RecordingFacts* facts) {
    std::error_code ignored;
    if (const std::size_t plus = path.find('+', 1);
        plus != std::string::npos && !std::filesystem::exists(path, ignored))
        return open_joined(path.substr(0, plus), path.substr(plus + 1), device, facts);
    trace::ByteStream stream = trace::open_stream(path);
    if (hlo::is_hlo_text(stream.head))
        return hlo::to_trace(hlo::parse_hlo(trace::read_whole(stream), stream.name));
    if (hlo::is_stablehlo_text(stream.head))
        return hlo::to_trace(hlo::parse_stablehlo(trace::read_whole(stream), stream.name));
    const trace::FileKind kind = trace::recognise(stream.head, stream.name);
    if (kind == trace::FileKind::chakra) return open_chakra(stream, device, facts);
    if (kind == trace::FileKind::heddle_json) return trace::from_json(*stream.bytes, stream.name, device);
    if (kind == trace::FileKind::chakra_json) {
        const trace::ChakraGraph graph = trace::parse_chakra_json(*stream.bytes, stream.name);
        return trace::in_file(stream.name, [&] {
            return import_counted(Recording(graph), base_name(stream.name), "Chakra (JSON)", facts);
        });
    }
    Recording recording = kind == trace::FileKind::kineto ? read_kineto(*stream.bytes, stream.name)
                                                          : read_execution_trace(*stream.bytes, stream.name);
    if (device != nullptr) *device = recording.device;
    return trace::in_file(stream.name,
                          [&] { return import_counted(std::move(recording), base_name(stream.name),
                                                        kind == trace::FileKind::kineto ? "profile (Kineto)" : "execution trace",
                                                        facts); });
}

}  // namespace heddle::importers
