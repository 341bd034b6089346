#include "workloads/trace_files/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/common/error.h"
#include "workloads/trace/names.h"
#include "workloads/trace_files/file.h"
#include "workloads/trace_files/json_text.h"

namespace heddle::trace {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinities and an empty list has no element type: both are spelt as an object.
Json real_to_json(double value) {
    if (std::isfinite(value)) return value;
    return Json{{"real", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"}};
}

struct AttributeWriter {
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return real_to_json(value); }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(const std::vector<std::int64_t>& values) const { return Json(values); }
    Json operator()(const std::vector<double>& values) const {
        if (values.empty()) return Json{{"reals", Json::array()}};
        Json list = Json::array();
        for (const double value : values) list.push_back(real_to_json(value));
        return list;
    }
};

bool names_are_unique(const Trace& trace) {
    std::set<std::string> names;
    for (const Tensor& tensor : trace.tensors) {
        if (tensor.name.empty() || !names.insert(tensor.name).second) return false;
    }
    return true;
}

Json device_to_json(const RecordedDevice& device) {
    Json json{{"name", device.name}};
    if (device.memory_bytes != 0) json["memory_bytes"] = device.memory_bytes;
    return json;
}

Json tensor_to_json(const Tensor& tensor) {
    Json json{{"name", tensor.name}, {"type", name_of(tensor.type)}, {"shape", tensor.shape}};
    if (tensor.role != TensorRole::activation) json["role"] = name_of(tensor.role);
    if (tensor.storage != 0) json["storage"] = tensor.storage;
    return json;
}

Json op_to_json(const Trace& trace, const Op& op, bool by_name) {
    const auto operands = [&](const std::vector<TensorId>& ids) {
        Json list = Json::array();
        for (const TensorId id : ids) list.push_back(by_name ? Json(trace.tensor(id).name) : Json(id));
        return list;
    };
    Json json{{"name", op.name}, {"kind", name_of(op.kind)}, {"phase", name_of(op.phase)}};
    json["inputs"] = operands(op.inputs);
    json["outputs"] = operands(op.outputs);
    if (!op.attributes.empty()) {
        Json& attributes = json["attributes"] = Json::object();
        for (const auto& [key, value] : op.attributes) attributes[key] = std::visit(AttributeWriter{}, value);
    }
    if (!op.dependencies.empty()) json["dependencies"] = op.dependencies;
    if (op.measured_us) json["measured_us"] = *op.measured_us;
    if (!op.kernel_name.empty()) json["kernel_name"] = op.kernel_name;
    if (op.stream != 0) json["stream"] = op.stream;
    if (op.host_us) json["host_us"] = *op.host_us;
    return json;
}

class Reader {
  public:
    explicit Reader(const std::string& file) : file_(file) {}

    const RecordedDevice& device() const { return device_; }

    Trace read(const Json& json) {
        expect_keys(json, "the top level", {"heddle_trace", "name", "device", "tensors", "ops"});
        if (integer(member(json, "the top level", "heddle_trace"), "heddle_trace") != 1) {
            fail("heddle_trace", "this version of the format is not known", "this reader knows version 1");
        }
        if (json.contains("name")) trace_.name = text(json["name"], "name");
        if (json.contains("device")) read_device(json["device"]);
        read_list(json, "tensors",
                  [this](const Json& item, const std::string& where) { read_tensor(item, where); });
        read_list(json, "ops", [this](const Json& item, const std::string& where) { read_op(item, where); });
        trace_.check();
        return std::move(trace_);
    }

  private:
    [[noreturn]] void fail(const std::string& where, const std::string& problem,
                           const std::string& remedy = {}) const {
        throw Error(problem, {.file = file_, .key = where}, remedy);
    }

    void expect_keys(const Json& json, const std::string& where,
                     const std::vector<std::string>& known) const {
        if (!json.is_object()) fail(where, "expected an object");
        for (const auto& item : json.items()) {
            if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
            const std::string near = nearest_word(item.key(), known.data(), known.size());
            fail(where, "unknown key '" + item.key() + "'", near.empty() ? "" : "did you mean " + near + "?");
        }
    }
    const Json& member(const Json& json, const std::string& where, const std::string& key) const {
        const auto found = json.find(key);
        if (found == json.end()) fail(where, "key '" + key + "' is missing");
        return *found;
    }
    std::int64_t integer(const Json& json, const std::string& where) const {
        if (!json.is_number_integer()) fail(where, "expected an integer");
        if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
            fail(where, "the integer is too large");
        return json.get<std::int64_t>();
    }
    std::string text(const Json& json, const std::string& where) const {
        if (!json.is_string()) fail(where, "expected a text");
        return json.get<std::string>();
    }
    double real(const Json& json, const std::string& where) const {
        if (json.is_number()) return json.get<double>();
        if (json.is_object() && json.size() == 1 && json.contains("real")) {
            const std::string word = text(json["real"], where);
            if (word == "inf") return INFINITY;
            if (word == "-inf") return -INFINITY;
            if (word == "nan") return NAN;
        }
        fail(where, "expected a number");
    }
    template <class Convert>
    auto converted(const std::string& where, Convert convert) const {
        try {
            return convert();
        } catch (const Error& error) {
            fail(where, error.problem(), error.remedy());
        }
    }
    template <class Read>
    void read_list(const Json& json, const std::string& key, Read read) {
        const Json& list = member(json, "the top level", key);
        if (!list.is_array()) fail(key, "expected a list");
        for (std::size_t i = 0; i < list.size(); ++i) read(list[i], key + "[" + std::to_string(i) + "]");
    }

    void read_device(const Json& json) {
        expect_keys(json, "device", {"name", "memory_bytes"});
        device_.name = text(member(json, "device", "name"), "device.name");
        if (!json.contains("memory_bytes")) return;
        const std::int64_t bytes = integer(json["memory_bytes"], "device.memory_bytes");
        if (bytes < 0) fail("device.memory_bytes", "expected a number of bytes");
        device_.memory_bytes = static_cast<std::uint64_t>(bytes);
    }

    void read_tensor(const Json& json, const std::string& where) {
        expect_keys(json, where, {"name", "type", "shape", "role", "storage"});
        Tensor tensor;
        tensor.name = text(member(json, where, "name"), where + ".name");
        const std::string type = text(member(json, where, "type"), where + ".type");
        tensor.type = converted(where + ".type", [&] { return element_type_from_name(type); });
        const Json& shape = member(json, where, "shape");
        if (!shape.is_array()) fail(where + ".shape", "expected a list");
        for (const Json& extent : shape) tensor.shape.push_back(integer(extent, where + ".shape"));
        if (json.contains("role")) {
            const std::string role = text(json["role"], where + ".role");
            tensor.role = converted(where + ".role", [&] { return tensor_role_from_name(role); });
        }
        if (json.contains("storage")) {
            if (!json["storage"].is_number_integer()) fail(where + ".storage", "expected an integer");
            tensor.storage = json["storage"].get<std::uint64_t>();
        }
        const TensorId id = trace_.add(std::move(tensor));
        const auto [place, fresh] = by_name_.try_emplace(trace_.tensor(id).name, id);
        if (!fresh) ambiguous_.insert(place->first);
    }

    std::vector<TensorId> operands(const Json& json, const std::string& where, const std::string& key) const {
        std::vector<TensorId> ids;
        if (!json.contains(key)) return ids;
        const std::string list = where + "." + key;
        if (!json[key].is_array()) fail(list, "expected a list");
        for (std::size_t i = 0; i < json[key].size(); ++i) {
            const Json& item = json[key][i];
            const std::string place = list + "[" + std::to_string(i) + "]";
            if (item.is_string()) {
                const auto found = by_name_.find(item.get<std::string>());
                if (found == by_name_.end())
                    fail(place, "there is no tensor '" + item.get<std::string>() + "'");
                if (ambiguous_.contains(found->first))
                    fail(place, "several tensors are named so", "use its number");
                ids.push_back(found->second);
            } else {
                const std::int64_t id = integer(item, place);
                if (id < 0 || id >= static_cast<std::int64_t>(trace_.tensors.size())) {
                    fail(place, "there is no tensor " + std::to_string(id));
                }
                ids.push_back(static_cast<TensorId>(id));
            }
        }
        return ids;
    }

    Attribute attribute(const Json& json, const std::string& where) const {
        if (json.is_number_integer()) return integer(json, where);
        if (json.is_string()) return text(json, where);
        if (json.is_object() && json.contains("reals")) return std::vector<double>{};
        if (!json.is_array()) return real(json, where);
        const bool integers =
            std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_number_integer(); });
        if (integers) {
            std::vector<std::int64_t> values;
            for (const Json& item : json) values.push_back(integer(item, where));
            return values;
        }
        std::vector<double> values;
        for (const Json& item : json) values.push_back(real(item, where));
        return values;
    }

