// How far a command has come, on a terminal only.
#pragma once

#include <chrono>
#include <string>

namespace heddle::cli {

/// One line on stderr that is drawn over: "43 %, 1:20 left: matmul_128x128". Appears after two seconds, and
/// not at all when stderr is not a terminal. The destructor takes it away.
class Progress {
  public:
    Progress();
    explicit Progress(bool on_terminal);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `fraction` of the work that is done, 0..1.
    void update(double fraction, const std::string& what);

  private:
    using Clock = std::chrono::steady_clock;
    bool on_terminal_;
    bool drawn_ = false;
    Clock::time_point start_, last_;
};

/// The line that update() draws, without the control characters. `elapsed` in seconds.
std::string progress_line(double fraction, double elapsed, const std::string& what);

}  // namespace heddle::cli
