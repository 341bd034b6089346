// MLCommons Chakra execution traces (.et): the graph as recorded, before any of it is understood.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {

/// The types of nodes, with the numbers of the Chakra schema.
enum class ChakraNodeType : std::uint32_t {
    invalid = 0,
    metadata = 1,
    memory_load = 2,
    memory_store = 3,
    compute = 4,
    send = 5,
    receive = 6,
    collective = 7,
};

/// An attribute's value. Integers of every width and sign encoding become int64 (uint64 where unsigned),
/// float becomes double, bytes become string. monostate: the attribute has a name and no value.
using ChakraValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                                 std::vector<bool>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                                 std::vector<double>, std::vector<std::string>>;

/// An attribute of a node or of the whole graph.
struct ChakraAttribute {
    std::string name;
    ChakraValue value;
};

/// Operands of a node as Python literals: values "[[5, 6, 0, 1, 4, 'cuda:0'], 0.1]" where a tensor is [tensor
/// id, storage id, offset, elements, bytes per element, device]; shapes "[[2048, 768], []]"; types
/// "['Tensor(float)', 'Double']".
struct ChakraOperands {
    std::string values, shapes, types;
};

/// One node of the graph.
struct ChakraNode {
    std::uint64_t id = 0;
    std::string name;
    ChakraNodeType type = ChakraNodeType::invalid;
    std::vector<std::uint64_t> control_dependencies;  ///< in PyTorch recordings: the enclosing op
    std::vector<std::uint64_t> data_dependencies;
    std::uint64_t start_us = 0, duration_us = 0;
    ChakraOperands inputs, outputs;
    std::vector<ChakraAttribute> attributes;

    const ChakraValue* find(const std::string& attribute) const;
    std::int64_t integer(const std::string& attribute, std::int64_t fallback) const;
    std::string text(const std::string& attribute) const;
    bool boolean(const std::string& attribute, bool fallback) const;
};

/// A whole graph.
struct ChakraGraph {
    std::string version;
    std::vector<ChakraAttribute> attributes;
    std::vector<ChakraNode> nodes;
};

/// Read a graph. Both throw heddle::Error that names file, byte offset and what was expected there when the
/// input is truncated or corrupt. `bytes` is the uncompressed stream; `file` is for messages.
ChakraGraph parse_chakra(const std::string& bytes, const std::string& file);
/// Does the same node by node, so that the file is never held as a whole: `head` receives version and
/// attributes before the first node.
void read_chakra(std::istream& bytes, const std::string& file, ChakraGraph& head,
                 const std::function<void(ChakraNode&&)>& found);
/// Reads the JSON form that some Chakra tools write: {"workload_graph": [{"Id", "Name", "NodeType",
/// "runtime", ...}]}. At most one node of the text is held at a time.
ChakraGraph parse_chakra_json(std::istream& text, const std::string& file);
ChakraGraph parse_chakra_json(const std::string& text, const std::string& file);
std::string serialize_chakra(const ChakraGraph& graph);

/// Converts a Trace to a Chakra graph: one node per op with name, type, dependencies, operand shapes and
/// types, duration and communication attributes for any reader of Chakra, and everything else in attributes
/// named "heddle.*", so that from_chakra(to_chakra(t)) is t.
ChakraGraph to_chakra(const Trace& trace, const RecordedDevice& device = {});
/// Converts a graph made by to_chakra; recordings of other tools are converted to ops by workloads/importers.
/// `device` receives the device that the graph names.
Trace from_chakra(const ChakraGraph& graph, const std::string& file, RecordedDevice* device = nullptr);
bool holds_heddle_trace(const ChakraGraph& graph);

}  // namespace heddle::trace
