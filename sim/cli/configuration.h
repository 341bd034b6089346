// configuration.json of a run's folder: the inputs of the run, for `heddle compare`.
#pragma once

#include <map>
#include <string>

#include "sim/machine/hardware.h"

namespace heddle::cli {

/// Returns {"heddle", "workload", "hardware", "options": {...}, "parameters": {path: value}} as JSON.
std::string configuration_json(const std::string& workload, const sim::Hardware& hardware,
                               const std::map<std::string, std::string>& options);

}  // namespace heddle::cli
