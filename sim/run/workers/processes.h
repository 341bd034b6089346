// What the system says about other processes of this machine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace heddle::sim {

/// Whether it is stopped (SIGSTOP, Ctrl-Z, a debugger). False for one that is not there, or not to be seen.
bool is_stopped(pid_t process);

/// The process that took the lock (flock) of an open file. Nothing when nobody did, or when the system does
/// not tell: from inside of a container, or of another machine's process.
std::optional<pid_t> holder_of_lock(int descriptor);

/// "PID 4711", "PID 4711 (stopped)", or "another process".
std::string name_of_holder(int descriptor);

}  // namespace heddle::sim
