#include "workloads/trace_files/json.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "isa/common/error.h"
#include "workloads/trace/names.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/file.h"
#include "workloads/trace_files/json_stream.h"

namespace heddle::trace {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinities and an empty list has no element type: both are spelt as an object.
Json real_to_json(double value) {
    if (std::isfinite(value)) return value;
    return Json{{"real", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"}};
}

struct JsonAttributeWriter {
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
        for (const auto& [key, value] : op.attributes) attributes[key] = std::visit(JsonAttributeWriter{}, value);
    }
    if (!op.dependencies.empty()) json["dependencies"] = op.dependencies;
    if (op.measured_us) json["measured_us"] = *op.measured_us;
    if (!op.kernel_name.empty()) json["kernel_name"] = op.kernel_name;
    if (op.stream != 0) json["stream"] = op.stream;
    if (op.host_us) json["host_us"] = *op.host_us;
    return json;
}

/// What stands in a list of operands: a tensor's name or its number.
using Reference = std::variant<std::string, std::int64_t>;

/// An op whose tensors are not looked up yet.
struct ReadOp {
    Op op;
    std::vector<Reference> inputs, outputs;
};

/// Takes members and elements as they come: no more of the text is held than one tensor or op. Members stand
/// in any order; ops before the tensors wait for these.
class JsonReader {
  public:
    explicit JsonReader(const std::string& file) : file_(file) {}

    const RecordedDevice& device() const { return device_; }

    void member(const std::string& key, const JsonView& value, bool element) {
        if (element) {
            const std::string where = key + "[" + std::to_string(elements_++) + "]";
            if (key == "tensors") return read_tensor(value, where);
            if (key == "ops") return read_op(value, where);
        }
        elements_ = 0;
        if (key.empty()) fail("the top level", "expected an object");
        check_key(key, "the top level", top_level);
        if (!seen_.insert(key).second) fail(key, "stands there twice");
        if (key == "heddle_trace") {
            if (integer(value, key) != 1)
                fail(key, "this version of the format is not known", "this reader knows version 1");
        } else if (key == "name") {
            trace_.name = text(value, key);
        } else if (key == "device") {
            read_device(value);
        } else if (!value.is_list()) {
            fail(key, "expected a list");
        }
    }

    Trace finish() {
        for (const char* key : {"heddle_trace", "tensors", "ops"})
            if (!seen_.contains(key)) fail("the top level", std::string("key '") + key + "' is missing");
        for (; !waiting_.empty(); waiting_.pop_front()) look_up(std::move(waiting_.front()));
        trace_.check();
        return std::move(trace_);
    }

  private:
    using Keys = std::vector<std::string>;
    static inline const Keys top_level{"heddle_trace", "name", "device", "tensors", "ops"};
    static inline const Keys of_device{"name", "memory_bytes"};
    static inline const Keys of_tensor{"name", "type", "shape", "role", "storage"};
    static inline const Keys of_op{"name",        "kind",       "phase",        "inputs",
                                   "outputs",     "attributes", "dependencies", "measured_us",
                                   "kernel_name", "stream",     "host_us"};

    [[noreturn]] void fail(const std::string& where, const std::string& problem,
                           const std::string& remedy = {}) const {
        throw Error(problem, {.file = file_, .key = where}, remedy);
    }

    void check_key(const std::string& key, const std::string& where, const Keys& known) const {
        if (std::find(known.begin(), known.end(), key) != known.end()) return;
        const std::string near = nearest_word(key, known.data(), known.size());
        fail(where, "unknown key '" + key + "'", near.empty() ? "" : "did you mean " + near + "?");
    }
    void expect_keys(const JsonView& json, const std::string& where, const Keys& known) const {
        if (!json.is_object()) fail(where, "expected an object");
        for (const JsonView item : json) check_key(std::string(item.key()), where, known);
    }
    JsonView required(const JsonView& json, const std::string& where, const char* key) const {
        const JsonView found = json[key];
        if (!found.exists()) fail(where, std::string("key '") + key + "' is missing");
        return found;
    }
    std::int64_t integer(const JsonView& json, const std::string& where) const {
        if (json.kind() != JsonView::Kind::integer)
            fail(where, json.unsigned_integer() ? "the integer is too large" : "expected an integer");
        return json.integer(0);
    }
    std::string text(const JsonView& json, const std::string& where) const {
        if (!json.is_text()) fail(where, "expected a text");
        return std::string(json.text());
    }
    double real(const JsonView& json, const std::string& where) const {
        if (json.is_number()) return json.number(0);
        if (const JsonView word = json["real"]; json.size() == 1 && word.is_text()) {
            if (word.text() == "inf") return INFINITY;
            if (word.text() == "-inf") return -INFINITY;
            if (word.text() == "nan") return NAN;
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

    void read_device(const JsonView& json) {
        expect_keys(json, "device", of_device);
        device_.name = text(required(json, "device", "name"), "device.name");
        const JsonView memory = json["memory_bytes"];
        if (!memory.exists()) return;
        const std::int64_t bytes = integer(memory, "device.memory_bytes");
        if (bytes < 0) fail("device.memory_bytes", "expected a number of bytes");
        device_.memory_bytes = static_cast<std::uint64_t>(bytes);
    }

    void read_tensor(const JsonView& json, const std::string& where) {
        expect_keys(json, where, of_tensor);
        Tensor tensor;
        tensor.name = text(required(json, where, "name"), where + ".name");
        const std::string type = text(required(json, where, "type"), where + ".type");
        tensor.type = converted(where + ".type", [&] { return element_type_from_name(type); });
        const JsonView shape = required(json, where, "shape");
        if (!shape.is_list()) fail(where + ".shape", "expected a list");
        for (const JsonView extent : shape) tensor.shape.push_back(integer(extent, where + ".shape"));
        if (const JsonView role = json["role"]; role.exists()) {
            const std::string name = text(role, where + ".role");
            tensor.role = converted(where + ".role", [&] { return tensor_role_from_name(name); });
        }
        if (const JsonView storage = json["storage"]; storage.exists()) {
            const auto number = storage.unsigned_integer();
            if (!number) fail(where + ".storage", "expected an integer from 0 up");
            tensor.storage = *number;
        }
        const TensorId id = trace_.add(std::move(tensor));
        const auto [place, fresh] = by_name_.try_emplace(trace_.tensor(id).name, id);
        if (!fresh) ambiguous_.insert(place->first);
    }

    std::vector<Reference> references(const JsonView& list, const std::string& where) const {
        std::vector<Reference> result;
        if (!list.exists()) return result;
        if (!list.is_list()) fail(where, "expected a list");
        for (const JsonView item : list) {
            if (item.is_text())
                result.emplace_back(std::string(item.text()));
            else
                result.emplace_back(integer(item, where + "[" + std::to_string(result.size()) + "]"));
        }
        return result;
    }
    std::vector<TensorId> tensors(const std::vector<Reference>& references, const std::string& where) const {
        std::vector<TensorId> ids;
        for (const Reference& reference : references) {
            const std::string place = where + "[" + std::to_string(ids.size()) + "]";
            if (const auto* name = std::get_if<std::string>(&reference)) {
                const auto found = by_name_.find(*name);
                if (found == by_name_.end()) fail(place, "there is no tensor '" + *name + "'");
                if (ambiguous_.contains(found->first))
                    fail(place, "several tensors are named so", "use its number");
                ids.push_back(found->second);
            } else {
                const std::int64_t id = std::get<std::int64_t>(reference);
                if (id < 0 || id >= static_cast<std::int64_t>(trace_.tensors.size()))
                    fail(place, "there is no tensor " + std::to_string(id));
                ids.push_back(static_cast<TensorId>(id));
            }
        }
        return ids;
    }
    void look_up(ReadOp&& read) {
        const std::string where = "ops[" + std::to_string(trace_.ops.size()) + "]";
        read.op.inputs = tensors(read.inputs, where + ".inputs");
        read.op.outputs = tensors(read.outputs, where + ".outputs");
        trace_.add(std::move(read.op));
    }

    Attribute attribute(const JsonView& json, const std::string& where) const {
        if (json.kind() == JsonView::Kind::integer) return integer(json, where);
        if (json.unsigned_integer()) fail(where, "the integer is too large");
        if (json.is_text()) return text(json, where);
        if (json["reals"].exists()) return std::vector<double>{};
        if (!json.is_list()) return real(json, where);
        bool integers = true;
        for (const JsonView item : json)
            integers = integers && (item.kind() == JsonView::Kind::integer || item.unsigned_integer());
        if (integers) {
            std::vector<std::int64_t> values;
            for (const JsonView item : json) values.push_back(integer(item, where));
            return values;
        }
        std::vector<double> values;
        for (const JsonView item : json) values.push_back(real(item, where));
        return values;
    }

    void read_op(const JsonView& json, const std::string& where) {
        expect_keys(json, where, of_op);
        ReadOp read;
        Op& op = read.op;
        op.name = text(required(json, where, "name"), where + ".name");
        const std::string kind = text(required(json, where, "kind"), where + ".kind");
        op.kind = converted(where + ".kind", [&] { return op_kind_from_name(kind); });
        if (const JsonView phase = json["phase"]; phase.exists()) {
            const std::string name = text(phase, where + ".phase");
            op.phase = converted(where + ".phase", [&] { return phase_from_name(name); });
        }
        read.inputs = references(json["inputs"], where + ".inputs");
        read.outputs = references(json["outputs"], where + ".outputs");
        if (const JsonView attributes = json["attributes"]; attributes.exists()) {
            if (!attributes.is_object()) fail(where + ".attributes", "expected an object");
            for (const JsonView item : attributes) {
                const std::string key(item.key());
                op.attributes.put(key, attribute(item, where + ".attributes." + key));
            }
        }
        if (const JsonView dependencies = json["dependencies"]; dependencies.exists()) {
            if (!dependencies.is_list()) fail(where + ".dependencies", "expected a list");
            const std::size_t earlier = trace_.ops.size() + waiting_.size();
            for (const JsonView item : dependencies) {
                const std::int64_t id = integer(item, where + ".dependencies");
                if (id < 0 || id >= static_cast<std::int64_t>(earlier))
                    fail(where + ".dependencies", "op " + std::to_string(id) + " is not an earlier op");
                op.dependencies.push_back(static_cast<OpId>(id));
            }
        }
        read_recorded(json, where, op);
        if (seen_.contains("tensors"))
            look_up(std::move(read));
        else
            waiting_.push_back(std::move(read));
    }

    /// What a recording adds to an op.
    void read_recorded(const JsonView& json, const std::string& where, Op& op) const {
        if (const JsonView time = json["measured_us"]; time.exists())
            op.measured_us = real(time, where + ".measured_us");
        if (const JsonView name = json["kernel_name"]; name.exists())
            op.kernel_name = text(name, where + ".kernel_name");
        if (const JsonView queue = json["stream"]; queue.exists()) {
            const std::int64_t stream = integer(queue, where + ".stream");
            if (stream < 0 || stream > std::numeric_limits<std::uint32_t>::max())
                fail(where + ".stream", "expected a number of a stream");
            op.stream = static_cast<std::uint32_t>(stream);
        }
        if (const JsonView host = json["host_us"]; host.exists()) {
            op.host_us = real(host, where + ".host_us");
            if (!(*op.host_us >= 0)) fail(where + ".host_us", "expected microseconds");
        }
    }

    const std::string& file_;
    Trace trace_;
    RecordedDevice device_;
    std::set<std::string> seen_;  ///< members
    std::size_t elements_ = 0;    ///< of the list that is read
    std::deque<ReadOp> waiting_;
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

Trace from_json(std::istream& text, const std::string& file, RecordedDevice* device) {
    JsonReader reader(file);
    Trace trace = in_file(file, [&] {
        read_json_members(text, file, [&reader](std::string_view key, JsonView value, bool element) {
            reader.member(std::string(key), value, element);
        });
        return reader.finish();
    });
    if (device != nullptr) *device = reader.device();
    return trace;
}

Trace from_json(const std::string& text, const std::string& file, RecordedDevice* device) {
    return from_json(*memory_stream(text), file, device);
}

}  // namespace heddle::trace
