// The Chakra byte stream to and from ChakraGraph.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <functional>
#include <istream>

#include "isa/common/error.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/chakra.h"
#include "workloads/trace_files/chakra.pb.h"

namespace heddle::trace {
namespace {

namespace wire = heddle::chakra_wire;

template <class To, class From>
std::vector<To> list(const From& values) {
    return std::vector<To>(values.begin(), values.end());
}

ChakraValue value_of(const wire::Attribute& a) {
    using A = wire::Attribute;
    using Signed = std::int64_t;
    using Unsigned = std::uint64_t;
    switch (a.value_case()) {
        case A::kAsDouble:
            return a.as_double();
        case A::kAsFloat:
            return static_cast<double>(a.as_float());
        case A::kAsInt32:
            return Signed{a.as_int32()};
        case A::kAsInt64:
            return Signed{a.as_int64()};
        case A::kAsSint32:
            return Signed{a.as_sint32()};
        case A::kAsSint64:
            return Signed{a.as_sint64()};
        case A::kAsSfixed32:
            return Signed{a.as_sfixed32()};
        case A::kAsSfixed64:
            return Signed{a.as_sfixed64()};
        case A::kAsUint32:
            return Unsigned{a.as_uint32()};
        case A::kAsUint64:
            return Unsigned{a.as_uint64()};
        case A::kAsFixed32:
            return Unsigned{a.as_fixed32()};
        case A::kAsFixed64:
            return Unsigned{a.as_fixed64()};
        case A::kAsBool:
            return a.as_bool();
        case A::kAsString:
            return a.as_string();
        case A::kAsBytes:
            return a.as_bytes();
        case A::kAsDoubles:
            return list<double>(a.as_doubles().values());
        case A::kAsFloats:
            return list<double>(a.as_floats().values());
        case A::kAsInt32S:
            return list<Signed>(a.as_int32s().values());
        case A::kAsInt64S:
            return list<Signed>(a.as_int64s().values());
        case A::kAsSint32S:
            return list<Signed>(a.as_sint32s().values());
        case A::kAsSint64S:
            return list<Signed>(a.as_sint64s().values());
        case A::kAsSfixed32S:
            return list<Signed>(a.as_sfixed32s().values());
        case A::kAsSfixed64S:
            return list<Signed>(a.as_sfixed64s().values());
        case A::kAsUint32S:
            return list<Unsigned>(a.as_uint32s().values());
        case A::kAsUint64S:
            return list<Unsigned>(a.as_uint64s().values());
        case A::kAsFixed32S:
            return list<Unsigned>(a.as_fixed32s().values());
        case A::kAsFixed64S:
            return list<Unsigned>(a.as_fixed64s().values());
        case A::kAsBools:
            return list<bool>(a.as_bools().values());
        case A::kAsStrings:
            return list<std::string>(a.as_strings().values());
        case A::kAsByteStrings:
            return list<std::string>(a.as_byte_strings().values());
        case A::VALUE_NOT_SET:
            break;
    }
    return std::monostate{};
}

template <class Attributes>
std::vector<ChakraAttribute> attributes_of(const Attributes& attributes) {
    std::vector<ChakraAttribute> result;
    result.reserve(static_cast<std::size_t>(attributes.size()));
    for (const wire::Attribute& attribute : attributes) {
        result.push_back({attribute.name(), value_of(attribute)});
    }
    return result;
}

ChakraNode node_of(const wire::Node& in) {
    ChakraNode node;
    node.id = in.id();
    node.name = in.name();
    node.type = static_cast<ChakraNodeType>(in.type());
    node.control_dependencies = list<std::uint64_t>(in.control_dependencies());
    node.data_dependencies = list<std::uint64_t>(in.data_dependencies());
    node.start_us = in.start_microseconds();
    node.duration_us = in.duration_microseconds();
    node.inputs = {in.inputs().values(), in.inputs().shapes(), in.inputs().types()};
    node.outputs = {in.outputs().values(), in.outputs().shapes(), in.outputs().types()};
    node.attributes = attributes_of(in.attributes());
    return node;
}

/// Walks length-delimited messages and knows the byte offset for error messages.
class Stream {
  public:
    Stream(std::istream& bytes, const std::string& file) : bytes_(bytes), file_(file) {}