    void read_op(const Json& json, const std::string& where) {
        expect_keys(json, where,
                    {"name", "kind", "phase", "inputs", "outputs", "attributes", "dependencies",
                     "measured_us", "kernel_name", "stream", "host_us"});
        Op op;
        op.name = text(member(json, where, "name"), where + ".name");
        const std::string kind = text(member(json, where, "kind"), where + ".kind");
        op.kind = converted(where + ".kind", [&] { return op_kind_from_name(kind); });
        if (json.contains("phase")) {
            const std::string phase = text(json["phase"], where + ".phase");
            op.phase = converted(where + ".phase", [&] { return phase_from_name(phase); });
        }
        op.inputs = operands(json, where, "inputs");
        op.outputs = operands(json, where, "outputs");
        if (json.contains("attributes")) {
            if (!json["attributes"].is_object()) fail(where + ".attributes", "expected an object");
            for (const auto& item : json["attributes"].items()) {
                op.attributes[item.key()] = attribute(item.value(), where + ".attributes." + item.key());
            }
        }
        if (json.contains("dependencies")) {
            if (!json["dependencies"].is_array()) fail(where + ".dependencies", "expected a list");
            for (const Json& item : json["dependencies"]) {
                const std::int64_t id = integer(item, where + ".dependencies");
                if (id < 0 || id >= static_cast<std::int64_t>(trace_.ops.size())) {
                    fail(where + ".dependencies", "op " + std::to_string(id) + " is not an earlier op");
                }
                op.dependencies.push_back(static_cast<OpId>(id));
            }
        }
        if (json.contains("measured_us")) op.measured_us = real(json["measured_us"], where + ".measured_us");
        if (json.contains("kernel_name")) op.kernel_name = text(json["kernel_name"], where + ".kernel_name");
        if (json.contains("stream")) {
            const std::int64_t stream = integer(json["stream"], where + ".stream");
            if (stream < 0 || stream > std::numeric_limits<std::uint32_t>::max())
                fail(where + ".stream", "expected a number of a stream");
            op.stream = static_cast<std::uint32_t>(stream);
        }
        if (json.contains("host_us")) {
            op.host_us = real(json["host_us"], where + ".host_us");
            if (!(*op.host_us >= 0)) fail(where + ".host_us", "expected microseconds");
        }
        trace_.add(std::move(op));
    }

