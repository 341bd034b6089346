#include "command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace heddle::robustness {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

[[noreturn]] void become_heddle(const Folder& folder, const std::vector<std::string>& words,
                                const Conditions& conditions) {
    const std::string out = (folder.path() / ".out").string(), err = (folder.path() / ".err").string();
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), flags, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), flags, 0600), STDERR_FILENO);
    if (::chdir(folder.path().c_str()) != 0) ::_exit(127);
    ::setpgid(0, 0);
    ::setenv("HEDDLE_CACHE", conditions.cache.c_str(), 1);
    ::setenv("HEDDLE_PROGRESS", conditions.progress.c_str(), 1);
    ::setenv("HEDDLE_CLAIM_SECONDS", conditions.claim_seconds.c_str(), 1);
    if (conditions.file_limit != 0) {
        ::signal(SIGXFSZ, SIG_IGN);  // writes fail instead
        const rlimit limit{conditions.file_limit, conditions.file_limit};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (conditions.memory_limit != 0) {
        const rlimit limit{conditions.memory_limit, conditions.memory_limit};
        ::setrlimit(RLIMIT_AS, &limit);
    }
    std::vector<char*> arguments{const_cast<char*>(HEDDLE_COMMAND)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(HEDDLE_COMMAND, arguments.data());
    ::_exit(127);
}

/// A child that has not become heddle yet is ended by an early signal, in silence: the handlers of this
/// program's own tests are not for it.
pid_t fork_without_handlers() {
    sigset_t ending, before;
    ::sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&ending, signal);
    ::sigprocmask(SIG_BLOCK, &ending, &before);
    const pid_t child = ::fork();
    if (child == 0)
        for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return child;
}

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Folder::Folder() {
    std::string pattern = (fs::temp_directory_path() / "heddle-robustness-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
}

Folder::~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
}

std::string Folder::read(const std::string& name) const {
    return text_of(path_ / name);
}

Outcome run(const Folder& folder, const std::vector<std::string>& words, const Conditions& conditions) {
    return Running(folder, words, conditions).wait();
}

Running::Running(const Folder& folder, const std::vector<std::string>& words, const Conditions& conditions)
    : folder_(folder), conditions_(conditions), begin_(Clock::now()), process_(fork_without_handlers()) {
    if (process_ < 0) throw std::runtime_error("cannot fork");
    if (process_ == 0) become_heddle(folder, words, conditions);
}

Running::~Running() {
    if (ended_) return;
    signal(SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

void Running::signal(int number) const {
    ::kill(-process_, number);
    ::kill(process_, number);
}

std::string Running::errors() const {
    return folder_.read(".err");
}

Outcome Running::wait() {
    Outcome outcome;
    bool interrupted = conditions_.interrupt_after < 0;
    int status = 0;
    while (::waitpid(process_, &status, WNOHANG) == 0) {
        const double seconds = since(begin_);
        if (!interrupted && seconds >= conditions_.interrupt_after) {
            ::kill(process_, conditions_.signal);
            interrupted = true;
        }
        if (seconds > conditions_.time_limit) {
            signal(SIGKILL);
            ::waitpid(process_, &status, 0);
            outcome.late = true;
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ended_ = true;
    outcome.seconds = since(begin_);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.out = folder_.read(".out");
    outcome.err = folder_.read(".err");
    return outcome;
}

bool comes_true(const std::function<bool()>& condition, double seconds) {
    const Clock::time_point begin = Clock::now();
    while (!condition()) {
        if (since(begin) > seconds) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

SmallDisk::SmallDisk(const fs::path& folder, std::uint64_t bytes) : folder_(folder) {
    if (::unshare(CLONE_NEWNS) != 0) return;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    const std::string size = "size=" + std::to_string(bytes);
    mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

SmallDisk::~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
}

std::string fault_of_refusal(const Outcome& outcome) {
    if (outcome.code != 2) return "its exit code is " + std::to_string(outcome.code);
    if (outcome.err.rfind("heddle: ", 0) != 0) return "its error does not begin with `heddle: `";
    if (std::count(outcome.err.begin(), outcome.err.end(), '\n') != 1) return "its error is not one line";
    if (outcome.err.size() > 2000) return "its error is longer than anybody reads";
    if (!outcome.out.empty()) return "it wrote to stdout before its error";
    return {};
}

unsigned cases(unsigned usual) {
    const char* const given = std::getenv("HEDDLE_ROBUSTNESS_CASES");
    return given == nullptr ? usual : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

std::string text_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

}  // namespace heddle::robustness
