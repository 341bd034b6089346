#include "workloads/trace_files/read.h"

#include <algorithm>
#include <filesystem>

#include "isa/common/error.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/file.h"
#include "workloads/trace_files/json.h"

namespace heddle::trace {

FileKind recognise(const std::string& bytes, const std::string& file) {
    const std::size_t start = bytes.find_first_not_of(" \t\r\n");
    if (start == std::string::npos) throw Error("the file is empty", {.file = file});
    // A Chakra stream may start with a byte that looks like "{" (a length of 123), but holds field tags,
    // which are control characters, right after it.
    const auto control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r' && c != '\n';
    };
    const std::string first = bytes.substr(0, 64);
    const bool json =
        (bytes[start] == '{' || bytes[start] == '[') && std::none_of(first.begin(), first.end(), control);
    if (!json) return FileKind::chakra;
    const std::string head = bytes.substr(0, 4096);
    if (head.find("\"heddle_trace\"") != std::string::npos) return FileKind::heddle_json;
    if (head.find("\"workload_graph\"") != std::string::npos) return FileKind::chakra_json;
    const std::string far = bytes.substr(0, std::size_t{1} << 16);
    const auto holds = [&far](const char* word) { return far.find(word) != std::string::npos; };
    if (holds("\"traceEvents\"") || holds("\"deviceProperties\"") || holds("\"ph\"")) return FileKind::kineto;
    if (holds("\"nodes\"") || holds("\"rf_id\"")) return FileKind::execution_trace;
    throw Error(
        "this JSON is no trace that is known", {.file = file},
        "known are traces of PyTorch's profiler (traceEvents) and its execution traces (nodes), Chakra "
        "graphs (workload_graph) and Heddle's own (heddle_trace: 1)");
}

namespace {

ChakraGraph graph_of(ByteStream& stream, FileKind kind) {
    if (kind == FileKind::chakra_json) return parse_chakra_json(*stream.bytes, stream.name);
    ChakraGraph graph;
    read_chakra(*stream.bytes, stream.name, graph,
                [&graph](ChakraNode&& node) { graph.nodes.push_back(std::move(node)); });
    return graph;
}

}  // namespace

Trace read_trace(const std::string& path) {
    ByteStream stream = open_stream(path);
    const FileKind kind = recognise(stream.head, stream.name);
    if (kind == FileKind::heddle_json) return from_json(*stream.bytes, stream.name);
    const auto fail = [&] {
        throw Error("this is a recording of another tool, not a trace written by Heddle",
                    {.file = stream.name}, "import it first");
    };
    if (kind == FileKind::kineto || kind == FileKind::execution_trace) fail();
    const ChakraGraph graph = graph_of(stream, kind);
    if (!holds_heddle_trace(graph)) fail();
    return from_chakra(graph, stream.name);
}

ChakraGraph read_chakra(const std::string& path) {
    ByteStream stream = open_stream(path);
    const FileKind kind = recognise(stream.head, stream.name);
    if (kind == FileKind::kineto || kind == FileKind::execution_trace)
        throw Error("this is a recording of PyTorch, not a Chakra graph", {.file = stream.name});
    if (kind == FileKind::heddle_json) return to_chakra(from_json(*stream.bytes, stream.name));
    return graph_of(stream, kind);
}

void write_trace(const Trace& trace, const std::string& path, const RecordedDevice& device) {
    const std::string plain = path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
    // Devices, FIFOs and descriptors have no ending.
    std::error_code ignored;
    if (plain.ends_with(".json") || std::filesystem::is_other(path, ignored) || path.starts_with("/dev/")) {
        write_file(path, to_json(trace, device));
    } else if (plain.ends_with(".et")) {
        write_file(path, serialize_chakra(to_chakra(trace, device)));
    } else {
        throw Error("cannot tell the format from the name", {.file = path},
                    "end it in .json, .et, .json.gz or .et.gz");
    }
}

}  // namespace heddle::trace
