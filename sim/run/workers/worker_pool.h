// Runs many independent simulations on several processes. SystemC allows one elaboration per process, so each
// worker is a forked child that elaborates its own device; the parent only gathers results.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace heddle::sim {

/// Executes jobs in a worker. It is made in the child process after the fork, so that elaboration happens
/// there.
class JobRunner {
  public:
    virtual ~JobRunner() = default;
    /// Executes a job and returns its result as text. A heddle::Error or LimitReached that is thrown here is
    /// thrown again in the parent with the same type.
    virtual std::string run(std::size_t job) = 0;
};

/// Thrown when SIGINT or SIGTERM arrived while jobs ran, or SIGALRM, because the time of --max-seconds was
/// over. Jobs for which `done` was called remain done.
struct Interrupted {
    int signal = 0;
    std::size_t finished = 0, count = 0;  ///< numbers of jobs: finished, and all
};

/// Decides which job is next where other processes work on the same jobs.
class JobSource {
  public:
    virtual ~JobSource() = default;
    /// Returns a job to start now. Nothing when all have begun, or when other processes work on the remaining
    /// ones; it is called again soon afterwards.
    virtual std::optional<std::size_t> next() = 0;
    /// Returns whether there are jobs that this process has not begun; other processes may be working on
    /// them.
    virtual bool has_more() const = 0;
    /// Called several times a second for each running job whose worker is not stopped.
    virtual void still_running(std::size_t /*job*/) {}
};

/// Runs jobs 0 .. count-1 on `workers` processes, which receive them in that order. `done` is called in the
/// parent for each result, in order of completion. The first error ends all workers and is thrown; of several
/// errors that have arrived, the one of the lowest job number is thrown. SIGINT, SIGTERM and SIGALRM end the
/// workers, and Interrupted is thrown, but never during a call of `done`. In the status of the command
/// (isa/common/activity.h) every job counts as the same share of the work, unless the runner sets another.
void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done);

/// Does the same with jobs from `source`, at most `count` of them.
void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done, JobSource& source);

/// Returns the set of SIGINT, SIGTERM and SIGALRM.
sigset_t interrupts();

/// Blocks SIGINT, SIGTERM and SIGALRM while it exists. Signals that arrive meanwhile are delivered
/// afterwards.
class SignalsHeld {
  public:
    SignalsHeld();
    ~SignalsHeld();
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

    /// The signal mask before the object was made.
    const sigset_t& before() const { return before_; }

  private:
    sigset_t before_;
};

/// Returns the number of cores that this process may use.
unsigned available_cores();

/// Returns how many threads each worker of run_jobs(count, cores, ...) may use: more than one when there are
/// fewer jobs than cores.
unsigned threads_per_worker(std::size_t count, unsigned cores);

}  // namespace heddle::sim
