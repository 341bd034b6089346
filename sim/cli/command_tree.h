// The commands of `heddle` as data, read from CLI11's own tree: what completions and the manual page are made
// of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace heddle::cli {

/// What a value may be, for completion.
enum class Values { none, anything, words, devices, models, clusters, files, folders };

struct OptionDescription {
    std::vector<std::string> names;  ///< "-j", "--jobs"; of a positional its name alone
    bool positional = false, required = false;
    std::string value;  ///< "N", "NAME|FILE"; empty: it takes none
    Values values = Values::none;
    std::vector<std::string> words;  ///< of Values::words, and beside files
    std::string text;
};

struct CommandDescription {
    std::string path;  ///< "heddle hardware describe"
    std::string name;  ///< "describe"
    std::string text, footer;
    std::vector<OptionDescription> options;
    std::vector<CommandDescription> commands;

    bool takes(const std::string& option) const;
};

/// The tree under `app`. Hidden commands (an empty group) are left out.
CommandDescription describe_commands(const CLI::App& app);

/// All commands, parents first.
std::vector<const CommandDescription*> all_commands(const CommandDescription& root);

}  // namespace heddle::cli
