// The JSON form of Chakra graphs: {"workload_graph": [...], "workload_name": ..., "ngpus": ..., "soc": ...}.
#include "isa/common/error.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/chakra.h"
#include "workloads/trace_files/json_stream.h"

namespace heddle::trace {
namespace {

class ChakraJsonReader {
  public:
    explicit ChakraJsonReader(const std::string& file) : file_(file) {}

    void member(std::string_view key, const JsonView& value, bool element) {
        if (key != "workload_graph") return;
        if (element) return add_node(value);
        if (!value.is_list()) fail_without_list();
        has_list_ = true;
    }

    ChakraGraph finish() {
        if (!has_list_) fail_without_list();
        graph_.version = "json";
        return std::move(graph_);
    }

  private:
    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(problem,
                    {.file = file_, .key = "workload_graph[" + std::to_string(graph_.nodes.size()) + "]"});
    }
    [[noreturn]] void fail_without_list() const {
        throw Error("there is no list 'workload_graph'", {.file = file_},
                    "this is not a Chakra graph in JSON");
    }

    void add_node(const JsonView& json) {
        if (!json.is_object()) fail("expected an object");
        ChakraNode node;
        node.id = number(required(json, "Id"));
        node.name = text(required(json, "Name"));
        node.type = static_cast<ChakraNodeType>(number(required(json, "NodeType")));
        if (const JsonView time = json["runtime"]; time.exists()) node.duration_us = number(time);
        for (const char* key : {"ctrlDeps", "ctrl_deps"})
            if (const JsonView list = json[key]; list.exists()) node.control_dependencies = numbers(list);
        if (const JsonView list = json["data_deps"]; list.exists()) node.data_dependencies = numbers(list);
        for (const JsonView item : json) {
            const std::string key(item.key());
            if (item.kind() == JsonView::Kind::boolean) {
                node.attributes.push_back({key, item.truth()});
            } else if (key.starts_with("comm") && item.kind() == JsonView::Kind::integer) {
                node.attributes.push_back({key, item.integer(0)});
            } else if (key == "comm_size") {
                fail("comm_size is no whole number of bytes");
            }
        }
        graph_.nodes.push_back(std::move(node));
    }

    JsonView required(const JsonView& json, const char* key) const {
        const JsonView found = json[key];
        if (!found.exists()) fail(std::string("key '") + key + "' is missing");
        return found;
    }
    std::uint64_t number(const JsonView& json) const {
        if (json.kind() != JsonView::Kind::integer || json.integer(-1) < 0)
            fail("expected a number from 0 up");
        return static_cast<std::uint64_t>(json.integer(0));
    }
    std::vector<std::uint64_t> numbers(const JsonView& json) const {
        if (!json.is_list()) fail("expected a list of numbers");
        std::vector<std::uint64_t> result;
        for (const JsonView item : json) result.push_back(number(item));
        return result;
    }
    std::string text(const JsonView& json) const {
        if (!json.is_text()) fail("expected a text");
        return std::string(json.text());
    }

    const std::string& file_;
    ChakraGraph graph_;
    bool has_list_ = false;
};

}  // namespace

ChakraGraph parse_chakra_json(std::istream& text, const std::string& file) {
    ChakraJsonReader reader(file);
    read_json_members(text, file, [&reader](std::string_view key, JsonView value, bool element) {
        reader.member(key, value, element);
    });
    return reader.finish();
}

ChakraGraph parse_chakra_json(const std::string& text, const std::string& file) {
    return parse_chakra_json(*memory_stream(text), file);
}

}  // namespace heddle::trace
