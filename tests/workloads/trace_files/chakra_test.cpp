#include "workloads/trace_files/chakra.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "data.h"
#include "isa/common/error.h"
#include "specimen.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/read.h"

using namespace heddle::trace;
using heddle::Error;
using heddle::test::recording;

namespace {

std::string temporary(const std::string& name) {
    return (std::filesystem::temp_directory_path() /
            ("heddle_trace_test_" + std::to_string(getpid()) + "_" + name))
        .string();
}

std::string whole_of(const std::string& path) {
    ByteStream stream = open_stream(path);
    return read_whole(stream);
}

/// Either a graph or a heddle::Error: anything else fails the test. Returns whether it was a graph.
bool reads(const std::string& bytes) {
    try {
        const std::string path = temporary("cut.et");
        std::ofstream(path, std::ios::binary) << bytes;
        ByteStream stream = open_stream(path);
        std::filesystem::remove(path);
        const ChakraGraph graph = parse_chakra(read_whole(stream), "cut.et");
        if (holds_heddle_trace(graph)) from_chakra(graph, "cut.et");
        return true;
    } catch (const Error& error) {
        if (std::string(error.what()).find("cut.et") == std::string::npos) FAIL(error.what());
        return false;
    }
}

}  // namespace

TEST_CASE("the stream is as the public schema says, byte by byte") {
    // Written by hand from et_def.proto: GlobalMetadata {version = "v"}, then Node {id = 5, name = "n", type
    // = 4, ctrl_deps = [3], data_deps = [2, 300] (packed), duration_micros = 7, inputs {shapes = "[[2]]"},
    // attr {name = "is_cpu_op", bool_val = false}, attr {name = "s", sint32_val = -3}}.
    using namespace std::string_literals;
    const std::string metadata = "\x0a\x01v"s;
    const std::string inputs = "\x12\x05[[2]]"s;
    const std::string flag = "\x0a\x09is_cpu_op\xd8\x01"s + '\0';
    const std::string negative = "\x0a\x01s\x78\x05"s;
    const std::string node = "\x08\x05\x12\x01n\x18\x04\x22\x01\x03\x2a\x03\x02\xac\x02\x38\x07"s + "\x42" +
                             static_cast<char>(inputs.size()) + inputs + "\x52" +
                             static_cast<char>(flag.size()) + flag + "\x52" +
                             static_cast<char>(negative.size()) + negative;
    const std::string bytes =
        static_cast<char>(metadata.size()) + metadata + static_cast<char>(node.size()) + node;

    const ChakraGraph graph = parse_chakra(bytes, "hand.et");
    CHECK(graph.version == "v");
    REQUIRE(graph.nodes.size() == 1);
    const ChakraNode& read = graph.nodes[0];
    CHECK(read.id == 5);
    CHECK(read.name == "n");
    CHECK(read.type == ChakraNodeType::compute);
    CHECK(read.control_dependencies == std::vector<std::uint64_t>{3});
    CHECK(read.data_dependencies == std::vector<std::uint64_t>{2, 300});
    CHECK(read.duration_us == 7);
    CHECK(read.inputs.shapes == "[[2]]");
    CHECK(read.boolean("is_cpu_op", true) == false);
    CHECK(read.integer("s", 0) == -3);
}

TEST_CASE("a trace survives Chakra, plain and gzip") {
    const Trace trace = test::specimen();
    for (const std::string name : {"round.et", "round.et.gz", "round.json", "round.json.gz"}) {
        const std::string path = temporary(name);
        write_trace(trace, path);
        CHECK(test::same(read_trace(path), trace));
        std::filesystem::remove(path);
    }
}

TEST_CASE("a Chakra graph keeps the device of a recording") {
    const RecordedDevice device{"NVIDIA A100-PG509-200", 42505273344};
    const ChakraGraph graph = parse_chakra(serialize_chakra(to_chakra(test::specimen(), device)), "x.et");
    RecordedDevice read;
    CHECK(test::same(from_chakra(graph, "x.et", &read), test::specimen()));
    CHECK(read == device);
}

TEST_CASE("plain consumers of Chakra see types, operands, dependencies and collectives") {
    const ChakraGraph graph = parse_chakra(serialize_chakra(to_chakra(test::specimen())), "x.et");
    REQUIRE(graph.nodes.size() == 3);
    CHECK(graph.nodes[0].type == ChakraNodeType::compute);
    CHECK(graph.nodes[0].duration_us == 18);
    CHECK(graph.nodes[0].inputs.shapes == "[[4, 8], [8, 3]]");
    CHECK(graph.nodes[0].inputs.types == "['Tensor(c10::BFloat16)', 'Tensor(c10::BFloat16)']");
    CHECK(graph.nodes[0].outputs.shapes == "[[4, 3]]");
    CHECK(graph.nodes[1].data_dependencies == std::vector<std::uint64_t>{graph.nodes[0].id});
    CHECK(graph.nodes[2].type == ChakraNodeType::collective);
    CHECK(graph.nodes[2].integer("comm_type", -1) == 0);
    CHECK(graph.nodes[2].integer("comm_size", -1) == 408576);
    CHECK(graph.nodes[2].boolean("is_cpu_op", true) == false);
}

