// --max-cycles and --max-seconds: how a command that would take too long ends.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace heddle::cli {

/// Adds both to a command that simulates. They hold from the moment in which they are parsed, for this
/// process and what it forks (isa/common/limits.h).
///
/// When the time of --max-seconds is over, SIGALRM comes. Where workers run it is one of the interrupts
/// (sim/run/workers/worker_pool.h); a kernel that this process simulates itself ends with LimitReached; and where
/// neither is so (it reads a file, say), this process ends a little later, with one line and the same exit
/// code.
void add_limit_options(CLI::App& command);

/// Exit code of a command that reached one of its limits.
inline constexpr int kLimitReached = 5;

/// SIGALRM comes no more: the command ends anyway.
void disarm_time_limit();

/// "the time of --max-seconds 60 is over"
std::string time_limit_text();
/// "; give more than --max-seconds 60"
std::string time_limit_remedy();

}  // namespace heddle::cli
