// How far a command has come: on a terminal a line that is drawn over, in a log a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/common/activity.h"

namespace heddle::cli {

/// Tells on stderr, while it lives, how far this command has come: what its Progress says, and what its
/// processes are about (isa/common/activity.h). A thread of its own does that, so lines come whatever the
/// command is busy with. On a terminal it is one line, drawn over, that appears after two seconds; elsewhere
/// they are lines of a log: after 10 s, 20 s ... 60 s, then every 30 s. One at a time in a process; what this
/// process forks tells nothing.
class ProgressReporter {
  public:
    /// `command`: "heddle trace import". $HEDDLE_PROGRESS may be `off`, or the seconds between lines. Throws
    /// heddle::Error when it is neither.
    explicit ProgressReporter(const std::string& command);
    /// `every`: between lines of a log, from the first on; 0: as above.
    ProgressReporter(const std::string& command, bool on_terminal, std::chrono::milliseconds every);
    ~ProgressReporter();
    ProgressReporter(const ProgressReporter&) = delete;
    ProgressReporter& operator=(const ProgressReporter&) = delete;

  private:
    struct Thread;
    void begin(const std::string& command, bool on_terminal, std::chrono::milliseconds every);
    std::unique_ptr<Thread> thread_;
};

/// A part of a command of which is known how much it is. One at a time; the line goes away with it.
class Progress {
  public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `fraction` of the work that is done, 0..1. One that falls begins a new estimate of the time left.
    void update(double fraction, const std::string& what);

    /// So many of `count` things (`unit`: "points") are done; `best` is what was found so far, or empty.
    /// `kept`: those that were there before this run, which say nothing about its rate.
    void update(std::uint64_t done, std::uint64_t count, const std::string& unit, const std::string& best,
                std::uint64_t kept = 0);
};

/// While it lives no line stands there and none comes: for output of other kinds.
class ProgressHeld {
  public:
    ProgressHeld();
    ~ProgressHeld();
    ProgressHeld(const ProgressHeld&) = delete;
    ProgressHeld& operator=(const ProgressHeld&) = delete;
};

/// " 43 %, 1:20 left: kernel matmul". `elapsed` in seconds; cut to `width` - 1 columns.
std::string progress_line(double fraction, double elapsed, const std::string& what, std::size_t width = 80);

/// "117/500 points, 23 %, 14.2/min, 26:58 left, best: time 12.3 ms". The rate counts what this run did.
std::string progress_line(std::uint64_t done, std::uint64_t count, const std::string& unit, double elapsed,
                          const std::string& best, std::uint64_t kept = 0, std::size_t width = 80);

/// The first of them, and how many there are besides: "kernel matmul (12 of 64 thread blocks), and 3 more";
/// "" when there are none.
std::string describe_first(const std::vector<ActivitySeen>& activities);

/// `fraction` of a command's work is done, and shares of what is under way besides.
double fraction_with(double fraction, const std::vector<ActivitySeen>& activities);

/// Seconds from a log's beginning to its next line, when `elapsed` have passed.
double next_log_line(double elapsed);

}  // namespace heddle::cli
