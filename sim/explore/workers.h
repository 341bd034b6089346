// Processes that evaluate designs. Each evaluation has a process of its own, because SystemC elaborates once
// per process; a crash costs only the point that caused it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::explore {

/// The answer of a worker.
struct WorkerAnswer {
    std::uint64_t task = 0;
    bool died = false;  ///< the process ended without an answer; `text` says how
    std::string text;
    double wall_s = 0;
};

/// A set of processes that evaluate tasks concurrently.
class Workers {
  public:
    virtual ~Workers() = default;
    /// The number of concurrent evaluations.
    virtual unsigned count() const = 0;
    /// The number of cores that one evaluation may use while no other runs; all are on one computer.
    virtual unsigned cores() const { return 1; }
    /// Starts an evaluation. Fewer than count() must be running.
    virtual void start(std::uint64_t task, const std::string& text) = 0;
    /// Waits until at least one evaluation has ended, for at most `timeout_ms` milliseconds unless that is
    /// negative. Throws sim::Interrupted for SIGINT, SIGTERM and SIGALRM, after all evaluations have been
    /// ended.
    virtual std::vector<WorkerAnswer> wait(int timeout_ms) = 0;
};

/// The function that a process executes: it takes a task's text and returns an answer's text.
using TaskFunction = std::function<std::string(const std::string&)>;

/// Processes of this computer, one forked for each task. They end when this process ends.
class LocalWorkers : public Workers {
  public:
    /// With `interruptible`, SIGINT, SIGTERM and SIGALRM are blocked while the object exists, and wait()
    /// reports them.
    LocalWorkers(unsigned count, TaskFunction function, bool interruptible = true);
    ~LocalWorkers() override;
    LocalWorkers(const LocalWorkers&) = delete;
    LocalWorkers& operator=(const LocalWorkers&) = delete;

    unsigned count() const override { return count_; }
    unsigned cores() const override { return count_; }
    void start(std::uint64_t task, const std::string& text) override;
    std::vector<WorkerAnswer> wait(int timeout_ms) override;

  private:
    struct Process;
    struct Signals;
    unsigned count_;
    TaskFunction function_;
    std::vector<Process> processes_;
    std::unique_ptr<Signals> signals_;
};

/// LocalWorkers in a separate process, the keeper, which is forked before this process loads libraries that
/// do not support fork (MPI).
class KeptWorkers : public Workers {
  public:
    /// Forks the keeper. `make_function` is called there when the first task arrives.
    KeptWorkers(unsigned count, const std::function<TaskFunction()>& make_function);
    ~KeptWorkers() override;
    KeptWorkers(const KeptWorkers&) = delete;
    KeptWorkers& operator=(const KeptWorkers&) = delete;

    unsigned count() const override { return count_; }
    void start(std::uint64_t task, const std::string& text) override;
    std::vector<WorkerAnswer> wait(int timeout_ms) override;

  private:
    unsigned count_;
    pid_t keeper_ = -1;
    int socket_ = -1;
};

}  // namespace heddle::explore
