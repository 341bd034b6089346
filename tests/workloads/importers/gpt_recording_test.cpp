// One recorded training step of a 12-layer GPT (hidden 768, 2,048 tokens, vocabulary 50,304) on an H100-class
// GPU: two micro-batches with gradient accumulation, then one update. What the importer makes of it against
// textbook formulas.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "attributes_of_kinds.h"
#include "coverage.h"
#include "data.h"
#include "isa/common/error.h"
#include "workloads/importers/chakra_execution.h"
#include "workloads/importers/open_trace.h"
#include "workloads/trace_files/json.h"
#include "workloads/trace_files/read.h"

using namespace heddle;
using heddle::test::recording;
using trace::OpKind;
using trace::Phase;
using trace::Trace;

namespace {

constexpr double hidden = 768, tokens = 2048, vocabulary = 50304, layers = 12, heads = 12,
                 head_dimension = 64;
constexpr double micro_batches = 2;

std::optional<Trace> gpt() {
    const auto path = recording("traces/chakra/gpt_12layer_h100_bf16.tar.gz");
    return path ? std::optional(importers::open_trace(*path)) : std::nullopt;
}

}  // namespace

TEST_CASE("GPT: every kernel is an op and every op is understood") {
    const auto trace = gpt();
    if (!trace) return;
    const test::Coverage coverage = test::coverage_of(*trace);
    CHECK(coverage.total.ops == 1617);
    CHECK(trace::test::strange_attributes(*trace) == "");
    CHECK(coverage.total.microseconds == 31014);
    CHECK_FALSE(coverage.kinds.contains(OpKind::unknown));
    CHECK(coverage.kinds.at(OpKind::collective).ops == 14);
    CHECK(coverage.total.microseconds - coverage.kinds.at(OpKind::collective).microseconds == 25070);
    // Per micro-batch: four products per layer and one for the logits, each with two in its gradient.
    CHECK(coverage.kinds.at(OpKind::matmul).ops == micro_batches * 3 * (4 * layers + 1));
    CHECK(coverage.kinds.at(OpKind::attention).ops == micro_batches * layers);
    CHECK(coverage.kinds.at(OpKind::attention_grad).ops == micro_batches * layers);
    CHECK(coverage.kinds.at(OpKind::layer_norm).ops == micro_batches * (2 * layers + 1));
    CHECK(coverage.kinds.at(OpKind::layer_norm_grad).ops == micro_batches * (2 * layers + 1));
    CHECK(coverage.kinds.at(OpKind::embedding).ops == micro_batches * 2);
    CHECK(coverage.kinds.at(OpKind::embedding_grad).ops == micro_batches * 2);
}

TEST_CASE("GPT: arithmetic follows the formulas") {
    const auto trace = gpt();
    if (!trace) return;
    double products[5] = {}, attention = 0, attention_gradient = 0;
    for (const trace::Op& op : trace->ops) {
        const double work = floating_point_operations(*trace, op);
        if (op.kind == OpKind::matmul) products[static_cast<int>(op.phase)] += work;
        if (op.kind == OpKind::attention) attention += work;
        if (op.kind == OpKind::attention_grad) attention_gradient += work;
    }
    // 2 N per token forward and 4 N backward (Kaplan et al. 2020), N = 12 L h^2 + V h weights in products.
    const double weights = 12 * layers * hidden * hidden + vocabulary * hidden;
    CHECK(products[static_cast<int>(Phase::forward)] == micro_batches * 2 * weights * tokens);
    CHECK(products[static_cast<int>(Phase::backward)] == micro_batches * 4 * weights * tokens);
    CHECK(products[static_cast<int>(Phase::optimizer)] == 0);
    // Causal: half of 4 s^2 d per head (Dao 2023, section 4.1), 2.5 times that backward.
    const double per_layer = 2 * tokens * tokens * head_dimension * heads;
    CHECK(attention == micro_batches * layers * per_layer);
    CHECK(attention_gradient == 2.5 * attention);
}

