#include "models/common/host_threads.h"

#include <algorithm>
#include <utility>

namespace heddle::models {
namespace {

/// Looks that a thread takes before it goes to sleep or gives its processor away: some ten microseconds.
constexpr unsigned kPatience = 2000;

void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

HostThreads::HostThreads(unsigned threads)
    // NOLINTNEXTLINE(bugprone-throw-keyword-missing): room for exceptions, which tasks throw.
    : failures_(kMostTasks), claimed_(new std::atomic<std::uint32_t>[kMostTasks]) {
    for (unsigned i = 0; i < kMostTasks; ++i) claimed_[i] = 0;
    for (unsigned thread = 1; thread < threads; ++thread)
        threads_.emplace_back([this, thread] { serve(thread); });
}

HostThreads::~HostThreads() {
    ending_ = true;
    wake_sleepers();
    for (std::thread& thread : threads_) thread.join();
}

void HostThreads::wake_sleepers() {
    ++alarm_;
    alarm_.notify_all();
}

void HostThreads::start(Job job, unsigned tasks) {
    if (tasks == 0) return;
    // All tasks of the job before have ended: nobody looks at what is changed here.
    job_ = job;
    left_.store(tasks, std::memory_order_relaxed);
    const std::uint32_t number = static_cast<std::uint32_t>(announced_.load() >> 32) + 1;
    announced_.store(std::uint64_t{number} << 32 | tasks);
    if (asleep_.load() != 0) wake_sleepers();
    take_part(0, number, tasks);
    for (unsigned looks = 0; left_.load(std::memory_order_acquire) != 0; ++looks) {
        if (looks < kPatience)
            pause_briefly();
        else
            std::this_thread::yield();
    }
    std::exception_ptr failure;
    for (unsigned task = tasks; task-- > 0;)
        if (failures_[task]) failure = std::exchange(failures_[task], nullptr);
    if (failure) std::rethrow_exception(failure);
}

// A thread that comes late finds all tasks taken, also when other jobs have begun since.
void HostThreads::take_part(unsigned thread, std::uint32_t number, unsigned tasks) {
    const auto take = [&](unsigned task) {
        std::uint32_t last = claimed_[task].load(std::memory_order_relaxed);
        if (static_cast<std::int32_t>(last - number) >= 0) return;
        if (!claimed_[task].compare_exchange_strong(last, number, std::memory_order_acquire)) return;
        try {
            job_.call(job_.context, task);
        } catch (...) {
            failures_[task] = std::current_exception();
        }
        left_.fetch_sub(1, std::memory_order_release);
    };
    const unsigned own = thread % tasks;
    for (unsigned task = own; task < tasks; task += count()) take(task);
    for (unsigned i = 1; i < tasks; ++i) take((own + i) % tasks);
}

void HostThreads::serve(unsigned thread) {
    std::uint64_t seen = 0;
    for (unsigned looks = 0; !ending_.load(std::memory_order_relaxed);) {
        const std::uint64_t announced = announced_.load(std::memory_order_acquire);
        if (announced != seen) {
            seen = announced;
            take_part(thread, static_cast<std::uint32_t>(announced >> 32), static_cast<unsigned>(announced));
            looks = 0;
        } else if (++looks < kPatience) {
            pause_briefly();
        } else {
            const std::uint32_t alarm = alarm_.load();
            ++asleep_;
            if (announced_.load() == seen && !ending_) alarm_.wait(alarm);
            --asleep_;
            looks = 0;
        }
    }
}

}  // namespace heddle::models
