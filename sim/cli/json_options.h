// --json and --json-file for comparisons whose table is useful in addition to the JSON of a long run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace heddle::cli {

/// --json prints JSON and nothing else, as for all commands; --json-file writes the same JSON in addition to
/// the table.
struct JsonOptions {
    bool print = false;
    std::string file;
};

/// Adds both options; `json` must live until the command line is parsed. `content` describes the JSON.
void add_json_options(CLI::App& command, JsonOptions& json, const std::string& content);

/// Writes the file if one is named; then prints `table` (and the name of the file), or the JSON instead.
/// Throws heddle::Error where it cannot write.
void show(const std::string& table, const std::string& json_text, const JsonOptions& json);

}  // namespace heddle::cli
