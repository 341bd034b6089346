// Threads of the host that carry out the tasks of one job after another, each job within microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace heddle::models {

/// The caller is one of the threads. Every thread begins with tasks of its own, the same ones in every job,
/// so that what they touch stays in its processor's caches; then it takes what others have not begun. So a
/// thread that the host does not run, because the machine has other work, holds nobody up.
class HostThreads {
  public:
    /// `threads`: with the caller, at least 1.
    explicit HostThreads(unsigned threads);
    ~HostThreads();
    HostThreads(const HostThreads&) = delete;
    HostThreads& operator=(const HostThreads&) = delete;

    /// Threads that carry out a job, the caller included.
    unsigned count() const { return static_cast<unsigned>(threads_.size()) + 1; }
    /// Calls task(i) once for each i below `tasks`, which is at most kMostTasks, and comes back when all have
    /// ended. When some fail, throws the exception of the one with the lowest number.
    template <class Task>
    void run(unsigned tasks, const Task& task) {
        start({[](const void* context, unsigned i) { (*static_cast<const Task*>(context))(i); }, &task},
              tasks);
    }
    static constexpr unsigned kMostTasks = 256;

  private:
    struct Job {
        void (*call)(const void* context, unsigned task) = nullptr;
        const void* context = nullptr;
    };
    void start(Job job, unsigned tasks);
    void take_part(unsigned thread, std::uint32_t number, unsigned tasks);
    void serve(unsigned thread);
    void wake_sleepers();

    Job job_;
    std::vector<std::exception_ptr> failures_;             // by task
    alignas(64) std::atomic<std::uint64_t> announced_{0};  // number of the job << 32 | its tasks
    alignas(64) std::atomic<std::uint32_t> left_{0};       // tasks that have not ended
    alignas(64) std::atomic<std::uint32_t> asleep_{0};     // threads that wait to be woken
    std::atomic<std::uint32_t> alarm_{0};
    std::atomic<bool> ending_{false};
    std::unique_ptr<std::atomic<std::uint32_t>[]> claimed_;  // by task: the last job in which it was taken
    std::vector<std::thread> threads_;
};

}  // namespace heddle::models
