// --max-cycles and --max-seconds, which end a command that would take too long.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace heddle::cli {

/// Adds both options to a command that simulates. They take effect when they are parsed, for this process and
/// the processes that it forks (isa/common/limits.h).
///
/// SIGALRM arrives when the time of --max-seconds is over. While workers run, it is one of the interrupts
/// (sim/run/workers/worker_pool.h); a kernel that this process simulates itself ends with LimitReached; in
/// all other situations, such as while a file is read, this process ends a little later with one line and the
/// same exit code.
void add_limit_options(CLI::App& command);

/// Exit code of a command that reached one of its limits.
inline constexpr int kLimitReached = 5;

/// Cancels the alarm, because the command is ending anyway.
void disarm_time_limit();

/// Returns "the time of --max-seconds 60 is over" with the user's number.
std::string time_limit_text();
/// Returns "; give more than --max-seconds 60" with the user's number.
std::string time_limit_remedy();

}  // namespace heddle::cli
