#include "sim/run/workers/worker_pool.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/common/limits.h"
#include "isa/common/out_of_memory.h"
#include "sim/run/workers/pipes.h"
#include "sim/run/workers/processes.h"

namespace heddle::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kNoMoreJobs = ~std::uint64_t{0};
constexpr int kOutOfMemory = 2;  // the exit code, heddle::name_what_takes_memory()
constexpr int kLookAgain = 50;  // milliseconds, while jobs are done elsewhere
constexpr int kTellRunning = 200;  // milliseconds between calls of JobSource::still_running

enum class Status : std::uint8_t { result, error, limit_reached, internal_error };

/// What a worker sends back: this header, then the text.
struct Answer {
    std::uint64_t job;
    std::uint64_t bytes;
    Status status;
};

bool send_answer(int descriptor, std::uint64_t job, Status status, const std::string& text) {
    const Answer answer{job, text.size(), status};
    return write_all(descriptor, &answer, sizeof answer) && write_all(descriptor, text.data(), text.size());
}

[[noreturn]] void work(int jobs, int answers, double part,
                       const std::function<std::unique_ptr<JobRunner>()>& make_runner) {
    std::unique_ptr<JobRunner> runner;
    std::uint64_t job = 0;
    leave_activity_of_parent();
    leave_time_to_parent();
    leave_telling_to_parent();
    while (read_all(jobs, &job, sizeof job) && job != kNoMoreJobs) {
        std::string text;
        Status status = Status::result;
        this_activity().set_part(part);
        try {
            if (!runner) runner = make_runner();
            text = runner->run(job);
        } catch (const LimitReached& limit) {
            status = Status::limit_reached;
            text = limit.what();
        } catch (const Error& error) {
            status = Status::error;
            text = error.what();
        } catch (const std::exception& error) {
            const bool memory = is_out_of_memory(error);
            status = memory ? Status::error : Status::internal_error;
            text = memory ? out_of_memory_text(error) : error.what();
        }
        if (!send_answer(answers, job, status, text)) break;
    }
    end_worker();
}

struct Worker {
    pid_t process = -1;
    int jobs = -1;     // parent writes
    int answers = -1;  // parent reads
    bool busy = false;
    std::uint64_t job = 0;
};

/// Of a worker that ended without an answer. One that was killed is no defect: the system does so where memory
/// is short.
[[noreturn]] void tell_death(Worker& worker) {
    int status = 0;
    ::waitpid(worker.process, &status, 0);
    worker.process = -1;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (killed || (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory))
        throw Error(killed ? "a worker process was killed while it simulated"
                           : "a worker process had not enough memory",
                    {}, "was there too little memory? Fewer --jobs take less; kernels that were done are kept");
    throw std::runtime_error("a worker process died while it ran job " + std::to_string(worker.job));
}

/// Closes pipes and ends the children however the parent leaves.
class Workers {
  public:
    ~Workers() {
        for (Worker& worker : list) {
            if (worker.jobs >= 0) ::close(worker.jobs);
            if (worker.answers >= 0) ::close(worker.answers);
            if (worker.process > 0) {
                if (worker.busy) ::kill(worker.process, SIGKILL);
                ::waitpid(worker.process, nullptr, 0);
            }
        }
    }

    /// `signals`: the worker's, those that its parent had. `part`: of the work, that one job is.
    void start(const std::function<std::unique_ptr<JobRunner>()>& make_runner, const sigset_t& signals,
               double part) {
        int jobs[2], answers[2];
        if (::pipe(jobs) != 0 || ::pipe(answers) != 0)
            throw std::runtime_error("cannot make a pipe for a worker");
        const pid_t parent = ::getpid();
        const pid_t process = ::fork();
        if (process < 0)
            throw std::system_error(errno, std::generic_category(), "cannot start a worker process");
        if (process == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            // Only the parent hears of an interrupt; it ends its workers.
            ::signal(SIGINT, SIG_IGN);
            ::signal(SIGTERM, SIG_DFL);
            ::sigprocmask(SIG_SETMASK, &signals, nullptr);
            if (::getppid() != parent) ::_exit(0);
            ::close(jobs[1]);
            ::close(answers[0]);
            for (Worker& other : list) {
                ::close(other.jobs);
                ::close(other.answers);
            }
            work(jobs[0], answers[1], part, make_runner);
        }
        ::close(jobs[0]);
        ::close(answers[1]);
        list.push_back({process, jobs[1], answers[0], false, 0});
    }

    std::vector<Worker> list;
};

/// Becomes readable when an interrupt waits.
class InterruptDescriptor {
  public:
    InterruptDescriptor() {
        const sigset_t set = interrupts();
        descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC);
        if (descriptor_ < 0) throw std::runtime_error("cannot listen for interrupts");
    }
    ~InterruptDescriptor() { ::close(descriptor_); }
    InterruptDescriptor(const InterruptDescriptor&) = delete;
    InterruptDescriptor& operator=(const InterruptDescriptor&) = delete;

    int descriptor() const { return descriptor_; }
    int signal() const {
        signalfd_siginfo info{};
        return read_all(descriptor_, &info, sizeof info) ? static_cast<int>(info.ssi_signo) : SIGINT;
    }

  private:
    int descriptor_;
};

}  // namespace

