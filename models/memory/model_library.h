// Loads models of others from shared libraries.
#pragma once

#include <memory>
#include <string>

#include "models/memory/dram_plugin.h"
#include "models/memory/l2_plugin.h"

namespace heddle::models {

/// Makes the model that the shared library `path` exports (dram_plugin.h). The library stays loaded as long
/// as the process runs. Throws heddle::Error when the file cannot be loaded, lacks a function, is made for
/// another version of the interface, or gives nothing.
std::unique_ptr<DramModel> load_dram_model(const std::string& path, const char* name,
                                           const DramModelSettings& settings);
/// The same of l2_plugin.h.
std::unique_ptr<L2Model> load_l2_model(const std::string& path, const char* name,
                                       const L2ModelSettings& settings);

}  // namespace heddle::models