TEST_CASE("GPT: the update covers every parameter once") {
    const auto trace = gpt();
    if (!trace) return;
    // V h + s h + L (12 h^2 + 13 h) + 2 h
    const double parameters =
        (vocabulary + tokens) * hidden + layers * (12 * hidden * hidden + 13 * hidden) + 2 * hidden;
    CHECK(parameters == 125262336);
    double adam = 0, norm = 0, clip = 0, accumulated = 0, cast = 0, reduced = 0;
    for (const trace::Op& op : trace->ops) {
        const auto elements = [&](std::size_t i) {
            return static_cast<double>(trace->tensor(op.inputs.at(i)).elements());
        };
        if (op.kernel_name.find("AdamFunctor") != std::string::npos) {
            adam += elements(0);
            CHECK(op.inputs.size() == 4);
            CHECK(op.outputs.size() == 3);
            CHECK(op.get(keys::any.assumed).find("148 tensors in 2 groups") != std::string::npos);
        }
        if (op.kernel_name.find("L2NormFunctor") != std::string::npos) norm += elements(0);
        if (op.name == "aten::_foreach_mul_") clip += elements(0);
        const bool gradient_sum = op.phase == Phase::backward && op.kind == OpKind::elementwise &&
                                  op.name == "aten::add_" &&
                                  trace->tensor(op.outputs[0]).type == trace::ElementType::f32;
        if (gradient_sum) accumulated += elements(1);
        const bool narrowed = op.phase == Phase::optimizer && op.kind == OpKind::copy &&
                              trace->tensor(op.outputs[0]).type == trace::ElementType::bf16;
        if (narrowed) cast += elements(0);
        if (op.kind == OpKind::collective && op.get(keys::collective.group) == "3")
            reduced += op.real(keys::collective.bytes);
    }
    CHECK(adam == parameters);
    CHECK(norm == parameters);
    CHECK(clip == parameters);
    CHECK(accumulated == micro_batches * parameters);
    CHECK(cast == parameters);
    CHECK(reduced == micro_batches * 4 * parameters);
}

TEST_CASE("GPT: operands are as large as the measured time allows") {
    const auto trace = gpt();
    if (!trace) return;
    // Streams over far more than the 50 MiB of L2: between a third of the H100's 3.35 TB/s and all of it.
    std::size_t streams = 0;
    for (const trace::Op& op : trace->ops) {
        const bool streaming =
            op.kind == OpKind::elementwise || op.kind == OpKind::copy || op.kind == OpKind::reduce;
        if (!streaming || *op.measured_us < 100) continue;
        const double bandwidth = bytes_moved(*trace, op) / *op.measured_us / 1e6;
        CAPTURE(op.name, op.kernel_name, bandwidth);
        CHECK(bandwidth > 3.35 / 3);
        CHECK(bandwidth < 3.35);
        ++streams;
    }
    CHECK(streams == 25);
    // And no product is faster than the tensor cores: 989 TFLOP/s dense bf16 (H100 SXM datasheet).
    for (const trace::Op& op : trace->ops) {
        if (op.kind != OpKind::matmul) continue;
        CHECK(floating_point_operations(*trace, op) / *op.measured_us / 1e6 < 989);
    }
}

TEST_CASE("GPT: shapes, types and strides of known ops") {
    const auto trace = gpt();
    if (!trace) return;
    using List = std::vector<std::int64_t>;
    std::size_t strided_copies = 0, softmax_rows = 0;
    for (const trace::Op& op : trace->ops) {
        const auto shape = [&](std::size_t i) { return trace->tensor(op.inputs.at(i)).shape; };
        switch (op.kind) {
            case OpKind::matmul:
                CHECK(trace->tensor(op.inputs[0]).type == trace::ElementType::bf16);
                CHECK(op.get(keys::any.tile).size() == 3);
                CHECK(2.0 * op.get(keys::matmul.m) * op.get(keys::matmul.n) * op.get(keys::matmul.k) ==
                      floating_point_operations(*trace, op));
                break;
            case OpKind::attention:
                CHECK(shape(0) == List{1, 12, 2048, 64});
                CHECK(op.strides("input0") == List{2048 * 768, 64, 768, 1});
                CHECK(op.get(keys::attention.causal) == 1);
                CHECK(op.get(keys::attention.scale) == 0.125);
                CHECK(op.get(keys::any.tile) == List{128, 64, 64});
                break;
            case OpKind::attention_grad:
                CHECK(op.get(keys::any.tile) == List{128, 128, 64});
                break;
            case OpKind::layer_norm:
                CHECK(shape(0) == List{2048, 768});
                break;
            case OpKind::copy:
                // q, k and v cut out of the fused projection [tokens, heads, 3 * 64].
                if (op.get(keys::any.strided) == 1) {
                    ++strided_copies;
                    CHECK(op.strides("input0") == List{2304, 2304, 192, 1});
                    CHECK(op.offset("input0") % 64 == 0);
                }
                break;
            case OpKind::reduce:
                if (op.get(keys::reduce.reduction) == "max") {
                    ++softmax_rows;
                    CHECK(shape(0) == List{2048, 1, 50304});
                    CHECK(op.get(keys::reduce.axes) == List{2});
                    CHECK(op.outputs.size() == 2);
                }
                break;
            default:
                break;
        }
    }
    CHECK(strided_copies == micro_batches * layers * 3);
    CHECK(softmax_rows == micro_batches);
}

