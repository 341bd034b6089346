#include "workloads/zoo/registry.h"

#include "isa/common/error.h"
#include "workloads/zoo/gpt.h"
#include "workloads/zoo/mlp.h"
#include "workloads/zoo/presets.h"
#include "workloads/zoo/tape.h"

namespace heddle::zoo {
namespace {

trace::Trace build_mlp(const Options& options) {
    MlpOptions mlp_options;
    mlp_options.batch = options.integer("batch");
    mlp_options.widths = options.integers("widths");
    mlp_options.type = options.type("type");
    mlp_options.learning_rate = options.real("learning_rate");
    mlp_options.momentum = options.real("momentum");
    mlp_options.loss_scale = options.real("loss_scale");
    return mlp(mlp_options);
}

trace::Trace build_gpt(const Options& options) {
    GptOptions gpt_options;
    gpt_options.layers = options.integer("layers");
    gpt_options.hidden = options.integer("hidden");
    gpt_options.heads = options.integer("heads");
    gpt_options.feed_forward = options.integer("feed_forward");
    gpt_options.batch = options.integer("batch");
    gpt_options.sequence = options.integer("sequence");
    gpt_options.vocabulary = options.integer("vocabulary");
    gpt_options.type = options.type("type");
    gpt_options.attention =
        static_cast<AttentionForm>(options.choice("attention", {"auto", "fused", "composed"}));
    gpt_options.tied = options.flag("tied");
    gpt_options.deterministic = options.flag("deterministic");
    OptimizerOptions& optimizer = gpt_options.optimizer;
    optimizer.kind =
        static_cast<OptimizerOptions::Kind>(options.choice("optimizer", {"sgd", "adamw", "adam"}));
    optimizer.learning_rate = options.real("learning_rate");
    optimizer.momentum = options.real("momentum");
    optimizer.beta1 = options.real("beta1");
    optimizer.beta2 = options.real("beta2");
    optimizer.weight_decay = options.real("weight_decay");
    optimizer.loss_scale = options.real("loss_scale");
    return gpt(gpt_options);
}

/// Of a step with many layers, tells from two short ones that it is too long, before a million ops are
/// written. The tape tells it at the second layer, but only of what it has seen by then: the forward pass of
/// one stack.
void check_layers(const Model& model, const std::map<std::string, std::string>& options) {
    constexpr std::int64_t kFew = 8,
                           kMany = 1000;  // eight: layers of two kinds take turns by some small number
    constexpr auto kMost = static_cast<std::int64_t>(kMostOps);
    const Options given(model.name, model.options, options);
    if (!given.has("layers")) return;
    const std::int64_t layers = given.integer("layers");
    if (layers < kMany || layers > kMost) return;
    const auto length = [&](std::int64_t count) {
        std::map<std::string, std::string> fewer = options;
        fewer["layers"] = std::to_string(count);
        const trace::Trace trace = model.build(Options(model.name, model.options, fewer));
        return static_cast<std::int64_t>(trace.ops.size());
    };
    std::int64_t least = 0;
    try {
        const std::int64_t few = length(kFew), twice = length(2 * kFew);
        // One turn less: layers that are left over may be the short ones.
        least = few + (twice - few) * (layers / kFew - 2);
    } catch (const Error&) {  // other options do not go with so few layers
    }
    if (least > kMost) fail_as_too_long(model.name + " option layers");
}

}  // namespace

std::vector<Model> models() {
    std::vector<Model> all{
        {"mlp",
         "multi-layer perceptron classifier: linear layers, ReLU, softmax cross-entropy, SGD",
         {{"batch", "256", "rows per step"},
          {"widths", "784,512,256,10", "input features, hidden widths, classes"},
          {"type", "f32", "f32, tf32, f16 or bf16; below f32 with f32 master weights"},
          {"learning_rate", "0.1", "step of the update"},
          {"momentum", "0", "0 is plain SGD"},
          {"loss_scale", "1", "factor on the loss before the backward pass, divided out in the update"}},
         build_mlp},
        {"gpt",
         "decoder-only transformer: embeddings, causal attention, GELU, cross-entropy of the next token",
         {{"layers", "2", "blocks"},
          {"hidden", "128", "width of the residual stream"},
          {"heads", "2", "of attention; divides hidden"},
          {"feed_forward", "0", "width of the MLP in a block; 0: four times hidden"},
          {"batch", "4", "sequences per step"},
          {"sequence", "64", "tokens per sequence"},
          {"vocabulary", "256", "tokens that there are"},
          {"type", "f32", "f32, tf32, f16 or bf16; below f32 with f32 master weights"},
          {"attention", "auto",
           "fused (16 bits, heads of 64 or 128), composed, or auto: fused where it goes"},
          {"tied", "0", "1: the head is the token embedding transposed"},
          {"deterministic", "0", "1: every sum in an order that the step alone decides"},
          {"optimizer", "sgd", "sgd, adamw or adam"},
          {"learning_rate", "0.1", "step of the update"},
          {"momentum", "0", "of sgd; 0 has no state"},
          {"beta1", "0.9", "of adamw: forgetting of the mean"},
          {"beta2", "0.999", "of adamw: forgetting of the mean square"},
          {"weight_decay", "0.1", "of adamw, on parameters of two axes or more"},
          {"loss_scale", "1", "factor on the loss before the backward pass, divided out in the update"}},
         build_gpt},
    };
    add_presets(all);
    return all;
}

trace::Trace build(const std::string& name, const std::map<std::string, std::string>& options) {
    std::vector<std::string> names;
    for (const Model& model : models()) {
        if (model.name == name) {
            check_layers(model, options);
            return model.build(Options(name, model.options, options));
        }
        names.push_back(model.name);
    }
    const std::string near = nearest_word(name, names.data(), names.size());
    std::string remedy = near.empty() ? "known models:" : "did you mean " + near + "?";
    for (std::size_t i = 0; near.empty() && i < names.size(); ++i) remedy += " " + names[i];
    throw Error("there is no model '" + name + "'", {}, remedy);
}

}  // namespace heddle::zoo
