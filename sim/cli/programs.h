// Heddle's commands are divided among several programs, as those of git are. One program contains what a
// first simulation needs; the others are built on first use (./heddle) or come with a package. `heddle` finds
// all of them.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace heddle::cli {

/// One command of the table.
struct CommandEntry {
    const char* name;         ///< "explore"
    const char* program;      ///< "heddle-explore": the program that carries it out
    const char* description;  ///< one line for people
};

/// Returns all commands in the order in which the help lists them.
std::span<const CommandEntry> command_table();

/// Adds a command with its description from the table to the command line, and returns it.
CLI::App* add_command(CLI::App& app, const std::string& name);

}  // namespace heddle::cli
