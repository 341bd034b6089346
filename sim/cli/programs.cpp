#include "sim/cli/programs.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "isa/common/error.h"
#include "sim/cli/hand_over.h"

extern char** environ;

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

constexpr CommandEntry kCommands[] = {
    {"simulate", "heddle",
     "Says how long a training step takes on a device, and what it is waiting for."},
    {"hardware", "heddle",
     "Lists, describes and compares devices."},
    {"cluster", "heddle-steps",
     "Lists and describes clusters: devices, links, prices."},
    {"collective", "heddle-steps",
     "How long does a collective take on a cluster?"},
    {"trace", "heddle-steps",
     "Looks into training steps, and turns them from one form into another."},
    {"kernel", "heddle-kernel",
     "Runs CUDA kernels: values, cycles, and what they wait for."},
    {"run", "heddle-run",
     "Runs a CUDA program, unchanged, on a virtual GPU: values, cycles, and what they wait for."},
    {"gemm", "heddle-kernel",
     "How long does one matrix product take?"},
    {"explore", "heddle-explore",
     "Says which hardware to build for a workload, and what it costs."},
    {"learn", "heddle-steps",
     "Trains a small model on several devices, with real values: what do they learn, and how fast?"},
    {"parallelism", "heddle-steps",
     "Finds the best way to spread a model over the devices of a cluster."},
    {"validate", "heddle-validate",
     "Compares bits and times with recorded silicon: is what Heddle says true?"},
    {"compare", "heddle",
     "Explains why two runs differ."},
    {"devices", "heddle",
     "Which device for this model? CPU, GPU and TPU side by side: time, energy and price."},
    {"doctor", "heddle-validate",
     "Says what is installed, what is optional and missing, and how to mend it."},
    {"reference", "heddle-steps",
     "Prints what every key and every statistic means, as Markdown."},
    {"completion", "heddle-manual",
     "Prints the completions of a shell."},
    {"man", "heddle-manual",
     "Prints the manual page, as troff."},
};

/// Beside this program in a build folder, and where a package puts it.
std::string path_of(const std::string& program) {
    std::error_code failure;
    const fs::path here = fs::read_symlink("/proc/self/exe", failure).parent_path();
    for (const fs::path& folder : {here, here / "../libexec/heddle"})
        if (access((folder / program).c_str(), X_OK) == 0) return (folder / program).string();
    return "";
}

/// Ends this process with the builder's exit code when it fails: it has said why.
void build(const char* builder, const std::string& program) {
    const std::string words[] = {builder, "--build", program};
    char* arguments[] = {const_cast<char*>(words[0].c_str()), const_cast<char*>(words[1].c_str()),
                         const_cast<char*>(words[2].c_str()), nullptr};
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, builder, nullptr, nullptr, arguments, environ) != 0 || waitpid(child, &status, 0) != child)
        throw Error("cannot run " + words[0], {"HEDDLE_BUILD", 0, ""});
    if (status != 0) std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

std::span<const CommandEntry> command_table() {
    return kCommands;
}

CLI::App* add_command(CLI::App& app, const std::string& name) {
    const auto entry = std::find_if(std::begin(kCommands), std::end(kCommands),
                                    [&](const CommandEntry& command) { return command.name == name; });
    return app.add_subcommand(entry->name, entry->description);
}

void hand_over(const std::string& program, int argument_count, const char* const* arguments) {
    if (const char* builder = std::getenv("HEDDLE_BUILD")) build(builder, program);
    const std::string path = path_of(program);
    if (path.empty())
        throw Error("the program " + program + " is not beside this one", {}, "build it: ninja -C build " + program);
    std::vector<char*> words;
    words.reserve(static_cast<std::size_t>(argument_count) + 1);
    for (int i = 0; i < argument_count; ++i) words.push_back(const_cast<char*>(arguments[i]));
    words.push_back(nullptr);
    execv(path.c_str(), words.data());
    throw Error("cannot run " + path, {}, "is it whole? Build it: ninja -C build " + program);
}

}  // namespace heddle::cli
