#include "validation/capture/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>

namespace heddle::capture {
namespace {

constexpr int kExitOfDefect = 3;

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, signal);
    return set;
}

/// Signals are waited for, not delivered, as long as it lives.
class BlockedSignals {
  public:
    BlockedSignals() {
        const sigset_t set = watched_signals();
        sigprocmask(SIG_BLOCK, &set, &before_);
    }
    ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_{};
};

/// The child's side: it never returns, and runs no destructor that could wait for a dead device.
[[noreturn]] void run_child(const std::function<ChildReport(const std::vector<std::string>&)>& child,
                            const std::vector<std::string>& left_out, int report_to) {
    ::setpgid(0, 0);  // Ctrl-C reaches the parent alone, which passes it on once
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const sigset_t set = watched_signals();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    const ChildReport report = child(left_out);
    const std::string text = (report.device_lost ? "L" : "-") + report.stuck;
    if (::write(report_to, text.data(), text.size()) < 0) ::_exit(kExitOfDefect);
    std::fflush(nullptr);
    ::_exit(report.exit_code);
}

/// Waits for the child's end and passes signals on. The status of waitpid().
int wait_for(pid_t child) {
    const sigset_t set = watched_signals();
    for (;;) {
        int status = 0;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) return status;
        const timespec tick{1, 0};
        const int signal = sigtimedwait(&set, nullptr, &tick);
        if (signal == SIGINT || signal == SIGTERM) ::kill(child, signal);
    }
}

std::string read_all(int descriptor) {
    std::string text;
    char buffer[256];
    for (ssize_t got = 0; (got = ::read(descriptor, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    return text;
}

/// One child from beginning to end.
ChildReport run_once(const std::function<ChildReport(const std::vector<std::string>&)>& child,
                     const std::vector<std::string>& left_out) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("cannot start a process");
    if (process == 0) {
        ::close(ends[0]);
        run_child(child, left_out, ends[1]);
    }
    ::close(ends[1]);
    const int status = wait_for(process);
    const std::string text = read_all(ends[0]);
    ::close(ends[0]);
    ChildReport report;
    report.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kExitOfDefect;
    report.device_lost = !text.empty() && text[0] == 'L';
    if (text.size() > 1) report.stuck = text.substr(1);
    // A crash, of a library most likely: as if the device were lost, unless somebody wanted the end.
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM)
        report.device_lost = true;
    if (WIFSIGNALED(status))
        std::fprintf(stderr, "heddle-capture: the process was ended by signal %d; what it recorded is kept\n",
                     WTERMSIG(status));
    return report;
}

}  // namespace

int supervise(const std::function<ChildReport(const std::vector<std::string>& left_out)>& child,
              unsigned attempts) {
    const BlockedSignals blocked;
    std::vector<std::string> left_out;
    ChildReport report;
    for (unsigned attempt = 0; attempt < attempts; ++attempt) {
        report = run_once(child, left_out);
        if (!report.device_lost) break;
        if (!report.stuck.empty()) left_out.push_back(report.stuck);
        if (attempt + 1 < attempts)
            std::fprintf(stderr, "heddle-capture: the device was lost; a new process goes on\n");
    }
    return report.exit_code;
}

}  // namespace heddle::capture
