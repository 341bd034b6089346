// Which trainings a capture holds.
#include <stdexcept>

#include "validation/capture/training/training_run.h"

namespace heddle::capture {
namespace {

using Options = std::map<std::string, std::string>;

/// The multi-layer perceptron that Heddle began with, and a GPT of two layers whose every sum has an order.
Options options_of(const std::string& model, const std::string& type, Extent extent) {
    const bool quick = extent == Extent::quick;
    Options options{{"type", type}};
    if (model == "mlp") {
        if (quick) options.insert({{"batch", "16"}, {"widths", "24,20,10"}});
        return options;
    }
    options.insert(
        {{"layers", "2"}, {"deterministic", "1"}, {"optimizer", "adamw"}, {"learning_rate", "0.003"}});
    if (quick) {
        options.insert({{"hidden", "32"}, {"batch", "2"}, {"sequence", "16"}, {"vocabulary", "32"}});
    } else {
        options.insert({{"hidden", "128"}, {"batch", "4"}, {"sequence", "64"}, {"vocabulary", "256"}});
    }
    return options;
}

}  // namespace

const char* name_of(TrainingVariant variant) {
    switch (variant) {
        case TrainingVariant::exact:
            return "exact";
        case TrainingVariant::vendor:
            return "vendor";
        case TrainingVariant::approximate:
            return "approximate";
    }
    return "exact";
}

TrainingVariant training_variant_of(const std::string& name) {
    for (const auto variant :
         {TrainingVariant::exact, TrainingVariant::vendor, TrainingVariant::approximate}) {
        if (name == name_of(variant)) return variant;
    }
    throw std::invalid_argument("'" + name + "' is no variant of a training: exact, vendor or approximate");
}

std::string TrainingItem::id() const {
    const auto type = options.find("type");
    std::string id = model + " " + (type == options.end() ? "f32" : type->second) + " " + name_of(variant);
    if (compute != Compute::f32) id += std::string(" ") + name_of(compute);
    return id;
}

std::vector<TrainingItem> training_items(Extent extent) {
    struct Kind {
        const char *model, *type;
        TrainingVariant variant;
        Compute compute = Compute::f32;
    };
    constexpr auto exact = TrainingVariant::exact, vendor = TrainingVariant::vendor,
                   approximate = TrainingVariant::approximate;
    const Kind kinds[] = {
        {"mlp", "f32", exact},
        {"mlp", "f32", vendor},
        {"gpt", "bf16", exact},
        {"gpt", "bf16", vendor},
        {"gpt", "f32", exact},
        {"gpt", "f32", vendor},
        {"mlp", "f32", vendor, Compute::tf32},
        {"mlp", "f32", approximate},
        {"gpt", "f32", approximate},
    };
    std::vector<TrainingItem> items;
    for (const Kind& kind : kinds) {
        TrainingItem item;
        item.model = kind.model;
        item.options = options_of(kind.model, kind.type, extent);
        item.variant = kind.variant;
        item.compute = kind.compute;
        item.steps = extent == Extent::quick ? 3 : 20;
        items.push_back(std::move(item));
    }
    return items;
}

}  // namespace heddle::capture
