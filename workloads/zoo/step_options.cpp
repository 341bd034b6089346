// Options of a training step as people write them.
#include <sstream>

#include "isa/common/error.h"
#include "workloads/zoo/registry.h"

namespace heddle::zoo {
namespace {

const std::vector<std::string> kOptimizers{"sgd", "adamw", "adam"};
const std::vector<std::string> kRecompute{"none", "selective", "full"};
const std::vector<std::string> kContext{"ring", "all-gather"};
const std::vector<std::string> kFp8Recipes{"delayed", "current"};
const std::vector<std::string> kAttention{"auto", "fused", "composed"};

std::string number(double value) {
    std::ostringstream text;  // no library: heddle-capture builds on the standard one alone
    text.precision(15);
    text << value;
    return text.str();
}

}  // namespace

std::vector<OptionDescription> step_options(const StepOptions& d) {
    const OptimizerOptions& o = d.optimizer;
    return {
        {"type", name_of(d.type), "f32, tf32, f16 or bf16; below f32 with f32 master weights"},
        {"fp8", d.fp8 ? "1" : "0", "1: products of linear layers in e4m3, of gradients in e5m2"},
        {"fp8_recipe", kFp8Recipes[static_cast<std::size_t>(d.fp8_recipe)],
         "with fp8, scales: delayed, from the largest values of 16 steps; current, from the tensor's own"},
        {"recompute", kRecompute[static_cast<std::size_t>(d.recompute)],
         "none; selective: all but products with weights and fused attention; full: whole blocks"},
        {"micro_batches", std::to_string(d.micro_batches),
         "parts of the batch, whose gradients are added up"},
        {"attention", kAttention[static_cast<std::size_t>(d.attention)],
         "fused (16 bits, heads of 64 or 128), composed, or auto: fused where it goes"},
        {"dropout", number(d.dropout), "probability of a zero, where the model has dropout"},
        {"optimizer", kOptimizers[static_cast<std::size_t>(o.kind)], "sgd, adamw or adam"},
        {"learning_rate", number(o.learning_rate), "step of the update"},
        {"momentum", number(o.momentum), "of sgd; 0 has no state"},
        {"beta1", number(o.beta1), "of adam: forgetting of the mean"},
        {"beta2", number(o.beta2), "of adam: forgetting of the mean square"},
        {"weight_decay", number(o.weight_decay), "of adam, on parameters of two axes or more"},
        {"clip_norm", number(o.clip_norm), "gradients are scaled down to this norm of all of them; 0: not"},
        {"optimizer_lists", o.lists ? "1" : "0",
         "1: on a GPU one kernel updates (measures, clips) many tensors, as PyTorch's fused optimizers do"},
        {"loss_scale", o.dynamic_loss_scale ? "dynamic" : number(o.loss_scale),
         "factor on the loss, divided out in the update; dynamic: adapts itself, leaves out steps that are "
         "not finite"},
        {"tensor", std::to_string(d.tensor),
         "transformers: one device's part of layers that so many devices share"},
        {"sequence_parallel", d.sequence_parallel ? "1" : "0",
         "1: with tensor, what lies between the shared layers sees a part of the tokens"},
        {"expert", std::to_string(d.expert), "devices that share the experts of every mixture"},
        {"expert_skew", number(d.expert_skew),
         "how unevenly tokens choose experts: the r-th most popular in proportion to r^-skew"},
        {"context", std::to_string(d.context), "decoders: devices that share every sequence"},
        {"context_exchange", kContext[static_cast<std::size_t>(d.context_exchange)],
         "ring: keys and values are handed round beside attention; all-gather: before it"},
        {"parts", d.parts ? "1" : "0", "1: ops carry the number of the block that they belong to"},
    };
}

StepOptions read_step_options(const Options& options) {
    StepOptions step;
    step.type = options.type("type");
    step.fp8 = options.flag("fp8");
    step.fp8_recipe = static_cast<Fp8Recipe>(options.choice("fp8_recipe", kFp8Recipes));
    step.recompute = static_cast<Recompute>(options.choice("recompute", kRecompute));
    step.micro_batches = options.integer("micro_batches");
    step.attention = static_cast<AttentionForm>(options.choice("attention", kAttention));
    step.dropout = options.real("dropout");
    OptimizerOptions& o = step.optimizer;
    o.kind = static_cast<OptimizerOptions::Kind>(options.choice("optimizer", kOptimizers));
    o.learning_rate = options.real("learning_rate");
    o.momentum = options.real("momentum");
    o.beta1 = options.real("beta1");
    o.beta2 = options.real("beta2");
    o.weight_decay = options.real("weight_decay");
    o.clip_norm = options.real("clip_norm");
    o.lists = options.flag("optimizer_lists");
    o.dynamic_loss_scale = options.text("loss_scale") == "dynamic";
    if (!o.dynamic_loss_scale) o.loss_scale = options.real("loss_scale");
    step.tensor = options.integer("tensor");
    step.sequence_parallel = options.flag("sequence_parallel");
    step.expert = options.integer("expert");
    step.expert_skew = options.real("expert_skew");
    step.context = options.integer("context");
    step.context_exchange = static_cast<ContextExchange>(options.choice("context_exchange", kContext));
    step.parts = options.flag("parts");
    return step;
}

}  // namespace heddle::zoo
