// Numbers that become sizes, counts and times, in each place of each kind of recording: what there cannot be
// is one error that names the place.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "isa/common/error.h"
#include "workloads/importers/chakra_execution.h"
#include "workloads/importers/execution_trace.h"
#include "workloads/importers/import_recording.h"
#include "workloads/importers/kineto.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/file.h"

using namespace heddle;

namespace {

/// `text` with the number in place of '@'.
std::string with(std::string text, const std::string& number) {
    text.replace(text.find('@'), 1, number);
    return text;
}

void import_kineto(const std::string& text) {
    importers::import_recording(importers::read_kineto(*trace::memory_stream(text), "profile.json"), "p");
}
void import_execution(const std::string& text) {
    importers::import_recording(importers::read_execution_trace(*trace::memory_stream(text), "profile.json"),
                                "p");
}

/// A kernel of 12 us and the call that launched it; further arguments of both.
std::string kineto(const std::string& of_kernel, const std::string& of_call = "",
                   const std::string& time = "12", const std::string& members = "") {
    return "{" + members +
           R"("traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 90, "dur": 55, "args": {"External id": 2)" +
           of_call +
           R"(}}, {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 200, "dur": )" +
           time + R"(, "args": {"External id": 2, "stream": 7, "correlation": 9)" + of_kernel + "}}]}";
}

/// One ReLU of [32, 128], as schema 1.1.1 has it.
std::string execution(const std::string& tensor, const std::string& shape, const std::string& strides,
                      const std::string& attributes = "") {
    const std::string operand = R"j({"values": [)j" + tensor + R"j(], "shapes": [)j" + shape +
                                R"j(], "types": ["Tensor(float)"], "strides": [)j" + strides + "]}";
    return R"j({"schema": "1.1.1", "nodes": [{"id": 3, "name": "aten::relu", "ctrl_deps": 1, "inputs": )j" +
           operand +
           R"j(, "outputs": {"values": [[15, 24, 0, 4096, 4, "cuda:0"]], "shapes": [[32, 128]], )j" +
           R"j("types": ["Tensor(float)"], "strides": [[128, 1]]}, "attrs": [)j" + attributes + "]}]}";
}

struct Place {
    const char* name;
    const char* told;  ///< where the error says that it is
    std::string text;  ///< '@': the number
    std::function<void(const std::string&)> import;
    bool time = false;     ///< fractions are as good
    bool signed_ = false;  ///< so are negative numbers
    bool unknown = false;  ///< -1 stands for what was not recorded
};

std::vector<Place> places() {
    const std::string x = R"([10, 20, 0, 4096, 4, "cuda:0"])";
    const std::string collective = R"(, "Collective name": "allreduce", "dtype": "Float", )";
    return {
        {"duration of an event", "traceEvents[1].dur", kineto("", "", "@"), import_kineto, true},
        {"moment of an event", "traceEvents[0].ts",
         R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": @, "dur": 1, "args": {"stream": 7}}]})",
         import_kineto, true, true},
        {"extents of operands", "traceEvents[0].args",
         kineto("", R"(, "Input Dims": [[@, 128]], "Input type": ["float"])"), import_kineto},
        {"strides of operands", "traceEvents[0].args",
         kineto("", R"(, "Input Dims": [[32, 128]], "Input type": ["float"], "Input Strides": [[@, 1]])"),
         import_kineto},
        {"elements of a collective", "traceEvents[1].args.In msg nelems",
         kineto(collective + R"("In msg nelems": @)"), import_kineto, false, false, true},
        {"ranks of a collective", "traceEvents[1].args.Group size",
         kineto(collective + R"("In msg nelems": 8, "Group size": @)"), import_kineto, false, false, true},
        {"bytes of a copy", "traceEvents[1].args.bytes", kineto(R"(, "bytes": @)"), import_kineto, false,
         false, true},
        {"extents of a grid", "traceEvents[1].args.grid",
         kineto(R"(, "grid": [1, @, 1], "block": [32, 1, 1])"), import_kineto},
        {"extents of a thread block", "traceEvents[1].args.block",
         kineto(R"(, "grid": [1, 1, 1], "block": [@, 1, 1])"), import_kineto},
        {"memory of the device", "deviceProperties.totalGlobalMem",
         kineto("", "", "12", R"("deviceProperties": [{"name": "GPU", "totalGlobalMem": @}], )"),
         import_kineto},
        {"devices of the run", "distributedInfo.world_size",
         kineto("", "", "12", R"("distributedInfo": {"world_size": @}, )"), import_kineto, false, false,
         true},
        {"extents in an execution trace", "nodes[0].inputs", execution(x, "[@, 128]", "[128, 1]"),
         import_execution},
        {"strides in an execution trace", "nodes[0].inputs", execution(x, "[32, 128]", "[@, 1]"),
         import_execution},
        {"offset in an execution trace", "nodes[0].inputs",
         execution(R"([10, 20, @, 4096, 4, "cuda:0"])", "[32, 128]", "[128, 1]"), import_execution},
        {"elements of a collective in an execution trace", "nodes[0].attrs.in_msg_nelems",
         execution(
             x, "[32, 128]", "[128, 1]",
             R"({"name": "collective_name", "value": "allreduce"}, {"name": "in_msg_nelems", "value": @})"),
         import_execution, false, false, true},
        {"ranks in an execution trace", "nodes[0].attrs.pg_size",
         execution(x, "[32, 128]", "[128, 1]", R"({"name": "pg_size", "value": @})"), import_execution, false,
         false, true},
    };
}

}  // namespace

