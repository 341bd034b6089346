// A user's own model: a list of layers, as docs/models.md describes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/zoo/registry.h"

namespace heddle::zoo {

/// A word or number from the user's file, and its line.
struct LayerField {
    std::string text;
    int line = 0;
};

/// One layer, such as "convolution: {filters: 64, window: 3}". A layer with a single value ("dropout: 0.1")
/// has it under "".
struct LayerSpec {
    std::string kind;
    int line = 0;
    std::map<std::string, LayerField> fields;
    std::vector<LayerSpec> layers;  ///< of repeat, residual and block
};

/// A model as its file describes it.
struct LayerModel {
    std::string name, file;
    LayerSpec input;  ///< kind tokens, features or image
    std::int64_t batch = 1;
    std::vector<LayerSpec> layers;
    std::map<std::string, LayerField> options;  ///< of the step; see step_options()
};

/// Builds one training step. `given` are options of the command line (batch, sequence, options of the step),
/// which take precedence over those of the file. Throws heddle::Error with file, line and key.
trace::Trace build(const LayerModel& model, const std::map<std::string, std::string>& given);

}  // namespace heddle::zoo
