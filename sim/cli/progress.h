// How far a command has come: on a terminal a line that is drawn over, in a log a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace heddle::cli {

/// One line on stderr that is drawn over: "43 %, 1:20 left: matmul_128x128". Appears after two seconds; the
/// destructor takes it away. Where stderr is no terminal: nothing, or lines of a log.
class Progress {
  public:
    /// `log_every`: where stderr is no terminal, a line of its own whenever so long has passed; 0: none.
    explicit Progress(std::chrono::milliseconds log_every = {});
    Progress(bool on_terminal, std::chrono::milliseconds log_every);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `fraction` of the work that is done, 0..1.
    void update(double fraction, const std::string& what);

    /// So many of `count` things (`unit`: "points") are done; `best` is what was found so far, or empty.
    /// `kept`: those that were there before this run, which say nothing about its rate.
    void update(std::uint64_t done, std::uint64_t count, const std::string& unit, const std::string& best,
                std::uint64_t kept = 0);

  private:
    using Clock = std::chrono::steady_clock;
    bool due();
    void draw(const std::string& line);
    double elapsed() const;
    std::size_t width() const;
    bool on_terminal_;
    std::chrono::milliseconds log_every_;
    bool drawn_ = false;
    Clock::time_point start_, last_;
};

/// The line that update() draws, without the control characters. `elapsed` in seconds; cut to `width` - 1
/// columns.
std::string progress_line(double fraction, double elapsed, const std::string& what, std::size_t width = 80);

/// "117/500 points, 23 %, 14.2/min, 26:58 left, best: time 12.3 ms". The rate counts what this run did.
std::string progress_line(std::uint64_t done, std::uint64_t count, const std::string& unit, double elapsed,
                          const std::string& best, std::uint64_t kept = 0, std::size_t width = 80);

}  // namespace heddle::cli
