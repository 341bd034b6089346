#include "sim/kernel/module_source.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/common/error.h"

namespace heddle::kernel {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream.is_open()) throw Error("cannot open the file", {path, 0, ""});
    std::ostringstream text;
    text << stream.rdbuf();
    if (stream.bad() || text.str().empty())
        throw Error("cannot read the file, or it is empty", {path, 0, ""});
    return text.str();
}

/// A folder of its own that goes away.
class ScratchFolder {
  public:
    ScratchFolder() {
        std::string pattern = (fs::temp_directory_path() / "heddle-nvcc-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw Error("cannot make a folder", {pattern, 0, ""});
        path_ = pattern;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

/// Runs a program found on PATH with stdout and stderr in `log`. Returns its exit code, 127 when there is no
/// such program.
int run_program(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> arguments;
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

std::string first_complaint(const std::string& log) {
    std::istringstream lines(log);
    std::string first;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("error") != std::string::npos) return line;
        if (first.empty()) first = line;
    }
    return first;
}

std::string compile(const std::string& path, const std::vector<std::string>& flags, unsigned capability) {
    const SourceLocation where{path, 0, ""};
    if (!fs::is_regular_file(path)) throw Error("there is no such file", where);
    const ScratchFolder folder;
    const std::string output = (folder.path() / "module.ptx").string();
    const std::string log = (folder.path() / "log").string();
    std::vector<std::string> words{"nvcc", "-ptx", path, "-o", output};
    const bool chosen = std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
        return flag.find("-arch") != std::string::npos || flag.find("-gencode") != std::string::npos;
    });
    if (!chosen) words.push_back("-arch=sm_" + std::to_string(capability) + (capability == 90 ? "a" : ""));
    words.insert(words.end(), flags.begin(), flags.end());
    const int code = run_program(words, log);
    if (code == 127) {
        throw Error("nvcc is not there to compile it", where,
                    "install the CUDA toolkit, or name a .ptx file that nvcc -ptx wrote");
    }
    if (code != 0) throw Error("nvcc failed: " + first_complaint(text_of(log)), where);
    return text_of(output);
}

}  // namespace

std::string module_text(const std::string& path, const std::vector<std::string>& nvcc_flags,
                        unsigned compute_capability) {
    const std::string ending = fs::path(path).extension().string();
    if (ending == ".ptx") return text_of(path);
    if (ending == ".cu") return compile(path, nvcc_flags, compute_capability);
    throw Error("a module is a .ptx or a .cu file", {path, 0, ""});
}

const ptx::Kernel& find_kernel(const ptx::Module& module, const std::string& entry) {
    if (const ptx::Kernel* kernel = module.find(entry)) return *kernel;
    std::vector<std::string> names;
    for (const ptx::Kernel& kernel : module.kernels) names.push_back(kernel.name);
    const std::string near = nearest_word(entry, names.data(), names.size());
    std::string remedy = near.empty() ? "there are:" : "did you mean `" + near + "`?";
    for (const std::string& name : names) remedy += near.empty() ? " " + name : "";
    throw Error("there is no kernel `" + entry + "` in the module", {module.file_name, 0, ""},
                names.empty() ? "it has no kernels" : remedy);
}

}  // namespace heddle::kernel
