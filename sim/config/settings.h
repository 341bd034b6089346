// Applies the settings of a hardware file to the parameters of a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/common/parameter.h"
#include "sim/config/hardware_file.h"

namespace heddle::sim {

/// Where a parameter's value came from.
struct ValueOrigin {
    std::string text;      ///< as written: "50 MiB"
    SourceLocation where;  ///< file and line, or "--set"
    std::string source;    ///< the comment beside it
};

/// Sets every parameter. `overrides` take precedence over the file. Every parameter must be set somewhere in
/// the chain of files, and every key must be a parameter; otherwise heddle::Error names file, line, key and
/// the nearest valid key. Returns where each value came from, by path.
std::map<std::string, ValueOrigin> apply_settings(const HardwareText& text,
                                                  const std::vector<Setting>& overrides,
                                                  const models::ParameterList& parameters);

}  // namespace heddle::sim
