// How a command is left to another of Heddle's programs.
#pragma once

#include <string>

namespace heddle::cli {

/// Thrown where a command finds that another program must carry it out; nothing has been printed yet.
struct HandOver {
    const char* program;
};

/// Becomes the other program, with the same arguments. Builds it first where `./heddle` started this one (HEDDLE_BUILD). Returns only
/// by throwing heddle::Error: the program is not there.
[[noreturn]] void hand_over(const std::string& program, int argument_count, const char* const* arguments);

}  // namespace heddle::cli
