// How a command is passed on to another of Heddle's programs.
#pragma once

#include <string>

namespace heddle::cli {

/// Thrown where a command must be carried out by another program. Nothing has been printed yet.
struct HandOver {
    const char* program;
};

/// Replaces this process by the other program with the same arguments. Where `./heddle` started this process
/// (HEDDLE_BUILD), the program is built first. Does not return; throws heddle::Error when the program does
/// not exist.
[[noreturn]] void hand_over(const std::string& program, int argument_count, const char* const* arguments);

}  // namespace heddle::cli
