#include "isa/sass/disassembler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::sass {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with the object.
struct Scratch {
    fs::path path;
    Scratch() {
        std::string pattern = (fs::temp_directory_path() / "heddle-XXXXXX").string();
        if (::mkdtemp(pattern.data()) != nullptr) path = pattern;
    }
    ~Scratch() {
        std::error_code ignored;
        if (!path.empty()) fs::remove_all(path, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
};

bool run(const std::string& architecture, const std::string& input, const std::string& output) {
    const char* named = std::getenv("HEDDLE_NVDISASM");
    std::string program = named != nullptr ? named : "nvdisasm", option = "-b", target = architecture, file = input;
    char* arguments[] = {program.data(), option.data(), target.data(), file.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t process = 0;
    const int failure = ::posix_spawnp(&process, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    return failure == 0 && ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::optional<std::vector<std::string>> disassemble(std::span<const std::array<std::uint64_t, 2>> code, unsigned compute_capability) {
    const Scratch scratch;
    if (scratch.path.empty()) return std::nullopt;
    const std::string input = (scratch.path / "code").string(), output = (scratch.path / "text").string();
    std::ofstream(input, std::ios::binary)
        .write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size_bytes()));
    const std::string architecture = "SM" + std::to_string(compute_capability) + (compute_capability >= 90 ? "a" : "");
    if (!run(architecture, input, output)) return std::nullopt;
    std::vector<std::string> result;
    std::ifstream in(output);
    for (std::string line; std::getline(in, line);) {
        const std::size_t begin = line.find("*/"), end = line.rfind(';');
        if (line.find("/*") == std::string::npos || begin == std::string::npos || end == std::string::npos || end < begin) continue;
        std::string text = line.substr(begin + 2, end - begin - 2);
        if (const std::size_t note = text.find("(*"); note != std::string::npos) text.erase(note);
        result.push_back(std::move(text));
    }
    if (result.size() != code.size()) return std::nullopt;
    return result;
}

}  // namespace heddle::sass