TEST_CASE("sizes, counts and times of recordings: each bad number in each place is one error that names it") {
    for (const Place& place : places()) {
        CAPTURE(place.name);
        CHECK_NOTHROW(place.import(with(place.text, "32")));
        if (place.time) CHECK_NOTHROW(place.import(with(place.text, "0.5")));
        if (place.signed_) CHECK_NOTHROW(place.import(with(place.text, "-5")));
        if (place.unknown) CHECK_NOTHROW(place.import(with(place.text, "-1")));
        for (const std::string number :
             {"NaN", "Infinity", "-Infinity", "null", "-5", "1e400", "1e30", "4611686018427387904",
              "9223372036854775808", "18446744073709551616", "0.5", "{}"}) {
            if ((number == "0.5" && place.time) || (number == "-5" && place.signed_)) continue;
            CAPTURE(number);
            // What is no number of a double is no JSON.
            const bool told_as_json = number == "1e400";
            CHECK_THROWS_WITH(place.import(with(place.text, number)),
                              Catch::StartsWith("profile.json") && !Catch::Contains("\n") &&
                                  Catch::Contains(told_as_json ? "not valid JSON" : place.told));
        }
    }
}

TEST_CASE("durations and sizes of Chakra nodes: each bad number is one error that names the node") {
    const auto import = [](const std::function<void(trace::ChakraNode&)>& change) {
        trace::ChakraGraph graph;
        trace::ChakraNode node;
        node.id = 4;
        node.name = "ncclDevKernel_AllReduce";
        node.type = trace::ChakraNodeType::compute;
        node.duration_us = 3;
        node.attributes = {
            {"is_cpu_op", false}, {"stream", std::int64_t{7}}, {"comm_size", std::int64_t{4096}}};
        change(node);
        graph.nodes.push_back(node);
        return trace::in_file("step.et", [&] { return importers::import_chakra_execution(graph, "step"); });
    };
    CHECK(import([](trace::ChakraNode&) {}).ops[0].measured_us == 3.0);
    const auto attribute = [](const char* name, const trace::ChakraValue& value) {
        return [name, value](trace::ChakraNode& node) {
            std::erase_if(node.attributes, [name](const auto& old) { return old.name == name; });
            node.attributes.push_back({name, value});
        };
    };
    CHECK(import(attribute("duration_ns", std::int64_t{1500})).ops[0].measured_us == 1.5);
    CHECK(import(attribute("comm_size", std::uint64_t{64})).ops[0].get(keys::collective.bytes) == 64);
    for (const std::uint64_t bad : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        CHECK_THROWS_WITH(import([bad](trace::ChakraNode& node) { node.duration_us = bad; }),
                          Catch::StartsWith("step.et: node 4 (ncclDevKernel_AllReduce)") &&
                              Catch::Contains("is not a time in microseconds"));
    }
    for (const char* name : {"duration_ns", "comm_size", "pg_size"}) {
        CAPTURE(name);
        const std::string told = std::string("step.et: node 4 (ncclDevKernel_AllReduce), ") + name;
        for (const trace::ChakraValue& bad :
             std::vector<trace::ChakraValue>{std::int64_t{-5}, std::int64_t{1} << 62, std::uint64_t{1} << 63,
                                             0.5, double(INFINITY), double(NAN), 1e300})
            CHECK_THROWS_WITH(import(attribute(name, bad)), Catch::StartsWith(told));
    }
    CHECK_THROWS_WITH(
        import([](trace::ChakraNode& node) {
            node.inputs = {"[[5, 6, 0, 1, 4, 'cuda:0']]", "[[4611686018427387904]]", "['Tensor(float)']"};
        }),
        Catch::StartsWith("step.et: node 4") && Catch::Contains("there is no tensor"));
}
