// Ends the process when nothing goes on any more.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace heddle::capture {

/// Calls `bite`, once, when beat() was not called for `limit`: a call of a driver that never returns holds
/// the thread that would have noticed. What bites ends the process; the next one goes on.
class Watchdog {
  public:
    Watchdog(std::chrono::milliseconds limit, std::function<void()> bite);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    void beat() { last_ = Clock::now(); }

  private:
    using Clock = std::chrono::steady_clock;
    std::atomic<Clock::time_point> last_ = Clock::now();
    std::jthread watcher_;
};

}  // namespace heddle::capture
