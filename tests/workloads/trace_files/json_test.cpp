#include "workloads/trace_files/json.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "specimen.h"

using namespace heddle::trace;

namespace {

std::string message(const std::string& text) {
    try {
        from_json(text, "step.json");
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "no error";
}

const std::string written = R"({ "heddle_trace": 1, "name": "by hand",
  "tensors": [ {"name": "a", "type": "f16", "shape": [2, 3], "role": "input"},
               {"name": "b", "type": "f16", "shape": [3, 4]},
               {"name": "c", "type": "f32", "shape": [2, 4], "storage": 9} ],
  "ops": [ {"name": "product", "kind": "matmul", "inputs": ["a", 1], "outputs": ["c"],
            "attributes": {"transpose_a": 0, "scale": 1.0}, "measured_us": 4} ] })";

std::string replaced(const std::string& what, const std::string& with) {
    std::string text = written;
    return text.replace(text.find(what), what.size(), with);
}

}  // namespace

TEST_CASE("JSON written by hand is read with its defaults") {
    const Trace trace = from_json(written, "step.json");
    REQUIRE(trace.tensors.size() == 3);
    CHECK(trace.tensors[0].role == TensorRole::input);
    CHECK(trace.tensors[1].role == TensorRole::activation);
    CHECK(trace.tensors[2].storage == 9);
    CHECK(trace.ops[0].inputs == std::vector<TensorId>{0, 1});
    CHECK(trace.ops[0].phase == Phase::forward);
    CHECK(trace.ops[0].measured_us == 4.0);
    CHECK(std::holds_alternative<double>(*trace.ops[0].attributes.find("scale")));
    CHECK(std::holds_alternative<std::int64_t>(*trace.ops[0].attributes.find("transpose_a")));
}

TEST_CASE("JSON round trip keeps every field, also when names are not unique") {
    Trace trace = test::specimen();
    CHECK(test::same(from_json(to_json(trace), "x"), trace));
    CHECK(to_json(trace).find("\"inputs\":[\"x\",\"w\"]") != std::string::npos);
    trace.tensors[1].name = "x";
    CHECK(test::same(from_json(to_json(trace), "x"), trace));
}

TEST_CASE("JSON keeps the device of a recording") {
    const RecordedDevice device{"NVIDIA A100-PG509-200", 42505273344};
    RecordedDevice read;
    CHECK(test::same(from_json(to_json(test::specimen(), device), "x", &read), test::specimen()));
    CHECK(read == device);
    from_json(to_json(test::specimen()), "x", &read);
    CHECK(read == RecordedDevice{});
    CHECK(message(replaced("\"tensors\"", "\"device\": {\"memory_bytes\": 4}, \"tensors\""))
              .find("key 'name' is missing") != std::string::npos);
    CHECK(message(replaced("\"tensors\"", "\"device\": {\"name\": \"A\", \"memory_bytes\": -4}, \"tensors\""))
              .find("device.memory_bytes") != std::string::npos);
}

TEST_CASE("errors in JSON name the place and the nearest word") {
    CHECK(message("{\n\n\"heddle_trace\" 1}").find("step.json:3") != std::string::npos);
    CHECK(message(replaced("\"kind\": \"matmul\"", "\"kind\": \"matmult\"")).find("did you mean matmul?") !=
          std::string::npos);
    CHECK(message(replaced("\"f16\"", "\"float\"")).find("tensors[0].type") != std::string::npos);
    CHECK(message(replaced("\"inputs\": [\"a\", 1]", "\"inputs\": [\"a\", 7]")).find("ops[0].inputs[1]") !=
          std::string::npos);
    CHECK(message(replaced("\"outputs\"", "\"output\"")).find("did you mean outputs?") != std::string::npos);
    CHECK(message(replaced("[3, 4]", "[5, 4]")).find("contraction does not fit") != std::string::npos);
    CHECK(message(replaced("\"storage\": 9", "\"storage\": \"q\"")).find("storage") != std::string::npos);
    CHECK(message("[]").find("expected an object") != std::string::npos);
}

TEST_CASE("JSON cut anywhere is an error") {
    const std::string text = to_json(test::specimen());
    const std::size_t end = text.find_last_of('}');
    for (std::size_t length = 0; length <= end; ++length) {
        CHECK_THROWS_AS(from_json(text.substr(0, length), "cut"), heddle::Error);
    }
}
