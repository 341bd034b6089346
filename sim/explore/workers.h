// Who evaluates. Each evaluation is a process of its own: SystemC elaborates once per process, and one that
// crashes costs its point only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::explore {

/// What a worker sends back.
struct WorkerAnswer {
    std::uint64_t task = 0;
    bool died = false;  ///< the process ended without an answer; `text` says how
    std::string text;
    double wall_s = 0;
};

class Workers {
  public:
    virtual ~Workers() = default;
    /// Evaluations at once.
    virtual unsigned count() const = 0;
    /// Cores that one evaluation may use while it is the only one: those of one machine.
    virtual unsigned cores() const { return 1; }
    /// Begins an evaluation; only while fewer than count() are under way.
    virtual void start(std::uint64_t task, const std::string& text) = 0;
    /// Waits until at least one has ended; at most `timeout_ms`, when it is not negative. Throws
    /// sim::Interrupted for SIGINT, SIGTERM and SIGALRM, after which all evaluations are ended.
    virtual std::vector<WorkerAnswer> wait(int timeout_ms) = 0;
};

/// What is done in the process: a task's text in, an answer's text out.
using TaskFunction = std::function<std::string(const std::string&)>;

/// Processes of this machine, forked for each task. They die with this process.
class LocalWorkers : public Workers {
  public:
    /// `interruptible`: SIGINT, SIGTERM and SIGALRM are held while it lives, and wait() throws them.
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

/// LocalWorkers in a process of their own, which was forked before this one loaded what does not bear a fork
/// (MPI).
class KeptWorkers : public Workers {
  public:
    /// Forks. `make_function` is called in the keeper, with the first task.
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
