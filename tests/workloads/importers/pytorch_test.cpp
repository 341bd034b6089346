// Recordings of PyTorch's profiler and its execution traces: by hand, and those that others made.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "data.h"
#include "isa/common/error.h"
#include "pytorch_json.h"
#include "workloads/importers/execution_trace.h"
#include "workloads/importers/import_recording.h"
#include "workloads/importers/kineto.h"
#include "workloads/importers/open_trace.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/read.h"

using namespace heddle;
using trace::OpKind;
using trace::Trace;

namespace {

Trace from_kineto(const std::string& text) {
    return importers::import_recording(importers::read_kineto(*trace::memory_stream(text), "hand.json"),
                                       "hand");
}
Trace from_execution(const std::string& text) {
    return importers::import_recording(
        importers::read_execution_trace(*trace::memory_stream(text), "hand.json"), "hand");
}

/// What is recorded twice over in pytorch_json.h: 2 m n k, then one maximum an element.
void check_product_and_relu(const Trace& trace) {
    REQUIRE(trace.ops.size() == 2);
    const trace::Op &product = trace.ops[0], &relu = trace.ops[1];
    REQUIRE(product.kind == OpKind::matmul);
    CHECK(product.inputs.size() == 3);
    CHECK(trace.tensor(product.inputs[0]).shape == std::vector<std::int64_t>{32, 64});
    CHECK(trace.tensor(product.outputs[0]).shape == std::vector<std::int64_t>{32, 128});
    CHECK(floating_point_operations(trace, product) >= 2.0 * 32 * 64 * 128);
    CHECK(relu.kind == OpKind::elementwise);
    CHECK(relu.get(keys::elementwise.expression) == "y0 = max(x0, 0)");
    CHECK(relu.inputs[0] == product.outputs[0]);
    CHECK(relu.dependencies == std::vector<trace::OpId>{0});
}

std::optional<std::string> pytorch(const std::string& name) {
    return heddle::test::recording("traces/pytorch/" + name);
}

double time_of(const Trace& trace, bool collectives) {
    double sum = 0;
    for (const trace::Op& op : trace.ops)
        if ((op.kind == OpKind::collective) == collectives) sum += op.measured_us.value_or(0);
    return sum;
}

double flops_of(const Trace& trace, std::initializer_list<OpKind> kinds) {
    double sum = 0;
    for (const trace::Op& op : trace.ops)
        if (std::find(kinds.begin(), kinds.end(), op.kind) != kinds.end())
            sum += floating_point_operations(trace, op);
    return sum;
}

}  // namespace

TEST_CASE(
    "Kineto: kernels find their calls by external id, by correlation and time, and without categories") {
    for (const bool external : {true, false}) {
        for (const auto& [call, kernel, launch] :
             {std::tuple{"cpu_op", "kernel", "cuda_runtime"}, std::tuple{"Operator", "Kernel", "Runtime"},
              std::tuple{"", "", ""}}) {
            const Trace trace = from_kineto(test::kineto(external, call, kernel, launch));
            check_product_and_relu(trace);
            CHECK(trace.ops[0].measured_us == 12.0);
            CHECK(trace.ops[1].measured_us == 2.5);
            CHECK(trace.ops[0].kernel_name == "ampere_sgemm_64x64_nn");
            // From one launch to the next, at 120 and 160 us.
            CHECK(trace.ops[1].host_us == 40.0);
        }
    }
}

TEST_CASE("cumsum is a sum along its axis, counted from the end where it is negative") {
    for (const char* axis : {"1", "-1", "0"}) {
        std::string text = test::kineto(true, "cpu_op", "kernel", "cuda_runtime");
        const auto replace = [&text](const std::string& from, const std::string& to) {
            const std::size_t at = text.find(from);
            REQUIRE(at != std::string::npos);
            text.replace(at, from.size(), to);
        };
        const std::size_t kernel = text.find("void at::native::vectorized_elementwise_kernel");
        text.replace(kernel, text.find('"', kernel) - kernel,
                     "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(float*)");
        replace("aten::relu", "aten::cumsum");
        replace("\"Input Dims\": [[32, 128]], \"Input type\": [\"float\"]",
                "\"Input Dims\": [[32, 128], [], []], \"Input type\": [\"float\", \"Scalar\", \"\"], "
                "\"Concrete Inputs\": [\"\", \"" +
                    std::string(axis) + "\", \"\"]");
        const Trace trace = from_kineto(text);
        REQUIRE(trace.ops.size() == 2);
        const trace::Op& sums = trace.ops[1];
        CHECK(sums.kind == OpKind::cumulative_sum);
        CHECK(sums.get(keys::cumulative_sum.axis, 7) == (axis[0] == '0' ? 0 : 1));
        CHECK(trace.tensor(sums.outputs.at(0)).shape == std::vector<std::int64_t>{32, 128});
        CHECK(sums.inputs.at(0) == trace.ops[0].outputs.at(0));
        CHECK(sums.measured_us == 2.5);
    }
}

