#include "sim/explore/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "isa/common/activity.h"
#include "isa/common/limits.h"
#include "sim/run/workers/pipes.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::explore {
namespace {

using Clock = std::chrono::steady_clock;

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
        const char* name = ::strsignal(WTERMSIG(status));
        return "the evaluation's process was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
               (name == nullptr ? "unknown" : name) + ")";
    }
    return "the evaluation's process ended without an answer, exit code " +
           std::to_string(WEXITSTATUS(status));
}

/// In a child: dies with its parent, hears of no interrupt that is meant for the parent.
void become_child(pid_t parent, const sigset_t* signals) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    // Handlers of the parent are not for this process: a crash is to be seen as one.
    for (const int fatal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGTERM, SIGALRM, SIGPIPE})
        ::signal(fatal, SIG_DFL);
    leave_activity_of_parent();
    leave_time_to_parent();
    if (signals != nullptr) ::sigprocmask(SIG_SETMASK, signals, nullptr);
    if (::getppid() != parent) ::_exit(0);
}

}  // namespace

struct LocalWorkers::Process {
    std::uint64_t task = 0;
    pid_t process = -1;
    int pipe = -1;
    Clock::time_point start;
    std::string received = {};
};

/// SIGINT, SIGTERM and SIGALRM wait, and can be polled for.
struct LocalWorkers::Signals {
    sim::SignalsHeld held;
    int descriptor = -1;

    Signals() {
        const sigset_t set = sim::interrupts();
        descriptor = ::signalfd(-1, &set, SFD_CLOEXEC);
        if (descriptor < 0) throw std::runtime_error("cannot listen for interrupts");
    }
    ~Signals() { ::close(descriptor); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
};

LocalWorkers::LocalWorkers(unsigned count, TaskFunction function, bool interruptible)
    : count_(std::max(1u, count)), function_(std::move(function)) {
    if (interruptible) signals_ = std::make_unique<Signals>();
}

LocalWorkers::~LocalWorkers() {
    for (Process& process : processes_) {
        // Its own children with it.
        ::kill(-process.process, SIGKILL);
        ::kill(process.process, SIGKILL);
        ::close(process.pipe);
        ::waitpid(process.process, nullptr, 0);
    }
}

void LocalWorkers::start(std::uint64_t task, const std::string& text) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("cannot make a pipe for an evaluation");
    const pid_t parent = ::getpid(), process = ::fork();
    if (process < 0) throw std::runtime_error("cannot start a process for an evaluation");
    if (process == 0) {
        become_child(parent, signals_ ? &signals_->held.before() : nullptr);
        ::close(ends[0]);
        for (const Process& other : processes_) ::close(other.pipe);
        const std::string answer = function_(text);
        (void)sim::write_all(ends[1], answer.data(), answer.size());
        sim::end_worker();
    }
    ::setpgid(process, process);
    ::close(ends[1]);
    processes_.push_back({task, process, ends[0], Clock::now()});
}

