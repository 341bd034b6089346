// Registers per thread as NVIDIA's assembler allocates them, where it is installed.
#pragma once

#include <map>
#include <string>

namespace heddle::kernel {

/// Registers per thread by kernel, from the output of `ptxas -v`.
using RegisterCounts = std::map<std::string, unsigned>;

/// Runs ptxas ($HEDDLE_PTXAS, or the one on PATH). Throws heddle::Error when it is not installed or rejects
/// the module for this device; `module` is the file's name for the message.
RegisterCounts ptxas_registers(const std::string& text, unsigned compute_capability,
                               const std::string& module);

/// Reads the counts from the output of `ptxas -v`.
RegisterCounts parse_register_counts(const std::string& output);

}  // namespace heddle::kernel