TEST_CASE("Kineto: the GPU's name is kept") {
    const std::string text = test::kineto(true, "cpu_op", "kernel", "cuda_runtime");
    CHECK(importers::read_kineto(*trace::memory_stream(text), "x").device.name == "NVIDIA A100-SXM4-40GB");
}

TEST_CASE("execution traces of every schema mean the same, and views make operands transposed") {
    for (const char* schema :
         {"1.0.1", "1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.1.0-chakra.0.0.4", "1.1.1"}) {
        const Trace trace = from_execution(test::execution_trace(schema));
        check_product_and_relu(trace);
        CHECK_FALSE(trace.ops[0].measured_us);
        CHECK(trace.ops[0].get(keys::matmul.transpose_b) == 1);
        CHECK(trace.tensor(trace.ops[0].inputs[1]).shape == std::vector<std::int64_t>{128, 64});
    }
}

TEST_CASE("joined recordings have times from one and operands from the other") {
    const std::string profile = test::kineto(true, "cpu_op", "kernel", "cuda_runtime"),
                      execution = test::execution_trace("1.1.0-chakra.0.0.4");
    importers::RecordedOperands operands = importers::read_operands(*trace::memory_stream(execution), "et");
    const Trace trace = importers::import_recording(
        importers::read_kineto(*trace::memory_stream(profile), "profile", &operands), "joined");
    check_product_and_relu(trace);
    CHECK(trace.ops[0].measured_us == 12.0);
    CHECK(trace.ops[0].get(keys::matmul.transpose_b) == 1);
    CHECK(trace.tensor(trace.ops[0].inputs[1]).storage == 21);

    importers::RecordedOperands strange;
    strange.file = "other.json";
    strange.calls[12].name = strange.names.of("aten::mul");
    CHECK_THROWS_WITH(importers::read_kineto(*trace::memory_stream(profile), "profile", &strange),
                      Catch::Contains("only 0 of 3 calls") && Catch::Contains("other.json"));
}

TEST_CASE("recordings of the profiler that others made: every kernel and its time") {
    struct Expected {
        const char* file;
        std::size_t kernels;
        double microseconds;  ///< sums of "dur" of all kernels, copies and fills
        const char* device;   ///< name and memory in "deviceProperties"
        std::uint64_t memory;
    };
    for (const Expected& e :
         {Expected{"a100_ddp2_nccl_kineto.json.gz", 3774, 165185.838, "NVIDIA A100-PG509-200", 42297524224},
          Expected{"a100_world8_kineto.json.gz", 9450, 501567, "NVIDIA A100-PG509-200", 42505273344},
          Expected{"resnet_kineto.json.gz", 10113, 4733822, "NVIDIA GeForce RTX 2080 Ti", 11554586624}}) {
        const auto path = pytorch(e.file);
        if (!path) continue;
        trace::RecordedDevice device;
        const Trace trace = importers::open_trace(*path, &device);
        CHECK(device.name == e.device);
        CHECK(device.memory_bytes == e.memory);
        std::int64_t kernels = 0;
        for (const trace::Op& op : trace.ops) kernels += op.get(keys::any.kernels);
        CHECK(static_cast<std::size_t>(kernels) == e.kernels);
        CHECK(time_of(trace, false) + time_of(trace, true) == Approx(e.microseconds).epsilon(1e-9));
    }
}

TEST_CASE(
    "ResNet-50 of two GPUs, profile and execution trace joined: the network's published work, all "
    "understood") {
    const auto profile = pytorch("a100_ddp2_nccl_kineto.json.gz"),
               execution = pytorch("resnet_1gpu_et.json.gz");
    if (!profile || !execution) return;
    const Trace trace = importers::open_trace(*profile + "+" + *execution);
    double unknown = 0;
    for (const trace::Op& op : trace.ops)
        if (op.kind == OpKind::unknown) unknown += *op.measured_us;
    CHECK(unknown < 0.001 * time_of(trace, false));
    CHECK(time_of(trace, true) == Approx(46876).epsilon(1e-3));
    // Three steps of 32 pictures; 4.087e9 multiply-adds each in convolutions, 4.089e9 with the last layer.
    // Forward products are matrix products where the window is one position.
    double forward = 0;
    for (const trace::Op& op : trace.ops)
        if (op.phase == trace::Phase::forward &&
            (op.kind == OpKind::matmul || op.kind == OpKind::convolution))
            forward += floating_point_operations(trace, op);
    CHECK(forward == Approx(3 * 2 * 4.089e9 * 32).epsilon(1e-3));
}

TEST_CASE("execution traces that others made: work by the textbook") {
    if (const auto path = pytorch("hf_GPT2_et.json.tar.gz")) {
        const Trace trace = importers::open_trace(*path);
        // GPT-2 Large on 512 tokens, forward and backward: 6 tokens x (36 layers x 12 x 1280^2 + 50257 x
        // 1280), and attention 12 x layers x tokens^2 x width.
        const double weights = 36.0 * 12 * 1280 * 1280 + 50257.0 * 1280;
        CHECK(flops_of(trace, {OpKind::matmul}) ==
              Approx(6 * 512 * weights + 12.0 * 36 * 512 * 512 * 1280).epsilon(2e-3));
        for (const trace::Op& op : trace.ops) CHECK(op.kind != OpKind::unknown);
    }
    if (const auto path = pytorch("resnet_1gpu_et.json.gz")) {
        const Trace trace = importers::open_trace(*path);
        CHECK(flops_of(trace, {OpKind::convolution}) == Approx(3 * 2 * 4.087e9 * 32).epsilon(1e-3));
        CHECK(flops_of(trace, {OpKind::convolution_weight_grad}) ==
              Approx(3 * 2 * 4.087e9 * 32).epsilon(1e-3));
    }
}

