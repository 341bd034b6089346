// Heddle's commands lie in several programs, as those of git do: what a first simulation needs is one, and others are built when they
// are first asked for (./heddle) or come with a package. `heddle` leads to all of them.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace heddle::cli {

struct CommandEntry {
    const char* name;         ///< "explore"
    const char* program;      ///< "heddle-explore": which program carries it out
    const char* description;  ///< one line for people
};

/// All commands, in the order in which help lists them.
std::span<const CommandEntry> command_table();

/// Adds the command of the table to the command line.
CLI::App* add_command(CLI::App& app, const std::string& name);

}  // namespace heddle::cli
