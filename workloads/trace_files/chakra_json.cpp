// The JSON form of Chakra graphs: {"workload_graph": [...], "workload_name": ..., "ngpus": ..., "soc": ...}.
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "workloads/trace_files/chakra.h"
#include "workloads/trace_files/json_text.h"

namespace heddle::trace {
namespace {

using Json = nlohmann::json;

class Reader {
  public:
    explicit Reader(const std::string& file) : file_(file) {}

    ChakraNode node(const Json& json, std::size_t index) const {
        where_ = "workload_graph[" + std::to_string(index) + "]";
        if (!json.is_object()) fail("expected an object");
        ChakraNode node;
        node.id = number(required(json, "Id"));
        node.name = text(required(json, "Name"));
        node.type = static_cast<ChakraNodeType>(number(required(json, "NodeType")));
        if (json.contains("runtime")) node.duration_us = number(json["runtime"]);
        for (const char* key : {"ctrlDeps", "ctrl_deps"}) {
            if (json.contains(key)) node.control_dependencies = numbers(json[key]);
        }
        if (json.contains("data_deps")) node.data_dependencies = numbers(json["data_deps"]);
        for (const auto& item : json.items()) {
            const Json& value = item.value();
            if (value.is_boolean()) {
                node.attributes.push_back({item.key(), value.get<bool>()});
            } else if (item.key().starts_with("comm") && value.is_number_integer()) {
                node.attributes.push_back({item.key(), value.get<std::int64_t>()});
            }
        }
        return node;
    }

    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(problem, {.file = file_, .key = where_});
    }

  private:
    const Json& required(const Json& json, const char* key) const {
        const auto found = json.find(key);
        if (found == json.end()) fail(std::string("key '") + key + "' is missing");
        return *found;
    }
    std::uint64_t number(const Json& json) const {
        if (!json.is_number_integer() || json.get<std::int64_t>() < 0) fail("expected a number from 0 up");
        return json.get<std::uint64_t>();
    }
    std::vector<std::uint64_t> numbers(const Json& json) const {
        if (!json.is_array()) fail("expected a list of numbers");
        std::vector<std::uint64_t> result;
        for (const Json& item : json) result.push_back(number(item));
        return result;
    }
    std::string text(const Json& json) const {
        if (!json.is_string()) fail("expected a text");
        return json.get<std::string>();
    }

    const std::string& file_;
    mutable std::string where_;
};

}  // namespace

ChakraGraph parse_chakra_json(const std::string& text, const std::string& file) {
    const Json json = parse_json<Json>(text, file);
    if (!json.is_object() || !json.contains("workload_graph") || !json["workload_graph"].is_array()) {
        throw Error("there is no list 'workload_graph'", {.file = file},
                    "this is not a Chakra graph in JSON");
    }
    ChakraGraph graph;
    graph.version = "json";
    const Reader reader(file);
    const Json& nodes = json["workload_graph"];
    for (std::size_t i = 0; i < nodes.size(); ++i) graph.nodes.push_back(reader.node(nodes[i], i));
    return graph;
}

}  // namespace heddle::trace