TEST_CASE("traces that heddle_trace recorded are understood whole") {
    const std::filesystem::path folder = std::filesystem::path(HEDDLE_SOURCE_DIR) / "examples/recorded";
    std::map<std::string, double> products;
    for (const char* name : {"mlp", "cnn", "gpt", "lstm", "resnet"}) {
        const Trace trace = importers::open_trace((folder / (std::string(name) + ".et.gz")).string());
        std::map<trace::Phase, std::size_t> phases;
        for (const trace::Op& op : trace.ops) {
            INFO(name << " " << op.name << " " << op.get(keys::any.reason));
            CHECK(op.kind != OpKind::unknown);
            ++phases[op.phase];
        }
        CHECK(phases[trace::Phase::forward] > 3);
        CHECK(phases[trace::Phase::backward] > 3);
        CHECK(phases[trace::Phase::optimizer] > 0);
        products[name] = flops_of(trace, {OpKind::matmul});
    }
    // Forward, both gradients of the two later layers, that of the weight of the first.
    CHECK(
        products["mlp"] ==
        Approx(2.0 * 32 * (3 * (256 * 256 + 256 * 10) + 2 * 64 * 256) + 32 * (256 + 256 + 10)).epsilon(0.01));
}

TEST_CASE("damaged recordings of PyTorch are one clear error, or a trace that is well formed") {
    const std::string texts[] = {test::kineto(true, "cpu_op", "kernel", "cuda_runtime"),
                                 test::kineto(false, "cpu_op", "kernel", "cuda_runtime"),
                                 test::execution_trace("1.0.1"), test::execution_trace("1.1.0-chakra.0.0.4")};
    const std::string words[] = {
        "-1",     "0",    "99999999999999",      "1e300", "null",    "[]", "{}", "\"x\"",
        "[[[]]]", "-inf", "4611686018427387904", "true",  "[-5, 7]", "3.5"};
    std::mt19937 random(7);
    std::size_t imported = 0, refused = 0;
    for (unsigned round = 0; round < 3000; ++round) {
        std::string text = texts[round % 4];
        for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text.resize(at + 1);
                    break;
                case 1:
                    text[at] = static_cast<char>(random() % 128);
                    break;
                default: {
                    // A number or word becomes another one.
                    const std::size_t from = text.find_first_of("0123456789", at);
                    if (from == std::string::npos) break;
                    const std::size_t to = text.find_first_not_of("0123456789.", from);
                    text.replace(from, to - from, words[random() % std::size(words)]);
                }
            }
        }
        try {
            const Trace trace = round % 4 < 2 ? from_kineto(text) : from_execution(text);
            trace.check();
            ++imported;
        } catch (const Error& error) {
            CHECK(std::string(error.what()).find('\n') == std::string::npos);
            ++refused;
        }
    }
    CHECK(imported > 300);
    CHECK(refused > 300);
}

TEST_CASE("what is wrong with a recording is said once, with its place") {
    const auto kineto_error = [](const std::string& text, const std::string& expected) {
        CHECK_THROWS_WITH(from_kineto(text), Catch::Contains("hand.json") && Catch::Contains(expected));
    };
    kineto_error("{\"traceEvents\": [", "not valid JSON at byte");
    kineto_error("{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\"}]}",
                 "traceEvents[0]");
    kineto_error(
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": -4}]}",
        "traceEvents[0].dur: `-4` is not a time in microseconds");
    kineto_error("{\"traceEvents\": []}", "neither calls nor kernels");
    kineto_error("{\"traceEvents\": 5}", "not a list");
    kineto_error("{\"traceEvents\": [" + std::string(80, '[') + std::string(80, ']') + "]}", "64 deep");
    const auto execution_error = [](const std::string& text, const std::string& expected) {
        CHECK_THROWS_WITH(from_execution(text), Catch::Contains("hand.json") && Catch::Contains(expected));
    };
    execution_error("{\"schema\": \"7.0\", \"nodes\": []}", "schema 7.0");
    execution_error("{\"schema\": \"1.0.1\", \"nodes\": []}", "no list `nodes`");
    execution_error("{\"nodes\": [{\"id\": 1, \"name\": \"a\"}, {\"id\": 1, \"name\": \"b\"}]}", "two nodes");
    execution_error("{\"nodes\": [{\"name\": \"a\"}]}", "nodes[0]");
    execution_error(
        "{\"nodes\": [{\"id\": 2, \"name\": \"a\", \"parent\": 3}, {\"id\": 3, \"name\": \"b\", \"parent\": "
        "2}]}",
        "circle");
}
