#include "sim/kernel/launch_arguments.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace heddle::kernel {
namespace {

void append_bytes(const YamlValue& value, BytesArgument& bytes) {
    std::istringstream words(value.text());
    for (std::string word; words >> word;) {
        if (word.size() != 2 || word.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
            value.fail("`" + word + "` is not a byte", "write two hexadecimal digits each: bytes: \"00 3f\"");
        }
        bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
    }
}

/// In a struct and those in it, anchors let a few lines stand for millions.
constexpr std::size_t kMostFields =
    32764;  // bytes of a kernel's parameters: CUDA C++ Programming Guide, 12.1

/// Appends a value by the rules of C structs. `alignment`: the largest so far.
void append(const YamlValue& value, BytesArgument& bytes, std::size_t& alignment, int depth,
            std::size_t& fields_left) {
    if (depth > 8) value.fail("structs are nested too deeply");
    if (fields_left-- == 0) value.fail("the struct has more fields than a kernel's parameters have bytes");
    const auto entries = named_entries(value);
    if (entries.size() != 1) value.fail("expected one type and its value: {f32: 2.5}");
    const auto& [kind, body] = entries.front();
    if (kind == "bytes") {
        append_bytes(body, bytes);
        return;
    }
    if (kind == "struct") {
        BytesArgument fields;
        std::size_t inner = 1;
        for (const YamlValue& field : body.list()) append(field, fields, inner, depth + 1, fields_left);
        fields.resize((fields.size() + inner - 1) / inner * inner);
        bytes.resize((bytes.size() + inner - 1) / inner * inner);
        bytes.insert(bytes.end(), fields.begin(), fields.end());
        alignment = std::max(alignment, inner);
        return;
    }
    const ElementType type = with_place(body, [&, &k = kind] { return element_type(k); });
    const std::uint64_t bits = with_place(body, [&, &b = body] { return parse_element(type, b.text()); });
    const std::size_t size = bytes_of(type);
    bytes.resize((bytes.size() + size - 1) / size * size + size);
    store_element(type, bytes, bytes.size() / size - 1, bits);
    alignment = std::max(alignment, size);
}

std::string choice(const YamlMap& map, const std::string& key, const std::vector<std::string>& known) {
    const auto value = map.find(key);
    if (!value) return known.front();
    std::string list;
    for (const std::string& word : known) {
        if (word == value->text()) return word;
        list += (list.empty() ? "" : ", ") + word;
    }
    value->fail("`" + value->text() + "` is not known here", "known: " + list);
}

TensorMapArgument read_tensor_map(const YamlValue& value, const std::vector<BufferDeclaration>& buffers) {
    const YamlMap map(value, {"buffer", "offset", "type", "dimensions", "strides", "box", "element_strides",
                              "swizzle", "interleave", "l2_promotion", "fill"});
    TensorMapArgument argument;
    argument.buffer.buffer = buffer_named(buffers, map.require("buffer"));
    if (const auto offset = map.find("offset")) argument.buffer.byte_offset = offset->unsigned_integer();
    argument.type =
        map.find("type") ? map.require("type").text() : name_of(buffers[argument.buffer.buffer].type);
    argument.dimensions = map.require("dimensions").integers();
    const std::size_t rank = argument.dimensions.size();
    if (rank == 0 || rank > 5) map.require("dimensions").fail("a tensor has 1 to 5 dimensions");
    argument.box = map.require("box").integers();
    if (argument.box.size() != rank) map.require("box").fail("expected as many extents as `dimensions`");
    if (const auto strides = map.find("strides")) {
        argument.strides = strides->integers(0);
    } else if (rank > 1) {
        value.fail("missing key `strides`", "bytes, of all dimensions but the innermost");
    }
    if (argument.strides.size() != rank - 1) {
        map.require("strides").fail("expected one stride less than `dimensions`: the innermost has none");
    }
    for (std::size_t d = 1; d < rank; ++d) {  // nobody goes along a dimension of one element
        if (argument.strides[d - 1] != 0 || argument.dimensions[d] == 1) continue;
        map.require("strides").fail("the stride of dimension " + std::to_string(d) + ", which has " +
                                        std::to_string(argument.dimensions[d]) + " elements, is 0",
                                    "0 is the stride of dimensions of one element alone");
    }
    argument.element_strides.assign(rank, 1);
    if (const auto strides = map.find("element_strides")) argument.element_strides = strides->integers();
    if (argument.element_strides.size() != rank) {
        map.require("element_strides").fail("expected as many strides as `dimensions`");
    }
    argument.swizzle = choice(map, "swizzle", {"none", "32B", "64B", "128B"});
    argument.interleave = choice(map, "interleave", {"none", "16B", "32B"});
    argument.l2_promotion = choice(map, "l2_promotion", {"none", "64B", "128B", "256B"});
    argument.fill = choice(map, "fill", {"zeros", "nan"});
    return argument;
}

}  // namespace

std::size_t buffer_named(const std::vector<BufferDeclaration>& buffers, const YamlValue& value) {
    std::vector<std::string> names;
    names.reserve(buffers.size());
    for (const BufferDeclaration& buffer : buffers) names.push_back(buffer.name);
    const std::string& name = value.text();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string near = nearest_word(name, names.data(), names.size());
    value.fail("there is no buffer `" + name + "`",
               near.empty() ? "declare it under `buffers`" : "did you mean `" + near + "`?");
}

ArgumentDeclaration read_argument(const YamlValue& value, const std::vector<BufferDeclaration>& buffers) {
    ArgumentDeclaration argument;
    argument.where = value.where;
    if (value.node.IsScalar()) {
        argument.value = BufferReference{buffer_named(buffers, value), 0};
        return argument;
    }
    if (!value.node.IsMap()) {
        value.fail("expected an argument",
                   "write a buffer's name, {buffer: x, offset: BYTES}, or {f32: 2.5}");
    }
    if (value.node["buffer"]) {
        const YamlMap map(value, {"buffer", "offset"});
        const auto offset = map.find("offset");
        argument.value = BufferReference{buffer_named(buffers, map.require("buffer")),
                                         offset ? offset->unsigned_integer() : 0};
    } else if (value.node["peer"]) {
        const YamlMap map(value, {"peer"});
        const YamlValue what = map.require("peer");
        if (what.text() != "distance")
            what.fail("expected `distance`", "from an address of this device to that of its neighbour, as a u64");
        argument.value = PeerDistance{};
    } else if (value.node["tensor_map"]) {
        const YamlMap map(value, {"tensor_map"});
        argument.value = read_tensor_map(map.require("tensor_map"), buffers);
    } else {
        BytesArgument bytes;
        std::size_t alignment = 1;
        std::size_t fields = kMostFields;
        append(value, bytes, alignment, 0, fields);
        argument.value = std::move(bytes);
    }
    return argument;
}

}  // namespace heddle::kernel
