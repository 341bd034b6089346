// Models of users: what their layers compute, and what is said when a file is mistaken.
#include "workloads/model_files/read_model.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "isa/common/error.h"
#include "workloads/reference/execute.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using trace::Trace;

namespace {

class File {
  public:
    explicit File(const std::string& text) {
        path_ = (std::filesystem::temp_directory_path() /
                 ("heddle-model-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + ".yaml"))
                    .string();
        std::ofstream(path_) << text;
    }
    ~File() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

Trace built(const std::string& text, const std::map<std::string, std::string>& options = {}) {
    const File file(text);
    return zoo::build(model_files::read_model(file.path()), options);
}

std::string message(const std::string& text, const std::map<std::string, std::string>& options = {}) {
    try {
        built(text, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

std::int64_t parameters(const Trace& trace) {
    std::int64_t count = 0;
    for (const trace::TensorId id : trace::parameters_of(trace)) count += trace.tensor(id).elements();
    return count;
}

double flops(const Trace& trace) {
    double sum = 0;
    for (const auto& op : trace.ops) {
        if (op.kind == trace::OpKind::matmul || op.kind == trace::OpKind::convolution ||
            op.kind == trace::OpKind::convolution_data_grad ||
            op.kind == trace::OpKind::convolution_weight_grad)
            sum += floating_point_operations(trace, op);
    }
    return sum;
}

std::vector<double> losses(const Trace& trace, int steps) {
    reference::TensorValues values(trace);
    std::vector<double> result;
    for (int i = 0; i < steps; ++i) {
        reference::execute(trace, values);
        result.push_back(values[trace::loss_of(trace)][0]);
    }
    return result;
}

const std::string kMlp =
    "batch: 256\n"
    "input: {features: 784}\n"
    "layers:\n"
    "  - linear: 512\n"
    "  - activation: relu\n"
    "  - linear: {width: 256}\n"
    "  - activation: {function: relu}\n"
    "  - linear: {width: 10, bias: true}\n";

}  // namespace

TEST_CASE("a perceptron as layers is the zoo's") {
    const Trace own = built(kMlp), zoo = zoo::build("mlp", {});
    CHECK(parameters(own) == 535818);
    CHECK(flops(own) == flops(zoo));
    CHECK(own.ops.size() == zoo.ops.size());
    CHECK(flops(built(kMlp, {{"batch", "128"}})) == flops(zoo) / 2);
}

TEST_CASE("blocks as layers have the parameters of GPT-2 and Llama") {
    const std::string input = "input: {tokens: {vocabulary: 50257, sequence: 16}}\n";
    // GPT-2 small, with a head of its own that has a bias: 124,439,808 + 50257 * 769.
    CHECK(parameters(built(input + "layers:\n"
                                   "  - embedding: {width: 768, positions: 1024}\n"
                                   "  - repeat:\n"
                                   "      times: 12\n"
                                   "      layers:\n"
                                   "        - transformer_block: {heads: 12, causal: true}\n"
                                   "  - layer_norm\n"
                                   "  - linear: 50257\n")) == 124439808 + 50257 * 769);
    CHECK(parameters(built(
              "input: {tokens: {vocabulary: 32000, sequence: 16}}\n"
              "layers:\n"
              "  - embedding: {width: 4096}\n"
              "  - repeat:\n"
              "      times: 32\n"
              "      layers:\n"
              "        - transformer_block: {heads: 32, causal: true, norm: rms, bias: false, gated: true,\n"
              "                              function: silu, rotary: 10000, feed_forward: 11008}\n"
              "  - rms_norm\n"
              "  - linear: {width: 32000, bias: false}\n")) == 6738415616);
}

TEST_CASE("the examples train") {
    for (const char* name : {"small-decoder", "small-images"}) {
        const zoo::LayerModel model =
            model_files::read_model(HEDDLE_SOURCE_DIR "/examples/models/" + std::string(name) + ".yaml");
        CHECK(model.name == name);
        std::map<std::string, std::string> options{
            {"type", "f32"}, {"batch", "2"}, {"learning_rate", "0.01"}};
        if (model.input.kind == "tokens") options["sequence"] = "4";
        for (const char* recompute : {"none", "selective", "full"}) {
            options["recompute"] = recompute;
            const std::vector<double> loss = losses(zoo::build(model, options), 6);
            CAPTURE(name, recompute);
            CHECK(loss.back() < loss.front());
        }
    }
}

TEST_CASE("layers for sequences: LSTM, mixtures, the first token") {
    const Trace trace = built(
        "batch: 2\n"
        "input: {tokens: {vocabulary: 11, sequence: 3}}\n"
        "layers:\n"
        "  - embedding: 4\n"
        "  - lstm: 5\n"
        "  - mixture: {experts: 2, feed_forward: 6}\n"
        "  - first_token\n"
        "  - batch_norm\n"
        "  - linear: 3\n");
    // embedding, LSTM (4 H (I + H) + 4 H), router, two experts, gamma and beta, linear
    CHECK(parameters(trace) == 44 + 4 * 5 * 9 + 20 + 10 + 2 * 2 * 5 * 6 + 10 + 18);
    const std::vector<double> loss = losses(trace, 5);
    CHECK(loss.back() < loss.front());
}

TEST_CASE("mistakes in a model are told with file, line and key") {
    using Catch::Matchers::Contains;
    const std::string head = "input: {features: 8}\nlayers:\n";
    CHECK_THAT(message(head + "  - linear: 4\n  - liner: 4\n"),
               Contains(".yaml:4") && Contains("'liner'") && Contains("did you mean linear?"));
    CHECK_THAT(message(head + "  - linear: {width: 4, bais: true}\n"),
               Contains(".yaml:3") && Contains("'bais'") && Contains("did you mean bias?"));
    CHECK_THAT(message(head + "  - linear: {bias: true}\n"), Contains(".yaml:3") && Contains("needs width"));
    CHECK_THAT(message(head + "  - linear: {width: wide}\n"),
               Contains("linear.width") && Contains("not an integer"));
    CHECK_THAT(message(head + "  - linear: {width: 4, bias: maybe}\n"), Contains("linear.bias"));
    CHECK_THAT(message(head + "  - linear: 0\n"), Contains("at least 1"));
    CHECK_THAT(message(head + "  - convolution: {filters: 4, window: 3}\n"),
               Contains(".yaml:3") && Contains("gets features but works on an image"));
    CHECK_THAT(message(head + "  - residual:\n      layers:\n        - linear: 4\n"),
               Contains(".yaml:3") && Contains("same shape"));
    CHECK_THAT(message(head + "  - repeat: {times: 2}\n"), Contains("needs layers"));
    CHECK_THAT(message(head + "  - activation: rellu\n"), Contains(".yaml:3") && Contains("rellu"));
    CHECK_THAT(message(head + "  - linear: 4\noptions: {type: bf61}\n"),
               Contains(".yaml:4") && Contains("options.type"));
    CHECK_THAT(message(head + "  - linear: 4\noptions: {tipe: bf16}\n"), Contains("did you mean type?"));
    CHECK_THAT(message(head + "  - linear: 4\nbtach: 3\n"),
               Contains(".yaml:4") && Contains("did you mean batch?"));
    CHECK_THAT(message("input: {image: [3, 4]}\nlayers:\n  - flatten\n"), Contains("three numbers"));
    CHECK_THAT(message("input: {image: [3, 4, 4]}\nlayers:\n  - convolution: {filters: 2, window: 9}\n"),
               Contains(".yaml:3") && Contains("larger than"));
    CHECK_THAT(message("input: {image: [3, 4, 4]}\nlayers:\n  - batch_norm\n"), Contains("instead of rows"));
    CHECK_THAT(message("layers:\n  - linear: 3\n"), Contains("input") && Contains("missing"));
    CHECK_THAT(message("input: {features: 8}\nlayers: [\n"), Contains(".yaml:"));
    CHECK_THAT(
        message(
            "input: {tokens: {vocabulary: 5, sequence: 9}}\nlayers:\n  - embedding: {width: 4, positions: "
            "3}\n"),
        Contains("9 tokens"));
    CHECK_THAT(message(kMlp, {{"widht", "3"}}), Contains("unknown option"));
    CHECK_THAT(message(kMlp, {{"batch", "6"}, {"micro_batches", "4"}}), Contains("does not fall"));
}

TEST_CASE("numbers that would be a step without end, or wrap around, are told with file, line and key") {
    using Catch::Matchers::Contains;
    const std::string head = "input: {features: 8}\nlayers:\n";
    const std::string tokens = "input: {tokens: {vocabulary: 5, sequence: 4}}\nlayers:\n  - embedding: 4\n";
    CHECK_THAT(message(head + "  - linear: 4611686018427387905\n"),
               Contains(".yaml:3") && Contains("linear") && Contains("2147483647"));
    // 2^58 + 1 sequences of 64 tokens would be 64 tokens.
    CHECK_THAT(message("batch: 288230376151711745\n" + tokens + "  - linear: 4\n", {{"sequence", "64"}}),
               Contains("option batch") && Contains("2147483647"));
    CHECK_THAT(message(kMlp, {{"batch", "-4611686018427387905"}}), Contains("2147483647"));
    CHECK_THAT(message(tokens + "  - lstm: 4\n", {{"sequence", "2147483647"}}),
               Contains(".yaml:4") && Contains("too long to be written out"));
    CHECK_THAT(message(head + "  - repeat: {times: 2147483647, layers: [{dropout: 0}]}\n"),
               Contains(".yaml:3") && Contains("layers"));
    CHECK_THAT(message(head + "  - " + std::string(100000, '[')), Contains(".yaml:3: nested too deeply"));
    CHECK_THAT(message(tokens + "  - mixture: {experts: 2147483647, feed_forward: 4}\n"),
               Contains(".yaml:4") && Contains("experts"));
    CHECK_THAT(message(tokens + "  - mixture: {experts: 4, feed_forward: 4, capacity: 1e300}\n"),
               Contains(".yaml:4") && Contains("capacity"));
    CHECK_THAT(message("input: {image: [2147483647, 2147483647, 4]}\nlayers: [flatten]\n"),
               Contains("impossible shape"));
}

TEST_CASE("anchors do not make an endless model of a few lines") {
    using Catch::Matchers::Contains;
    const std::string head = "input: {features: 8}\nlayers:";
    CHECK_THAT(message(head + " &a\n  - block: {layers: *a}\n"), Contains("nested too deeply"));
    std::string bomb = head + "\n  - block: {layers: &a0 [activation]}\n";
    for (unsigned level = 1; level < 20; ++level) {
        const std::string inner = "{block: {layers: *a" + std::to_string(level - 1) + "}}";
        bomb += "  - block: {layers: &a" + std::to_string(level) + " [" + inner + ", " + inner + ", " +
                inner + "]}\n";
    }
    CHECK_THAT(message(bomb), Contains("more than 100000 layers"));
}
