// --json and --json-file of comparisons whose table is worth reading beside the JSON of a long run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace heddle::cli {

/// --json prints JSON and nothing else, as everywhere; --json-file writes the same JSON beside the table.
struct JsonOptions {
    bool print = false;
    std::string file;
};

/// Adds both options; `json` must live until the command line is parsed. `content` says what the JSON has.
void add_json_options(CLI::App& command, JsonOptions& json, const std::string& content);

/// Writes the file where one is named, then prints `table` (and what was written), or the JSON in its place.
/// Throws heddle::Error where it cannot write.
void show(const std::string& table, const std::string& json_text, const JsonOptions& json);

}  // namespace heddle::cli
