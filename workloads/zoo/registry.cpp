#include "workloads/zoo/registry.h"

#include "isa/common/error.h"
#include "workloads/zoo/mlp.h"

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

}  // namespace

std::vector<Model> models() {
    return {
        {"mlp",
         "multi-layer perceptron classifier: linear layers, ReLU, softmax cross-entropy, SGD",
         {{"batch", "256", "rows per step"},
          {"widths", "784,512,256,10", "input features, hidden widths, classes"},
          {"type", "f32", "f32, tf32, f16 or bf16; below f32 with f32 master weights"},
          {"learning_rate", "0.1", "step of the update"},
          {"momentum", "0", "0 is plain SGD"},
          {"loss_scale", "1", "factor on the loss before the backward pass, divided out in the update"}},
         build_mlp},
    };
}

trace::Trace build(const std::string& name, const std::map<std::string, std::string>& options) {
    std::vector<std::string> names;
    for (const Model& model : models()) {
        if (model.name == name) return model.build(Options(name, model.options, options));
        names.push_back(model.name);
    }
    const std::string near = nearest_word(name, names.data(), names.size());
    std::string remedy = near.empty() ? "known models:" : "did you mean " + near + "?";
    for (std::size_t i = 0; near.empty() && i < names.size(); ++i) remedy += " " + names[i];
    throw Error("there is no model '" + name + "'", {}, remedy);
}

}  // namespace heddle::zoo
