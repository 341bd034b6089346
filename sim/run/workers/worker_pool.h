// Many independent simulations on several processes. SystemC allows one elaboration per process, so each
// worker is a forked child that elaborates its own device; only the parent gathers results.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace heddle::sim {

/// What a worker does. Made in the child, after the fork, so that elaboration happens there.
class JobRunner {
  public:
    virtual ~JobRunner() = default;
    /// Returns the job's result as text. heddle::Error thrown here reaches the parent as heddle::Error,
    /// LimitReached as LimitReached.
    virtual std::string run(std::size_t job) = 0;
};

/// SIGINT or SIGTERM came while jobs ran, or SIGALRM: the time of --max-seconds is over. What `done` was
/// called for stays done.
struct Interrupted {
    int signal = 0;
    std::size_t finished = 0, count = 0;  ///< jobs
};

/// Which job is next, where other processes are at work on the same ones.
class JobSource {
  public:
    virtual ~JobSource() = default;
    /// A job to be run now. None: all have begun, or those that are left are being done elsewhere; it is
    /// asked again soon.
    virtual std::optional<std::size_t> next() = 0;
    /// Whether there are jobs that have not begun, here or elsewhere.
    virtual bool has_more() const = 0;
    /// Called several times a second for each job under way whose worker is not stopped.
    virtual void still_running(std::size_t /*job*/) {}
};

/// Runs jobs 0 .. count-1, in that order of dispatch, on `workers` processes. `done` is called in the parent
/// for each result, in order of completion. The first error ends all workers and is thrown; of several errors
/// that arrive, the one of the lowest job number counts. SIGINT, SIGTERM and SIGALRM end the workers, and
/// Interrupted is thrown: never in the middle of `done`. A worker's kernels count as the same part of the
/// command's work (isa/common/activity.h) for each job; a runner that knows better sets it.
void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done);

/// The same with jobs from `source`: `count` of them at most.
void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done, JobSource& source);

/// SIGINT, SIGTERM, SIGALRM.
sigset_t interrupts();

/// While it lives, SIGINT, SIGTERM and SIGALRM wait; then they do what they would have done.
class SignalsHeld {
  public:
    SignalsHeld();
    ~SignalsHeld();
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

    const sigset_t& before() const { return before_; }

  private:
    sigset_t before_;
};

/// Cores that this process may use.
unsigned available_cores();

/// Threads that each worker of run_jobs(count, cores, ...) may use when there are fewer jobs than cores.
unsigned threads_per_worker(std::size_t count, unsigned cores);

}  // namespace heddle::sim
