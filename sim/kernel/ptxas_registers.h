// Registers per thread as NVIDIA's assembler counts them, where it is installed.
#pragma once

#include <map>
#include <string>

namespace heddle::kernel {

/// By kernel: what `ptxas -v` says of a module on a device.
using RegisterCounts = std::map<std::string, unsigned>;

/// Runs ptxas (HEDDLE_PTXAS in the environment, or the one on PATH). Throws heddle::Error when it is not
/// there, or refuses the module for this device; `module` is its file, for the message.
RegisterCounts ptxas_registers(const std::string& text, unsigned compute_capability,
                               const std::string& module);

/// Reads the counts from what `ptxas -v` printed.
RegisterCounts parse_register_counts(const std::string& output);

}  // namespace heddle::kernel
