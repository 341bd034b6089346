// SIGINT and SIGTERM as a question that the program asks between items.
#pragma once

#include <atomic>
#include <thread>

namespace heddle::capture {

/// From construction on the first of the two signals makes requested() true; a second one ends the process at
/// once. Made before any other thread is started, so that all of them leave the signals to this one.
class Interruption {
  public:
    Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    bool requested() const { return requested_; }

  private:
    void wait(const std::stop_token& stop);

    std::atomic<bool> requested_ = false;
    std::jthread waiter_;
};

}  // namespace heddle::capture
