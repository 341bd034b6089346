// ptxas, for tests that let it judge PTX.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace heddle::test {

/// Runs a command; returns its exit status, and what it printed.
inline int run_command(const std::string& command, std::string& output) {
    output.clear();
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return -1;
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
    return pclose(pipe);
}

/// HEDDLE_PTXAS in the environment, what CMake found, or the one on the path; "" when there is none.
inline std::string find_assembler(const std::string& found_by_cmake) {
    if (const char* named = std::getenv("HEDDLE_PTXAS")) return named;
    std::string output;
    for (const std::string& candidate : {found_by_cmake, std::string("ptxas")})
        if (!candidate.empty() && run_command("'" + candidate + "' --version", output) == 0) return candidate;
    return "";
}

}  // namespace heddle::test
