#include "sim/cli/json_options.h"

#include "sim/cli/output.h"

namespace heddle::cli {

void add_json_options(CLI::App& command, JsonOptions& json, const std::string& content) {
    command.add_flag("--json", json.print, "print JSON instead of the table: " + content);
    command.add_option("--json-file", json.file, "write the same JSON into a file, beside the table")
        ->type_name("FILE");
}

void show(const std::string& table, const std::string& json_text, const JsonOptions& json) {
    if (!json.file.empty()) write_file(json.file, json_text);
    if (json.print) {
        print(json_text);
        return;
    }
    print(table + (json.file.empty() ? "" : "\nwritten: " + json.file + "\n"));
}

}  // namespace heddle::cli
