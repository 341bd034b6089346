// What the operating system tells about other processes of this computer.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace heddle::sim {

/// Returns whether a process is stopped (SIGSTOP, Ctrl-Z, a debugger). False when it does not exist or its
/// state is not visible.
bool is_stopped(pid_t process);

/// Returns the process that holds the lock (flock) of an open file. Nothing when nobody does or the system
/// does not tell, as inside a container or for a process of another computer.
std::optional<pid_t> holder_of_lock(int descriptor);

/// Describes the holder of the lock: "PID 4711", "PID 4711 (stopped)" or "another process".
std::string name_of_holder(int descriptor);

}  // namespace heddle::sim
