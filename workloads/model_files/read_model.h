// Models that users write as YAML: docs/models.md.
#pragma once

#include <string>

#include "workloads/zoo/layer_model.h"

namespace heddle::model_files {

/// Whether the name ends like a model file: .yaml or .yml.
bool is_model_file(const std::string& path);

/// Throws heddle::Error with file, line and key.
zoo::LayerModel read_model(const std::string& path);

}  // namespace heddle::model_files
