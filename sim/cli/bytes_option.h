// Command line options whose value is a number of bytes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace heddle::cli {

/// Adds an option that reads bytes: 25MiB, 70GB, or a plain number. `bytes` must live until the command line
/// is parsed.
CLI::Option* add_bytes_option(CLI::App& command, const std::string& name, double& bytes,
                              const std::string& description);

}  // namespace heddle::cli