std::vector<WorkerAnswer> LocalWorkers::wait(int timeout_ms) {
    std::vector<WorkerAnswer> answers;
    const Clock::time_point begin = Clock::now();
    while (answers.empty() && !processes_.empty()) {
        // It may have come before signals were held.
        if (signals_ && is_out_of_time()) throw sim::Interrupted{SIGALRM, 0, 0};
        std::vector<pollfd> waiting;
        for (const Process& process : processes_) waiting.push_back({process.pipe, POLLIN, 0});
        if (signals_) waiting.push_back({signals_->descriptor, POLLIN, 0});
        int left = -1;
        if (timeout_ms >= 0) {
            const auto gone =
                std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
            left = std::max(0, timeout_ms - static_cast<int>(gone));
        }
        const int ready = ::poll(waiting.data(), waiting.size(), left);
        if (ready < 0 && errno != EINTR)
            throw std::runtime_error(std::string("poll failed: ") + std::strerror(errno));
        if (ready == 0) return answers;
        if (ready < 0) continue;
        if (signals_ && (waiting.back().revents & POLLIN) != 0) {
            signalfd_siginfo info{};
            (void)sim::read_all(signals_->descriptor, &info, sizeof info);
            throw sim::Interrupted{static_cast<int>(info.ssi_signo), 0, 0};
        }
        for (std::size_t i = processes_.size(); i-- > 0;) {
            if ((waiting[i].revents & (POLLIN | POLLHUP)) == 0) continue;
            Process& process = processes_[i];
            char buffer[65536];
            const ssize_t got = ::read(process.pipe, buffer, sizeof buffer);
            if (got > 0) process.received.append(buffer, static_cast<std::size_t>(got));
            if (got > 0 || (got < 0 && errno == EINTR)) continue;
            int status = 0;
            ::waitpid(process.process, &status, 0);
            ::close(process.pipe);
            const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !process.received.empty();
            answers.push_back({process.task, !good, good ? process.received : how_it_ended(status),
                               std::chrono::duration<double>(Clock::now() - process.start).count()});
            processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    return answers;
}

namespace {

// What passes between a keeper and whoever asked for it: a task's number, and behind it the text; an answer
// carries how long it took, whether it died, and the text.
std::string packed(const WorkerAnswer& answer) {
    std::string text(sizeof answer.wall_s, '\0');
    std::memcpy(text.data(), &answer.wall_s, sizeof answer.wall_s);
    return text + (answer.died ? 'd' : 'a') + answer.text;
}

WorkerAnswer unpacked(std::uint64_t task, const std::string& text) {
    WorkerAnswer answer;
    answer.task = task;
    std::memcpy(&answer.wall_s, text.data(), sizeof answer.wall_s);
    answer.died = text[sizeof answer.wall_s] == 'd';
    answer.text = text.substr(sizeof answer.wall_s + 1);
    return answer;
}

[[noreturn]] void keep(int socket, unsigned count, const std::function<TaskFunction()>& make_function) {
    TaskFunction function;
    LocalWorkers workers(
        count, [&](const std::string& text) { return function(text); }, false);
    unsigned busy = 0;
    constexpr int kLook = 5;  // milliseconds
    for (;;) {
        pollfd waiting{socket, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, busy == 0 ? -1 : 0);
        if (ready > 0) {
            std::uint64_t task = 0;
            std::string text;
            if (!sim::receive_message(socket, task, text)) sim::end_worker();
            if (!function) function = make_function();
            workers.start(task, text);
            ++busy;
            continue;
        }
        for (const WorkerAnswer& answer : workers.wait(kLook)) {
            --busy;
            if (!sim::send_message(socket, answer.task, packed(answer))) sim::end_worker();
        }
    }
}

}  // namespace

KeptWorkers::KeptWorkers(unsigned count, const std::function<TaskFunction()>& make_function)
    : count_(std::max(1u, count)) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("cannot make a socket for the workers");
    const pid_t parent = ::getpid();
    keeper_ = ::fork();
    if (keeper_ < 0) throw std::runtime_error("cannot start a process for the workers");
    if (keeper_ == 0) {
        ::close(ends[0]);
        become_child(parent, nullptr);
        keep(ends[1], count_, make_function);
    }
    ::close(ends[1]);
    socket_ = ends[0];
}

KeptWorkers::~KeptWorkers() {
    ::close(socket_);
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
}

void KeptWorkers::start(std::uint64_t task, const std::string& text) {
    if (!sim::send_message(socket_, task, text))
        throw std::runtime_error("the process that keeps the workers died");
}

std::vector<WorkerAnswer> KeptWorkers::wait(int timeout_ms) {
    std::vector<WorkerAnswer> answers;
    pollfd waiting{socket_, POLLIN, 0};
    while (::poll(&waiting, 1, answers.empty() ? timeout_ms : 0) > 0) {
        std::uint64_t task = 0;
        std::string text;
        if (!sim::receive_message(socket_, task, text))
            throw std::runtime_error("the process that keeps the workers died");
        answers.push_back(unpacked(task, text));
    }
    return answers;
}

}  // namespace heddle::explore
