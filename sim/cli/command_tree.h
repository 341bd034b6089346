// The commands of `heddle` as data, read from CLI11's own tree. Completions and the manual page are made from
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace heddle::cli {

/// What kind of value an option takes, for completion.
enum class Values { none, anything, words, devices, models, clusters, files, folders };

/// One option or positional argument.
struct OptionDescription {
    std::vector<std::string> names;  ///< "-j", "--jobs"; for a positional argument its name alone
    bool positional = false, required = false;
    std::string value;  ///< "N", "NAME|FILE"; empty: the option takes no value
    Values values = Values::none;
    /// The words of Values::words; further values that may be given instead of a file.
    std::vector<std::string> words;
    std::string text;
};

/// One command with its options and subcommands.
struct CommandDescription {
    std::string path;  ///< "heddle hardware describe"
    std::string name;  ///< "describe"
    std::string text, footer;
    std::vector<OptionDescription> options;
    std::vector<CommandDescription> commands;

    /// Whether one of its options has this name.
    bool takes(const std::string& option) const;
};

/// Describes the tree below `app`. Hidden commands (those with an empty group) are left out.
CommandDescription describe_commands(const CLI::App& app);

/// Returns all commands of the tree, parents first. The pointers refer to `root`.
std::vector<const CommandDescription*> all_commands(const CommandDescription& root);

}  // namespace heddle::cli