    bool at_end() const { return bytes_.rdbuf()->sgetc() == std::char_traits<char>::eof(); }

    template <class Message>
    void next(Message& message, const std::string& what) {
        const std::size_t start = position_;
        const std::uint64_t length = varint(what);
        const std::size_t body = position_;
        // Every message has a version or a number. A run of zero bytes would be as many empty ones.
        if (length == 0) fail(start, what + " is empty");
        fetch(length);
        if (buffer_.size() < length) {
            fail(start, what + " says it is " + std::to_string(length) + " bytes long, but only " +
                            std::to_string(buffer_.size()) + " bytes follow");
        }
        google::protobuf::io::CodedInputStream coded(reinterpret_cast<const std::uint8_t*>(buffer_.data()),
                                                     static_cast<int>(length));
        // Attributes nest two deep; a deeper message is not of this schema.
        coded.SetRecursionLimit(8);
        if (!message.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
            fail(body, what + " of " + std::to_string(length) +
                           " bytes is not a valid message of the Chakra schema");
        }
    }

    [[noreturn]] void fail(std::size_t offset, const std::string& problem) const {
        throw Error(problem, {.file = file_, .key = "byte " + std::to_string(offset)},
                    "the file is cut or is not a Chakra execution trace");
    }

  private:
    /// Up to `length` bytes, in pieces: a length that is a lie asks for no more memory than the file has.
    void fetch(std::uint64_t length) {
        constexpr std::uint64_t piece = std::uint64_t{1} << 20;
        buffer_.clear();
        while (buffer_.size() < length) {
            const std::size_t before = buffer_.size();
            const auto wanted = static_cast<std::size_t>(std::min(piece, length - before));
            buffer_.resize(before + wanted);
            const auto count = static_cast<std::size_t>(std::max<std::streamsize>(
                bytes_.rdbuf()->sgetn(buffer_.data() + before, static_cast<std::streamsize>(wanted)), 0));
            position_ += count;
            buffer_.resize(before + count);
            if (count < wanted) return;
        }
    }

    std::uint64_t varint(const std::string& what) {
        const std::size_t start = position_;
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 35; shift += 7) {
            const int next = bytes_.rdbuf()->sbumpc();
            if (next == std::char_traits<char>::eof())
                fail(start, "the file ends inside the length of " + what);
            ++position_;
            const auto byte = static_cast<std::uint8_t>(next);
            value |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) {
                if (value > 0x7fffffff) break;
                return value;
            }
        }
        fail(start, "expected the length of " + what + ", a varint below 2 GiB");
    }

    std::istream& bytes_;
    const std::string& file_;
    std::string buffer_;
    std::size_t position_ = 0;
};

struct ChakraAttributeWriter {
    wire::Attribute& out;
    void operator()(std::monostate) const {}
    void operator()(bool v) const { out.set_as_bool(v); }
    void operator()(std::int64_t v) const { out.set_as_int64(v); }
    void operator()(std::uint64_t v) const { out.set_as_uint64(v); }
    void operator()(double v) const { out.set_as_double(v); }
    void operator()(const std::string& v) const { out.set_as_string(v); }
    void operator()(const std::vector<bool>& v) const { fill(out.mutable_as_bools(), v); }
    void operator()(const std::vector<std::int64_t>& v) const { fill(out.mutable_as_int64s(), v); }
    void operator()(const std::vector<std::uint64_t>& v) const { fill(out.mutable_as_uint64s(), v); }
    void operator()(const std::vector<double>& v) const { fill(out.mutable_as_doubles(), v); }
    void operator()(const std::vector<std::string>& v) const { fill(out.mutable_as_strings(), v); }

    template <class Message, class Values>
    static void fill(Message* message, const Values& values) {
        for (const auto& value : values) message->add_values(value);
    }
};

