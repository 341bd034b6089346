// Many independent simulations on several processes. SystemC allows one elaboration per process, so each
// worker is a forked child that elaborates its own device; only the parent gathers results.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace heddle::sim {

/// What a worker does. Made in the child, after the fork, so that elaboration happens there.
class JobRunner {
  public:
    virtual ~JobRunner() = default;
    /// Returns the job's result as text. heddle::Error thrown here reaches the parent as heddle::Error.
    virtual std::string run(std::size_t job) = 0;
};

/// Runs jobs 0 .. count-1, in that order of dispatch, on `workers` processes. `done` is called in the parent
/// for each result, in order of completion. The first error ends all workers and is thrown; of several errors
/// that arrive, the one of the lowest job number counts. An interrupt (SIGINT, SIGTERM) ends the workers too,
/// by the process group.
void run_jobs(std::size_t count, unsigned workers,
              const std::function<std::unique_ptr<JobRunner>()>& make_runner,
              const std::function<void(std::size_t job, const std::string& result)>& done);

/// Cores that this process may use.
unsigned available_cores();

/// Threads that each worker of run_jobs(count, cores, ...) may use when there are fewer jobs than cores.
unsigned threads_per_worker(std::size_t count, unsigned cores);

}  // namespace heddle::sim
