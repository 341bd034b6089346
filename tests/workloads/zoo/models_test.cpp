// Every model of the zoo: published parameter counts, textbook FLOPs, and options that make no sense.
#include <array>
#include <catch2/catch.hpp>

#include "attributes_of_kinds.h"
#include "isa/common/error.h"
#include "small_models.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::zoo::test;
using trace::OpKind;
using trace::Trace;

namespace {

std::int64_t parameters(const Trace& trace) {
    std::int64_t count = 0;
    for (const trace::TensorId id : trace::parameters_of(trace)) count += trace.tensor(id).elements();
    return count;
}

std::string message(const std::string& model, const Options& options) {
    try {
        zoo::build(model, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("models have as many parameters as the published ones") {
    // torchvision: resnet18 ... vit_l_16; transformers: BertForPreTraining, GPT2LMHeadModel,
    // LlamaForCausalLM.
    const std::map<std::string, std::int64_t> published{
        {"resnet18", 11689512},       {"resnet34", 21797672},      {"resnet50", 25557032},
        {"resnet101", 44549160},      {"resnet152", 60192808},     {"vit-b16", 86567656},
        {"vit-l16", 304326632},       {"bert-base", 110106428},    {"gpt2-small", 124439808},
        {"gpt2-medium", 354823168},   {"gpt2-large", 774030080},   {"gpt2-xl", 1557611200},
        {"llama2-7b", 6738415616},    {"llama2-13b", 13015864320}, {"llama2-70b", 68976648192},
        {"llama3-8b", 8030261248},    {"llama3-70b", 70553706496}, {"gpt3-175b", 174604259328},
        {"switch-base-8", 619339008}, {"bert-large", 336226108},   {"lstm", 19775200},
    };
    for (const zoo::Model& model : zoo::models()) {
        if (model.parameters == 0) continue;
        CAPTURE(model.name);
        // Counts depend on neither batch nor type.
        Options options{{"batch", "1"}};
        if (model.name == "lstm") options["sequence"] = "2";
        const Trace trace = zoo::build(model.name, options);
        CHECK(parameters(trace) == model.parameters);
        CHECK(trace::test::strange_attributes(trace) == "");
        const auto known = published.find(model.name);
        if (known != published.end()) CHECK(model.parameters == known->second);
    }
    // BertModel without the heads of pre-training.
    std::int64_t encoder = 0;
    const Trace bert = zoo::build("bert-base", {{"batch", "1"}});
    for (const trace::TensorId id : trace::parameters_of(bert)) {
        if (bert.tensor(id).name.rfind("head", 0) != 0) encoder += bert.tensor(id).elements();
    }
    CHECK(encoder == 109482240);
}

TEST_CASE("ops of models carry what their kinds have keys for") {
    const Options small{{"batch", "2"}, {"sequence", "64"}, {"layers", "2"}, {"type", "bf16"}};
    for (const auto& [model, option, value] :
         {std::array{"gpt2-small", "dropout", "0.1"}, std::array{"gpt2-small", "context", "2"},
          std::array{"gpt2-small", "tensor", "2"}, std::array{"gpt2-small", "attention", "composed"},
          std::array{"gpt2-small", "fp8", "1"}, std::array{"gpt2-small", "loss_scale", "dynamic"},
          std::array{"switch-base-8", "expert_skew", "0.5"}, std::array{"llama2-7b", "clip_norm", "1"}}) {
        CAPTURE(model, option);
        CHECK(trace::test::strange_attributes(zoo::build(model, changed(small, {{option, value}}))) == "");
    }
}

TEST_CASE("FLOPs of decoders are 6 N D, attention, and what is computed again") {
    // N: weights of products. A causal score is counted half: 2 S^2 D forward for each sequence and
    // layer, 2.5 times that backward (Dao, 2023).
    struct Case {
        const char* name;
        double layers, width, weights_of_block, vocabulary;
        bool positions;
    };
    const double d = 4096;
    for (const Case& c :
         {Case{"gpt2-small", 12, 768, 12.0 * 768 * 768, 50257, true},
          Case{"gpt3-175b", 96, 12288, 12.0 * 12288 * 12288, 50257, true},
          Case{"llama2-7b", 32, d, 4 * d * d + 3 * d * 11008, 32000, false},
          Case{"llama3-8b", 32, d, 2 * d * d + 2 * d * 1024 + 3 * d * 14336, 128256, false}}) {
        const double batch = 2, sequence = 512, tokens = batch * sequence;
        const Options options{{"batch", "2"}, {"sequence", "512"}};
        const double blocks = 2 * tokens * c.layers * c.weights_of_block,
                     head = 2 * tokens * c.vocabulary * c.width,
                     scores = batch * c.layers * 2 * sequence * sequence * c.width;
        CAPTURE(c.name);
        const auto kinds = {OpKind::matmul, OpKind::attention, OpKind::attention_grad};
        CHECK(products(zoo::build(c.name, options), kinds) == 3 * (blocks + head) + 3.5 * scores);
        CHECK(products(zoo::build(c.name, changed(options, {{"recompute", "full"}})), kinds) ==
              4 * blocks + 3 * head + 4.5 * scores);
        CHECK(products(zoo::build(c.name, changed(options, {{"recompute", "selective"}})), kinds) ==
              3 * (blocks + head) + 3.5 * scores);
        CHECK(products(zoo::build(c.name, changed(options, {{"micro_batches", "2"}})), kinds) ==
              3 * (blocks + head) + 3.5 * scores);
        // Scores and their mask are ops of their own, not halved; recomputation selects them alone
        // (Korthikanti et al., 2022): 4 S^2 D more for each sequence and layer.
        const Options composed = changed(options, {{"attention", "composed"}});
        CHECK(products(zoo::build(c.name, composed), kinds) == 3 * (blocks + head) + 6 * scores);
        CHECK(products(zoo::build(c.name, changed(composed, {{"recompute", "selective"}})), kinds) ==
              3 * (blocks + head) + 8 * scores);
    }
}

TEST_CASE("FLOPs of image models are those that are published") {
    // Multiply-adds of one image: torchvision's table gives 1.81, 4.09 and 17.56 billion.
    const double resnet = 4089184256,
                 vit = 196.0 * 768 * 768 + 12 * (197 * 12.0 * 768 * 768 + 2 * 197.0 * 197 * 768) + 768 * 1000;
    CHECK(vit == 17563828224);
    const auto kinds = {OpKind::matmul,
                        OpKind::convolution,
                        OpKind::convolution_data_grad,
                        OpKind::convolution_weight_grad,
                        OpKind::attention,
                        OpKind::attention_grad};
    // The image has no gradient.
    const double stem = 112 * 112 * 64 * 147.0, patches = 196.0 * 768 * 768;
    for (const char* layout : {"nchw", "nhwc"}) {
        CHECK(products(zoo::build("resnet50", {{"batch", "4"}, {"layout", layout}}), kinds) ==
              4 * 2 * (3 * resnet - stem));
    }
    // Fused attention computes its scores again.
    const double scores = 12 * 2 * 197.0 * 197 * 768;
    CHECK(products(zoo::build("vit-b16", {{"batch", "4"}}), kinds) ==
          4 * 2 * (3 * vit - patches + 0.5 * scores));
}

TEST_CASE("a mixture's experts compute as many rows as they have slots") {
    const Options options{{"batch", "2"}, {"sequence", "64"}, {"target", "32"}, {"layers", "2"}};
    const double d = 768, f = 3072, source = 128, target = 64, v = 32128;
    const double attention = 4 * d * d;
    // Per stack: two blocks, one of them with 8 experts of ceil(tokens * 1.25 / 8) slots.
    const double slots = 8 * (20 + 10);
    // Two products, two layers, two pairs of sequences. Cross attention has no relative positions and is
    // fused: its gradient computes the scores again.
    const double own = 2 * 2 * 2 * d * (64 * 64 + 32 * 32), cross = 2 * 2 * 2 * d * 32 * 64;
    const double keys_of_encoder =
        2 * 2 * d * d * (source - target);  // of cross attention, not of the target
    const double forward =
        2 * (2 * source * attention + 2 * target * 2 * attention + keys_of_encoder +
             (source + target) * 2 * d * f + slots * 2 * d * f + (source + target) * d * 8 + target * d * v) +
        2 * own;
    CHECK(products(zoo::build("switch-base-8", options)) == 3 * forward);
    CHECK(products(zoo::build("switch-base-8", options), {OpKind::attention, OpKind::attention_grad}) ==
          3.5 * 2 * cross);
}

TEST_CASE("a step that is far too long is told at the second of what is repeated, not after a million ops") {
    // The last op that was recorded is named: it is one of the second layer, moment or part.
    using Catch::Matchers::Contains;
    const auto told = [](const std::string& model, const Options& options, const std::string& at) {
        CAPTURE(model);
        CHECK_THAT(message(model, options), Contains(at) && Contains("too long to be written out"));
    };
    told("gpt2-small", {{"layers", "2147483647"}, {"batch", "1"}}, "block1.");
    told("bert-base", {{"layers", "2000000"}, {"batch", "1"}}, "block1.");
    told("switch-base-8", {{"layers", "2000000"}, {"batch", "1"}}, "encoder3.");
    told("gpt", {{"layers", "2147483647"}, {"batch", "1"}}, "gpt: a step");
    told("lstm", {{"sequence", "524289"}, {"batch", "1"}}, "layer0");
    told("lstm", {{"layers", "2000000"}, {"batch", "1"}}, "layer1");
    told("gpt2-small", {{"micro_batches", "1000"}, {"batch", "1000"}, {"layers", "30"}}, "add to sum of");
    // A step that may be is one, however its layers are counted.
    CHECK(message("gpt2-small", {{"layers", "3"}, {"micro_batches", "3"}, {"batch", "3"}}) == "no error");
}

TEST_CASE("a step whose forward pass alone is short enough is told as too long before it is written") {
    using Catch::Matchers::Contains;
    for (const char* model : {"gpt", "gpt2-small", "bert-base", "switch-base-8", "llama2-7b", "vit-b16"}) {
        for (const char* layers : {"22000", "50000", "1000000"}) {
            CAPTURE(model, layers);
            CHECK_THAT(
                message(model, {{"layers", layers}, {"batch", "1"}}),
                Contains(std::string(model) + " option layers") && Contains("too long to be written out"));
        }
    }
    // What fits is not refused.
    CHECK(message("gpt", {{"layers", "1001"}, {"batch", "1"}, {"sequence", "8"}}) == "no error");
}

TEST_CASE("options of models that make no sense are named") {
    using Catch::Matchers::Contains;
    CHECK_THAT(message("gpt2-smal", {}), Contains("did you mean gpt2-small?"));
    CHECK_THAT(message("gpt2-small", {{"sequence", "2000"}}), Contains("1024 learned positions"));
    CHECK_THAT(message("gpt2-small", {{"heads", "5"}}), Contains("heads") && Contains("divide"));
    CHECK_THAT(message("llama3-8b", {{"key_heads", "5"}}), Contains("key_heads"));
    CHECK_THAT(message("gpt2-small", {{"batch", "8"}, {"micro_batches", "3"}}),
               Contains("does not fall into 3"));
    CHECK_THAT(message("gpt2-small", {{"recompute", "some"}}), Contains("none, selective or full"));
    CHECK_THAT(message("gpt2-small", {{"fp8", "1"}, {"type", "f32"}}), Contains("f16 or bf16"));
    CHECK_THAT(message("vit-b16", {{"patch", "15"}}), Contains("patch"));
    CHECK_THAT(message("resnet50", {{"image", "0"}}), Contains("at least 1"));
    CHECK_THAT(message("switch-base-8", {{"attention", "fused"}}), Contains("relative positions"));
}
