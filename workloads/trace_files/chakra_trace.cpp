// A Trace as a Chakra graph and back.
#include <cmath>
#include <limits>
#include <map>

#include "isa/common/error.h"
#include "workloads/trace/names.h"
#include "workloads/trace_files/chakra.h"
#include "workloads/trace_files/file.h"

namespace heddle::trace {
namespace {

constexpr std::int64_t format_version = 1;
const std::string attribute_prefix = "heddle.attribute.";

/// PyTorch's spelling of element types, which other readers of Chakra know.
std::string torch_type(ElementType type) {
    switch (type) {
        case ElementType::f64:
            return "Tensor(double)";
        case ElementType::f32:
        case ElementType::tf32:
            return "Tensor(float)";
        case ElementType::f16:
            return "Tensor(c10::Half)";
        case ElementType::bf16:
            return "Tensor(c10::BFloat16)";
        case ElementType::e4m3:
            return "Tensor(c10::Float8_e4m3fn)";
        case ElementType::e5m2:
            return "Tensor(c10::Float8_e5m2)";
        case ElementType::i64:
            return "Tensor(long int)";
        case ElementType::i32:
            return "Tensor(int)";
        case ElementType::i16:
            return "Tensor(short int)";
        case ElementType::i8:
            return "Tensor(signed char)";
        case ElementType::u8:
            return "Tensor(unsigned char)";
        case ElementType::boolean:
            return "Tensor(bool)";
    }
    return "Tensor";
}

/// Numbers of Chakra's collective types (FORMATS: 0 all-reduce ... 9 barrier); -1 for others.
std::int64_t collective_number(const std::string& name) {
    static const std::map<std::string, std::int64_t> numbers{
        {"all_reduce", 0}, {"reduce", 1},     {"all_gather", 2},     {"gather", 3},  {"scatter", 4},
        {"broadcast", 5},  {"all_to_all", 6}, {"reduce_scatter", 7}, {"barrier", 9},
    };
    const auto found = numbers.find(name);
    return found == numbers.end() ? -1 : found->second;
}

ChakraOperands operands_of(const Trace& trace, const std::vector<TensorId>& ids) {
    ChakraOperands operands{"[", "[", "["};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const Tensor& tensor = trace.tensor(ids[i]);
        const std::string separator = i > 0 ? ", " : "";
        const std::uint64_t storage = tensor.storage != 0 ? tensor.storage : std::uint64_t{1} << 40 | ids[i];
        operands.values += separator + "[" + std::to_string(ids[i]) + ", " + std::to_string(storage) +
                           ", 0, " + std::to_string(tensor.elements()) + ", " +
                           std::to_string(bytes_of(tensor.type)) + ", 'cuda:0']";
        operands.shapes += separator + "[";
        for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
            operands.shapes += (axis > 0 ? ", " : "") + std::to_string(tensor.shape[axis]);
        }
        operands.shapes += "]";
        operands.types += separator + "'" + torch_type(tensor.type) + "'";
    }
    operands.values += "]";
    operands.shapes += "]";
    operands.types += "]";
    return operands;
}

std::vector<std::int64_t> widened(const std::vector<std::uint32_t>& ids) {
    return {ids.begin(), ids.end()};
}

void describe_tensors(const Trace& trace, ChakraGraph& graph) {
    std::vector<std::string> names, types, roles;
    std::vector<std::int64_t> ranks, extents;
    std::vector<std::uint64_t> storages;
    for (const Tensor& tensor : trace.tensors) {
        names.push_back(tensor.name);
        types.push_back(name_of(tensor.type));
        roles.push_back(name_of(tensor.role));
        ranks.push_back(static_cast<std::int64_t>(tensor.shape.size()));
        extents.insert(extents.end(), tensor.shape.begin(), tensor.shape.end());
        storages.push_back(tensor.storage);
    }
    graph.attributes.push_back({"heddle.version", format_version});
    graph.attributes.push_back({"heddle.name", trace.name});
    graph.attributes.push_back({"heddle.ops", static_cast<std::int64_t>(trace.ops.size())});
    graph.attributes.push_back({"heddle.tensor.names", names});
    graph.attributes.push_back({"heddle.tensor.types", types});
    graph.attributes.push_back({"heddle.tensor.roles", roles});
    graph.attributes.push_back({"heddle.tensor.ranks", ranks});
    graph.attributes.push_back({"heddle.tensor.extents", extents});
    graph.attributes.push_back({"heddle.tensor.storages", storages});
}

