// A GPU context that has failed, or a kernel that never ends, takes the process with it. So the capture runs
// in a child process, and when that loses its device the next child goes on with the items that are missing.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle::capture {

/// What a child says at its end.
struct ChildReport {
    int exit_code = 0;
    bool device_lost = false;
    std::string stuck;  ///< a section that the next child should leave out
};

/// Runs `child(left_out)` in a new process, again and again while it loses its device, at most `attempts`
/// times; returns the exit code. SIGINT and SIGTERM are passed on. Called before there is any other thread.
int supervise(const std::function<ChildReport(const std::vector<std::string>& left_out)>& child,
              unsigned attempts);

}  // namespace heddle::capture