unsigned threads_per_worker(std::size_t count, unsigned cores) {
    return std::max(1u,
                    cores / static_cast<unsigned>(std::clamp<std::size_t>(count, 1, std::max(1u, cores))));
}

sigset_t interrupts() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGALRM}) ::sigaddset(&set, signal);
    return set;
}

SignalsHeld::SignalsHeld() {
    const sigset_t set = interrupts();
    ::sigprocmask(SIG_BLOCK, &set, &before_);
}
SignalsHeld::~SignalsHeld() {
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

unsigned available_cores() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return 1;
}

namespace {

class InOrder : public JobSource {
  public:
    explicit InOrder(std::size_t count) : count_(count) {}
    std::optional<std::size_t> next() override {
        return next_ < count_ ? std::optional(next_++) : std::nullopt;
    }
    bool has_more() const override { return next_ < count_; }

  private:
    std::size_t count_, next_ = 0;
};

}  // namespace

void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done) {
    InOrder source(count);
    run_jobs(count, workers, make_runner, done, source);
}

void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done,
              JobSource& source) {
    if (count == 0) return;
    // A worker that died must show as a failed write, not as a signal.
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &before);

    const SignalsHeld held;
    const InterruptDescriptor interrupt;
    // It may have come before signals were held.
    if (is_out_of_time()) throw Interrupted{SIGALRM, 0, count};
    Workers pool;
    for (std::size_t i = 0; i < std::min<std::size_t>(std::max(1u, workers), count); ++i)
        pool.start(make_runner, held.before(), 1.0 / static_cast<double>(count));

    std::size_t finished = 0;
    Status failed = Status::result;
    std::uint64_t failed_job = 0;
    std::string failure;
    const auto feed = [&](Worker& worker) {
        if (failed != Status::result) return;
        const std::optional<std::size_t> job = source.next();
        if (!job) return;
        worker.job = *job;
        worker.busy = true;
        write_all(worker.jobs, &worker.job, sizeof worker.job);
    };
    for (Worker& worker : pool.list) feed(worker);
    const auto any_busy = [&] {
        return std::any_of(pool.list.begin(), pool.list.end(), [](const Worker& w) { return w.busy; });
    };
    const auto waits = [&] { return failed == Status::result && source.has_more(); };
    Clock::time_point told = Clock::now();
    while (any_busy() || waits()) {
        if (Clock::now() - told >= std::chrono::milliseconds(kTellRunning)) {
            told = Clock::now();
            for (const Worker& worker : pool.list)
                if (worker.busy && !is_stopped(worker.process)) source.still_running(worker.job);
        }
        std::vector<pollfd> waiting;
        for (Worker& worker : pool.list) waiting.push_back({worker.busy ? worker.answers : -1, POLLIN, 0});
        waiting.push_back({interrupt.descriptor(), POLLIN, 0});
        const bool idle =
            std::any_of(pool.list.begin(), pool.list.end(), [](const Worker& w) { return !w.busy; });
        const int patience = idle && waits() ? kLookAgain : kTellRunning;
        if (::poll(waiting.data(), waiting.size(), patience) < 0) {
            if (errno == EINTR) continue;
            throw std::runtime_error(std::string("poll failed: ") + std::strerror(errno));
        }
        if ((waiting.back().revents & POLLIN) != 0) throw Interrupted{interrupt.signal(), finished, count};
        for (std::size_t i = 0; i < pool.list.size(); ++i) {
            if ((waiting[i].revents & (POLLIN | POLLHUP)) == 0) continue;
            Worker& worker = pool.list[i];
            Answer answer{};
            std::string text;
            bool good = read_all(worker.answers, &answer, sizeof answer);
            if (good) {
                text.resize(answer.bytes);
                good = read_all(worker.answers, text.data(), text.size());
            }
            worker.busy = false;
            if (!good) tell_death(worker);
            ++finished;
            if (answer.status == Status::result) {
                done(answer.job, text);
            } else if (failed == Status::result || answer.job < failed_job) {
                failed = answer.status;
                failed_job = answer.job;
                failure = text;
            }
            feed(worker);
        }
        for (Worker& worker : pool.list)
            if (!worker.busy && waits()) feed(worker);
    }
    for (Worker& worker : pool.list) write_all(worker.jobs, &kNoMoreJobs, sizeof kNoMoreJobs);
    ::sigaction(SIGPIPE, &before, nullptr);
    if (failed == Status::limit_reached) throw LimitReached(failure);
    if (failed == Status::error) throw Error(failure);
    if (failed != Status::result) throw std::runtime_error(failure);
}

}  // namespace heddle::sim