ChakraNode node_of(const Trace& trace, const Op& op, std::uint64_t id) {
    ChakraNode node;
    node.id = id;
    node.name = op.name;
    node.type = op.kind == OpKind::collective ? ChakraNodeType::collective : ChakraNodeType::compute;
    for (const OpId dependency : op.dependencies)
        node.data_dependencies.push_back(std::uint64_t{dependency} + 1);
    node.duration_us = op.measured_us && *op.measured_us > 0 ? std::llround(*op.measured_us) : 0;
    node.inputs = operands_of(trace, op.inputs);
    node.outputs = operands_of(trace, op.outputs);
    node.attributes.push_back({"is_cpu_op", false});
    if (op.kind == OpKind::collective) {
        node.attributes.push_back({"comm_type", collective_number(op.get(keys::collective.collective))});
        node.attributes.push_back({"comm_size", static_cast<std::int64_t>(op.real(keys::collective.bytes))});
        node.attributes.push_back({"involved_dim", std::vector<bool>{true}});
    }
    node.attributes.push_back({"heddle.kind", name_of(op.kind)});
    node.attributes.push_back({"heddle.phase", name_of(op.phase)});
    node.attributes.push_back({"heddle.inputs", widened(op.inputs)});
    node.attributes.push_back({"heddle.outputs", widened(op.outputs)});
    if (op.measured_us) node.attributes.push_back({"heddle.measured_us", *op.measured_us});
    if (!op.kernel_name.empty()) node.attributes.push_back({"heddle.kernel_name", op.kernel_name});
    if (op.stream != 0) node.attributes.push_back({"heddle.stream", std::int64_t{op.stream}});
    if (op.host_us) node.attributes.push_back({"heddle.host_us", *op.host_us});
    for (const auto& [key, value] : op.attributes) {
        ChakraAttribute attribute{attribute_prefix + key, {}};
        std::visit([&attribute](const auto& held) { attribute.value = held; }, value);
        node.attributes.push_back(std::move(attribute));
    }
    return node;
}

class ChakraTraceReader {
  public:
    ChakraTraceReader(const ChakraGraph& graph, const std::string& file) : graph_(graph), file_(file) {}

    RecordedDevice device() const {
        RecordedDevice device;
        if (const auto* name = find<std::string>("heddle.device.name")) device.name = *name;
        if (const auto* bytes = find<std::uint64_t>("heddle.device.memory_bytes"))
            device.memory_bytes = *bytes;
        return device;
    }

    Trace read() const {
        const auto version = metadata<std::int64_t>("heddle.version");
        if (version != format_version)
            fail("heddle.version", "is " + std::to_string(version) + " instead of 1");
        Trace trace;
        trace.name = metadata<std::string>("heddle.name");
        read_tensors(trace);
        const auto ops = metadata<std::int64_t>("heddle.ops");
        if (ops != static_cast<std::int64_t>(graph_.nodes.size())) {
            fail("heddle.ops", "says " + std::to_string(ops) + " ops, but the file holds " +
                                   std::to_string(graph_.nodes.size()) + " nodes: it is cut");
        }
        std::map<std::uint64_t, OpId> index;
        for (const ChakraNode& node : graph_.nodes) {
            index[node.id] = static_cast<OpId>(index.size());
            trace.ops.push_back(read_op(node, index, trace));
        }
        return trace;
    }

  private:
    [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
        throw Error(problem, {.file = file_, .key = key});
    }

    template <class Value>
    const Value* find(const std::string& key) const {
        for (const ChakraAttribute& attribute : graph_.attributes) {
            if (attribute.name != key) continue;
            if (const auto* value = std::get_if<Value>(&attribute.value)) return value;
        }
        return nullptr;
    }
    template <class Value>
    const Value& metadata(const std::string& key) const {
        if (const auto* value = find<Value>(key)) return *value;
        fail(key, "the metadata attribute is missing or of another type");
    }

