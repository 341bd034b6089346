#include "validation/run/capture_now.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <vector>

#include "isa/common/error.h"

extern char** environ;

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

constexpr int kComplete = 0, kStopped = 3;

/// Runs and waits; stdout goes to our stderr, and so does stderr unless `errors` names a file. Returns the
/// exit code, or 128 + the signal that ended the program.
int run(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& errors) {
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (!errors.empty()) {
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = 0;
    const int failure = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        throw Error(std::string("cannot start the capture: ") + std::strerror(failure),
                    {program.string(), 0, ""});
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) throw Error("lost the capture program", {program.string(), 0, ""});
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string last_line(const fs::path& file) {
    std::ifstream stream(file);
    std::string line, last;
    while (std::getline(stream, line))
        if (!line.empty()) last = line;
    return last;
}

}  // namespace

fs::path capture_program() {
    std::error_code failure;
    const fs::path here = fs::read_symlink("/proc/self/exe", failure).parent_path();
    for (const char* place : {"heddle-capture", "../../validation/capture/heddle-capture"}) {
        const fs::path program = here / place;
        if (fs::is_regular_file(program, failure)) return fs::weakly_canonical(program, failure);
    }
    throw Error("there is no heddle-capture beside this program", {here.string(), 0, ""},
                "build it: ninja -C build heddle-capture");
}

std::string dated_capture_name() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "capture-%Y-%m-%d", &parts);
    return text;
}

void capture_now(const fs::path& program, const fs::path& folder) {
    // The smallest section first, with its errors set aside: without a GPU there is one line to be shown.
    const fs::path errors = fs::temp_directory_path() / ("heddle-capture-errors-" + std::to_string(getpid()));
    const int first = run(program, {"--output", folder.string(), "--sections", "device"}, errors);
    const std::string reason = last_line(errors);
    std::error_code ignored;
    fs::remove(errors, ignored);
    if (first != kComplete && first != kStopped) {
        fs::remove(folder, ignored);  // only when it is empty
        throw Error("this machine's GPU cannot be captured: " +
                    (reason.empty() ? "heddle-capture ended with code " + std::to_string(first) : reason));
    }
    const int code = run(program, {"--output", folder.string()}, {});
    if (code != kComplete && code != kStopped)
        throw Error("heddle-capture ended with code " + std::to_string(code), {folder.string(), 0, ""},
                    "run it again to go on where it stopped: heddle-capture --output " + folder.string());
}

}  // namespace heddle::validation
