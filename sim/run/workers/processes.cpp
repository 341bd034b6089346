#include "sim/run/workers/processes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace heddle::sim {

bool is_stopped(pid_t process) {
    std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    // "4711 (name) T ...": the name may hold brackets itself.
    const std::size_t bracket = text.rfind(')');
    if (bracket == std::string::npos || bracket + 2 >= text.size()) return false;
    return text[bracket + 2] == 'T' || text[bracket + 2] == 't';
}

std::optional<pid_t> holder_of_lock(int descriptor) {
    struct stat file {};
    if (::fstat(descriptor, &file) != 0) return {};
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
        // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:10952810 0 EOF"; device in hexadecimal.
        int process = 0;
        unsigned major_number = 0, minor_number = 0;
        unsigned long long inode = 0;
        if (std::sscanf(line.c_str(), "%*s FLOCK %*s WRITE %d %x:%x:%llu", &process, &major_number,
                        &minor_number, &inode) == 4 &&
            process > 0 && inode == file.st_ino && major_number == major(file.st_dev) &&
            minor_number == minor(file.st_dev))
            return process;
    }
    return {};
}

std::string name_of_holder(int descriptor) {
    const std::optional<pid_t> process = holder_of_lock(descriptor);
    if (!process) return "another process";
    return "PID " + std::to_string(*process) + (is_stopped(*process) ? " (stopped)" : "");
}

}  // namespace heddle::sim
