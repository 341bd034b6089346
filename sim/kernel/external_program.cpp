#include "sim/kernel/external_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "isa/common/error.h"
#include "isa/common/text_file.h"
#include "isa/target/generation.h"

namespace heddle::kernel {

ScratchFolder::ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw Error("cannot make a folder", {pattern, 0, ""});
    path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

int run_program(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t process = 0;
    const int failure = ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) return 127;
    int status = 0;
    if (::waitpid(process, &status, 0) != process || !WIFEXITED(status)) return 1;
    return WEXITSTATUS(status);
}

void run_ptxas(std::vector<std::string> arguments, const std::string& log, const std::string& module, const std::string& remedy) {
    const char* named = std::getenv("HEDDLE_PTXAS");
    arguments.insert(arguments.begin(), named != nullptr ? named : "ptxas");
    const int code = run_program(arguments, log);
    const SourceLocation where{module, 0, ""};
    if (code == 127) throw Error("ptxas is not there", where, "install the CUDA toolkit, name ptxas in HEDDLE_PTXAS, or " + remedy);
    if (code != 0) throw Error("ptxas refuses the module: " + first_complaint(text_of_file(log)), where, remedy);
}

std::string ptxas_target(unsigned compute_capability) {
    return target::nearest_generation(compute_capability).has_specific_target ? target::specific_target(compute_capability)
                                                                              : "sm_" + std::to_string(compute_capability);
}

std::string first_complaint(const std::string& log) {
    std::istringstream lines(log);
    std::string first;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("error") != std::string::npos) return line;
        if (first.empty()) first = line;
    }
    return first;
}

std::string text_of_file(const std::string& path) {
    std::string text = read_text_file(path, kMostOfPrinted);
    if (text.empty()) throw Error("the file is empty", {path, 0, ""});
    return text;
}

}  // namespace heddle::kernel
