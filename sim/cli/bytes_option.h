// Options that take bytes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace heddle::cli {

/// An option of bytes: 25MiB, 70GB, or a plain number of them. `bytes` must live until the command line is
/// parsed.
CLI::Option* add_bytes_option(CLI::App& command, const std::string& name, double& bytes,
                              const std::string& description);

}  // namespace heddle::cli