    void read_tensors(Trace& trace) const {
        const auto& names = metadata<std::vector<std::string>>("heddle.tensor.names");
        const auto& types = metadata<std::vector<std::string>>("heddle.tensor.types");
        const auto& roles = metadata<std::vector<std::string>>("heddle.tensor.roles");
        const auto& ranks = metadata<std::vector<std::int64_t>>("heddle.tensor.ranks");
        const auto& extents = metadata<std::vector<std::int64_t>>("heddle.tensor.extents");
        const auto& storages = metadata<std::vector<std::uint64_t>>("heddle.tensor.storages");
        if (types.size() != names.size() || roles.size() != names.size() || ranks.size() != names.size() ||
            storages.size() != names.size()) {
            fail("heddle.tensor.names", "the tensor lists have different lengths");
        }
        std::size_t place = 0;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (ranks[i] < 0 || static_cast<std::size_t>(ranks[i]) > extents.size() - place) {
                fail("heddle.tensor.extents", "too short for the ranks");
            }
            Tensor tensor;
            tensor.name = names[i];
            tensor.type = element_type_from_name(types[i]);
            tensor.role = tensor_role_from_name(roles[i]);
            tensor.storage = storages[i];
            const std::size_t end = place + static_cast<std::size_t>(ranks[i]);
            for (; place < end; ++place) tensor.shape.push_back(extents[place]);
            trace.tensors.push_back(std::move(tensor));
        }
    }

    std::vector<TensorId> tensor_ids(const ChakraNode& node, const std::string& key,
                                     std::size_t count) const {
        const ChakraValue* value = node.find(key);
        const auto* ids = value == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(value);
        if (ids == nullptr) fail("node " + std::to_string(node.id), "attribute " + key + " is missing");
        std::vector<TensorId> result;
        for (const std::int64_t id : *ids) {
            if (id < 0 || static_cast<std::size_t>(id) >= count) {
                fail("node " + std::to_string(node.id), "refers to tensor " + std::to_string(id));
            }
            result.push_back(static_cast<TensorId>(id));
        }
        return result;
    }

    Op read_op(const ChakraNode& node, const std::map<std::uint64_t, OpId>& index, const Trace& trace) const {
        Op op;
        op.name = node.name;
        op.kind = op_kind_from_name(node.text("heddle.kind"));
        op.phase = phase_from_name(node.text("heddle.phase"));
        op.kernel_name = node.text("heddle.kernel_name");
        op.inputs = tensor_ids(node, "heddle.inputs", trace.tensors.size());
        op.outputs = tensor_ids(node, "heddle.outputs", trace.tensors.size());
        for (const std::uint64_t dependency : node.data_dependencies) {
            const auto found = index.find(dependency);
            if (found == index.end()) {
                fail("node " + std::to_string(node.id),
                     "depends on node " + std::to_string(dependency) + ", which is not in the file");
            }
            op.dependencies.push_back(found->second);
        }
        for (const ChakraAttribute& attribute : node.attributes) {
            if (attribute.name == "heddle.measured_us") {
                if (const auto* value = std::get_if<double>(&attribute.value)) op.measured_us = *value;
            } else if (attribute.name == "heddle.host_us") {
                if (const auto* value = std::get_if<double>(&attribute.value)) op.host_us = *value;
            } else if (attribute.name == "heddle.stream") {
                const auto* value = std::get_if<std::int64_t>(&attribute.value);
                if (value == nullptr || *value < 0 || *value > std::numeric_limits<std::uint32_t>::max())
                    fail("node " + std::to_string(node.id), "heddle.stream is no number of a stream");
                op.stream = static_cast<std::uint32_t>(*value);
            } else if (attribute.name.starts_with(attribute_prefix)) {
                op.attributes.put(attribute.name.substr(attribute_prefix.size()),
                                  read_attribute(attribute, node));
            }
        }
        return op;
    }

    Attribute read_attribute(const ChakraAttribute& attribute, const ChakraNode& node) const {
        const ChakraValue& value = attribute.value;
        if (const auto* v = std::get_if<std::int64_t>(&value)) return *v;
        if (const auto* v = std::get_if<double>(&value)) return *v;
        if (const auto* v = std::get_if<std::string>(&value)) return *v;
        if (const auto* v = std::get_if<std::vector<std::int64_t>>(&value)) return *v;
        if (const auto* v = std::get_if<std::vector<double>>(&value)) return *v;
        fail("node " + std::to_string(node.id),
             "attribute " + attribute.name + " has a type that ops do not use");
    }

    const ChakraGraph& graph_;
    const std::string& file_;
};

}  // namespace

ChakraGraph to_chakra(const Trace& trace, const RecordedDevice& device) {
    ChakraGraph graph;
    graph.version = "1.1.0-chakra.0.0.4";
    graph.attributes.push_back({"schema", graph.version});
    describe_tensors(trace, graph);
    if (!device.name.empty()) graph.attributes.push_back({"heddle.device.name", device.name});
    if (device.memory_bytes != 0)
        graph.attributes.push_back({"heddle.device.memory_bytes", device.memory_bytes});
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        graph.nodes.push_back(node_of(trace, trace.ops[i], i + 1));
    return graph;
}

bool holds_heddle_trace(const ChakraGraph& graph) {
    for (const ChakraAttribute& attribute : graph.attributes) {
        if (attribute.name == "heddle.version") return true;
    }
    return false;
}

Trace from_chakra(const ChakraGraph& graph, const std::string& file, RecordedDevice* device) {
    return in_file(file, [&] {
        const ChakraTraceReader reader(graph, file);
        Trace trace = reader.read();
        trace.check();
        if (device != nullptr) *device = reader.device();
        return trace;
    });
}

}  // namespace heddle::trace