template <class Message>
void write_attributes(const std::vector<ChakraAttribute>& attributes, Message& message) {
    for (const ChakraAttribute& attribute : attributes) {
        wire::Attribute& out = *message.add_attributes();
        out.set_name(attribute.name);
        std::visit(ChakraAttributeWriter{out}, attribute.value);
    }
}

void write_operands(const ChakraOperands& operands, wire::Operands& out) {
    out.set_values(operands.values);
    out.set_shapes(operands.shapes);
    out.set_types(operands.types);
}

template <class Message>
void append(const Message& message, std::string& bytes) {
    for (std::uint64_t length = message.ByteSizeLong();; length >>= 7) {
        if (length < 0x80) {
            bytes.push_back(static_cast<char>(length));
            break;
        }
        bytes.push_back(static_cast<char>((length & 0x7f) | 0x80));
    }
    message.AppendToString(&bytes);
}

}  // namespace

ChakraGraph parse_chakra(const std::string& bytes, const std::string& file) {
    ChakraGraph graph;
    read_chakra(*memory_stream(bytes), file, graph,
                [&graph](ChakraNode&& node) { graph.nodes.push_back(std::move(node)); });
    return graph;
}

void read_chakra(std::istream& bytes, const std::string& file, ChakraGraph& head,
                 const std::function<void(ChakraNode&&)>& found) {
    Stream stream(bytes, file);
    if (stream.at_end()) stream.fail(0, "the file is empty where the metadata message was expected");
    wire::GlobalMetadata metadata;
    stream.next(metadata, "the metadata message");
    head.version = metadata.version();
    head.attributes = attributes_of(metadata.attributes());
    wire::Node node;
    for (std::size_t number = 1; !stream.at_end(); ++number) {
        node.Clear();
        stream.next(node, "node number " + std::to_string(number));
        found(node_of(node));
    }
}

std::string serialize_chakra(const ChakraGraph& graph) {
    std::string bytes;
    wire::GlobalMetadata metadata;
    metadata.set_version(graph.version);
    write_attributes(graph.attributes, metadata);
    append(metadata, bytes);
    wire::Node message;
    for (const ChakraNode& node : graph.nodes) {
        message.Clear();
        message.set_id(node.id);
        message.set_name(node.name);
        message.set_type(static_cast<std::uint32_t>(node.type));
        for (const std::uint64_t id : node.control_dependencies) message.add_control_dependencies(id);
        for (const std::uint64_t id : node.data_dependencies) message.add_data_dependencies(id);
        message.set_start_microseconds(node.start_us);
        message.set_duration_microseconds(node.duration_us);
        write_operands(node.inputs, *message.mutable_inputs());
        write_operands(node.outputs, *message.mutable_outputs());
        write_attributes(node.attributes, message);
        append(message, bytes);
    }
    return bytes;
}

const ChakraValue* ChakraNode::find(const std::string& attribute) const {
    for (const ChakraAttribute& candidate : attributes) {
        if (candidate.name == attribute) return &candidate.value;
    }
    return nullptr;
}

std::int64_t ChakraNode::integer(const std::string& attribute, std::int64_t fallback) const {
    const ChakraValue* value = find(attribute);
    if (value == nullptr) return fallback;
    if (const auto* number = std::get_if<std::int64_t>(value)) return *number;
    if (const auto* number = std::get_if<std::uint64_t>(value)) return static_cast<std::int64_t>(*number);
    return fallback;
}

std::string ChakraNode::text(const std::string& attribute) const {
    const ChakraValue* value = find(attribute);
    if (value == nullptr) return {};
    const auto* text = std::get_if<std::string>(value);
    return text == nullptr ? std::string{} : *text;
}

bool ChakraNode::boolean(const std::string& attribute, bool fallback) const {
    const ChakraValue* value = find(attribute);
    if (value == nullptr) return fallback;
    const auto* flag = std::get_if<bool>(value);
    return flag == nullptr ? fallback : *flag;
}

}  // namespace heddle::trace