TEST_CASE("a cut file is an error that names the byte, never a crash and never half a trace") {
    const std::string whole = serialize_chakra(to_chakra(test::specimen()));
    for (std::size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(reads(whole.substr(0, length)));
    CHECK(reads(whole));
    try {
        parse_chakra(whole.substr(0, whole.size() - 1), "cut.et");
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("node number 3") != std::string::npos);
        CHECK(std::string(error.what()).find("byte ") != std::string::npos);
    }
}

TEST_CASE("corrupt bytes are an error or another graph, never a crash") {
    const std::string whole = serialize_chakra(to_chakra(test::specimen()));
    unsigned errors = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        for (const unsigned char flip : {0x01, 0x80, 0xff}) {
            std::string bytes = whole;
            bytes[i] = static_cast<char>(bytes[i] ^ flip);
            if (!reads(bytes)) ++errors;
        }
    }
    CHECK(errors > whole.size() / 2);
}

TEST_CASE("a recorded gzip file cut at every 97th byte is always an error") {
    const Trace trace = test::specimen();
    const std::string path = temporary("cut.et.gz");
    write_trace(trace, path);
    std::ifstream stream(path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(stream)), {});
    std::filesystem::remove(path);
    for (std::size_t length = 2; length < whole.size(); ++length) CHECK_FALSE(reads(whole.substr(0, length)));
}

TEST_CASE("other files are recognised as not being traces") {
    const std::string path = temporary("other");
    for (const std::string content :
         {"", "hello world, this is no trace", "{\"a\": 1}", "{\"heddle_trace\": 2}", "\x1f\x8b nonsense",
          "{\"heddle_trace\": 1, \"name\": }"}) {
        std::ofstream(path, std::ios::binary) << content;
        CHECK_THROWS_AS(read_trace(path), Error);
    }
    std::filesystem::remove(path);
    CHECK_THROWS_AS(read_trace("/no/such/file.et"), Error);
    CHECK_THROWS_AS(write_trace(test::specimen(), temporary("x.pt")), Error);
}

TEST_CASE("recorded GPT step: nodes, kernels and durations") {
    const auto path = recording("traces/chakra/gpt_12layer_h100_bf16.tar.gz");
    if (!path) return;
    const ChakraGraph graph = read_chakra(*path);
    CHECK(graph.nodes.size() == 11347);
    std::size_t kernels = 0;
    std::uint64_t microseconds = 0;
    for (const ChakraNode& node : graph.nodes) {
        if (node.boolean("is_cpu_op", true)) continue;
        ++kernels;
        microseconds += node.duration_us;
    }
    CHECK(kernels == 1617);
    CHECK(microseconds == 31014);
    // The same graph, written by us, reads back the same.
    const ChakraGraph again = parse_chakra(serialize_chakra(graph), "again.et");
    REQUIRE(again.nodes.size() == graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        REQUIRE(again.nodes[i].name == graph.nodes[i].name);
        REQUIRE(again.nodes[i].inputs.values == graph.nodes[i].inputs.values);
        REQUIRE(again.nodes[i].attributes.size() == graph.nodes[i].attributes.size());
        for (std::size_t k = 0; k < graph.nodes[i].attributes.size(); ++k) {
            REQUIRE(again.nodes[i].attributes[k].value == graph.nodes[i].attributes[k].value);
        }
    }
    CHECK_THROWS_AS(read_trace(*path), Error);  // a recording, not ours
}

TEST_CASE("recorded GPT step, cut: an error or fewer nodes") {
    const auto path = recording("traces/chakra/gpt_12layer_h100_bf16.tar.gz");
    if (!path) return;
    const std::string whole = whole_of(*path);
    const std::string head = whole.substr(0, 40000);
    unsigned graphs = 0;
    for (std::size_t length = 0; length < head.size(); length += 97)
        graphs += reads(head.substr(0, length)) ? 1 : 0;
    CHECK(graphs < 10);  // only cuts between two nodes can go unnoticed in a recording
}

TEST_CASE("both schema variants and the JSON form read") {
    if (const auto path = recording("traces/chakra/resnet_schema_1.0.1.tar.gz")) {
        const ChakraGraph graph = read_chakra(*path);
        CHECK(graph.nodes.size() == 3664);
        std::size_t kernels = 0, collectives = 0;
        for (const ChakraNode& node : graph.nodes) {
            if (node.boolean("is_cpu_op", true)) continue;
            ++kernels;
            if (node.type == ChakraNodeType::collective) {
                ++collectives;
                CHECK(node.integer("comm_size", 0) > 0);
            }
        }
        CHECK(kernels == 1216);
        CHECK(collectives > 0);
    }
    if (const auto path = recording("traces/chakra/json_trace.tar.gz")) {
        CHECK_THROWS_AS(read_chakra(*path), Error);  // two members
        const ChakraGraph graph = read_chakra(*path + ":jsonData/small_chakra.0.json");
        REQUIRE(graph.nodes.size() == 7);
        CHECK(graph.nodes[2].duration_us == 4);
        CHECK(graph.nodes[5].data_dependencies == std::vector<std::uint64_t>{432, 216, 217});
        CHECK(read_chakra(*path + ":jsonData/chakra.0.json").nodes.size() > 1000);
    }
}