    const std::string& file_;
    Trace trace_;
    RecordedDevice device_;
    std::map<std::string, TensorId> by_name_;
    std::set<std::string> ambiguous_;
};

}  // namespace

std::string to_json(const Trace& trace, const RecordedDevice& device) {
    const bool by_name = names_are_unique(trace);
    // One line per tensor and op: a file that people can read and `diff` can compare.
    std::string text = "{\n\"heddle_trace\": 1,\n\"name\": " +
                       Json(trace.name).dump(-1, ' ', false, Json::error_handler_t::replace) + ",\n";
    if (device != RecordedDevice{})
        text += "\"device\": " + device_to_json(device).dump(-1, ' ', false, Json::error_handler_t::replace) +
                ",\n";
    text += "\"tensors\": [";
    const char* separator = "\n";
    for (const Tensor& tensor : trace.tensors) {
        text +=
            separator + ("  " + tensor_to_json(tensor).dump(-1, ' ', false, Json::error_handler_t::replace));
        separator = ",\n";
    }
    text += "\n],\n\"ops\": [";
    separator = "\n";
    for (const Op& op : trace.ops) {
        text += separator +
                ("  " + op_to_json(trace, op, by_name).dump(-1, ' ', false, Json::error_handler_t::replace));
        separator = ",\n";
    }
    return text + "\n]\n}\n";
}

Trace from_json(const std::string& text, const std::string& file, RecordedDevice* device) {
    const Json json = parse_json<Json>(text, file);
    Reader reader(file);
    Trace trace = in_file(file, [&] { return reader.read(json); });
    if (device != nullptr) *device = reader.device();
    return trace;
}

}  // namespace heddle::trace
