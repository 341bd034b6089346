// Published models by name.
#pragma once

#include <vector>

#include "workloads/zoo/registry.h"

namespace heddle::zoo {

/// Appends the published models to `models`.
void add_presets(std::vector<Model>& models);

}  // namespace heddle::zoo