TEST_CASE("GPT: dependencies lead from the first kernel to the last") {
    const auto trace = gpt();
    if (!trace) return;
    // Every op of the last backward pass's end must lie behind the step's first lookups.
    std::vector<bool> behind(trace->ops.size(), false);
    std::size_t first_embedding = trace->ops.size();
    for (std::size_t i = 0; i < trace->ops.size(); ++i) {
        const trace::Op& op = trace->ops[i];
        if (op.kind == OpKind::embedding && first_embedding == trace->ops.size()) {
            first_embedding = i;
            behind[i] = true;
        }
        for (const trace::OpId id : op.dependencies) {
            REQUIRE(id < i);
            if (behind[id]) behind[i] = true;
        }
        if (op.kind == OpKind::matmul || op.kind == OpKind::attention || op.kind == OpKind::embedding_grad)
            CHECK(behind[i]);
        if (op.kernel_name.find("AdamFunctor") != std::string::npos) CHECK(behind[i]);
    }
}

TEST_CASE("GPT: the imported trace survives both file formats") {
    const auto trace = gpt();
    if (!trace) return;
    const std::string json = trace::to_json(*trace);
    CHECK(trace::to_json(trace::from_json(json, "gpt")) == json);
    const std::string bytes = trace::serialize_chakra(trace::to_chakra(*trace));
    CHECK(trace::to_json(trace::from_chakra(trace::parse_chakra(bytes, "gpt"), "gpt")) == json);
}

TEST_CASE("other recordings import without error, with all kernels and their time") {
    for (const std::string name :
         {"resnet_schema_1.0.1.tar.gz", "json_trace.tar.gz:jsonData/chakra.0.json"}) {
        const std::string archive = name.substr(0, name.find(':'));
        const auto path = recording("traces/chakra/" + archive);
        if (!path) continue;
        const Trace trace = importers::open_trace(*path + name.substr(archive.size()));
        const test::Coverage coverage = test::coverage_of(trace);
        CHECK(coverage.total.kernels == 1216);
        CHECK(coverage.total.microseconds == 329543);
        if (archive.rfind("json", 0) == 0) continue;  // the JSON form has no operands
        CHECK(coverage.kinds.at(OpKind::collective).ops == 7);
        for (const trace::Op& op : trace.ops) {
            if (op.kind == OpKind::collective) CHECK(op.real(keys::collective.bytes) > 0);
        }
    }
}

TEST_CASE("a damaged recording is an error or has unknown ops, and never ends the program") {
    const auto path = recording("traces/chakra/gpt_12layer_h100_bf16.tar.gz");
    if (!path) return;
    const trace::ChakraGraph whole = trace::read_chakra(*path);
    std::uint64_t state = 1;
    const auto random = [&state](std::size_t below) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;  // Knuth's MMIX generator
        return static_cast<std::size_t>((state >> 33) % below);
    };
    std::size_t imported = 0, refused = 0;
    for (int round = 0; round < 60; ++round) {
        // A window of the step: start, first backward layers, or the update at the end.
        const std::size_t starts[] = {0, 1560, 10860};
        trace::ChakraGraph graph;
        const std::size_t start = starts[round % 3];
        graph.nodes.assign(whole.nodes.begin() + static_cast<std::ptrdiff_t>(start),
                           whole.nodes.begin() + static_cast<std::ptrdiff_t>(start + 480));
        for (int k = 0; k < 40; ++k) {
            trace::ChakraNode& node = graph.nodes[random(graph.nodes.size())];
            std::string* texts[] = {&node.inputs.shapes, &node.inputs.values, &node.inputs.types, &node.name,
                                    &node.outputs.shapes};
            std::string& text = *texts[random(5)];
            // Digits stay digits most of the time, so that damage gets past the reader of literals.
            if (!text.empty()) {
                char& c = text[random(text.size())];
                const bool digit = c >= '0' && c <= '9';
                c = digit || random(40) != 0 ? static_cast<char>(digit ? '0' + random(10) : c)
                                             : "[],-'9"[random(6)];
            }
            if (random(4) == 0)
                graph.nodes.erase(graph.nodes.begin() +
                                  static_cast<std::ptrdiff_t>(random(graph.nodes.size())));
        }
        try {
            const Trace trace = importers::import_chakra_execution(graph, "damaged");
            CHECK(trace.ops.size() > 50);
            ++imported;
        } catch (const Error&) {
            ++refused;
        }
    }
    CHECK(imported > 10);
    CHECK(imported + refused == 60);
}
