// The progress of a command: on a terminal one line that is redrawn, in a log a line from time to time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/common/activity.h"

namespace heddle::cli {

/// Reports on stderr, while it exists, how far the command has come, from what its Progress says and what its
/// processes are working on (isa/common/activity.h). It uses a thread of its own, so lines appear whatever
/// the command is doing. On a terminal it is one line that is redrawn and appears after two seconds;
/// elsewhere it writes log lines after 10 s, 20 s ... 60 s, then every 30 s. A process can have only one;
/// forked processes report nothing.
class ProgressReporter {
  public:
    /// `command` is a name such as "heddle trace import". $HEDDLE_PROGRESS may be `off`, or the number of
    /// seconds between lines. Throws heddle::Error when it is neither.
    explicit ProgressReporter(const std::string& command);
    /// `every` is the time between lines of a log, including the first; 0: as described above.
    ProgressReporter(const std::string& command, bool on_terminal, std::chrono::milliseconds every);
    ~ProgressReporter();
    ProgressReporter(const ProgressReporter&) = delete;
    ProgressReporter& operator=(const ProgressReporter&) = delete;

  private:
    struct Thread;
    void begin(const std::string& command, bool on_terminal, std::chrono::milliseconds every);
    std::unique_ptr<Thread> thread_;
};

/// A part of a command whose amount of work is known. There can be only one at a time; its line disappears
/// with it.
class Progress {
  public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Reports that `fraction` of the work is done, 0..1. A smaller fraction than before starts a new
    /// estimate of the time left.
    void update(double fraction, const std::string& what);

    /// Reports that `done` of `count` things (`unit`: "points") are done. `best` is the best result so far,
    /// or empty. `kept` is how many were done before this run; they do not count for the rate.
    void update(std::uint64_t done, std::uint64_t count, const std::string& unit, const std::string& best,
                std::uint64_t kept = 0);
};

/// Removes the progress line while it exists, so that other output can be written.
class ProgressHeld {
  public:
    ProgressHeld();
    ~ProgressHeld();
    ProgressHeld(const ProgressHeld&) = delete;
    ProgressHeld& operator=(const ProgressHeld&) = delete;
};

/// Returns a line such as " 43 %, 1:20 left: kernel matmul". `elapsed` is in seconds; the line has at most
/// `width` - 1 columns.
std::string progress_line(double fraction, double elapsed, const std::string& what, std::size_t width = 80);

/// Returns a line such as "117/500 points, 23 %, 14.2/min, 26:58 left, best: time 12.3 ms". The rate counts
/// what this run did.
std::string progress_line(std::uint64_t done, std::uint64_t count, const std::string& unit, double elapsed,
                          const std::string& best, std::uint64_t kept = 0, std::size_t width = 80);

/// Describes the first activity and the number of others: "kernel matmul (12 of 64 thread blocks), and 3
/// more"; "" when there are none.
std::string describe_first(const std::vector<ActivitySeen>& activities);

/// Returns the fraction of the command's work that is done when the shares of activities in progress are
/// added to `fraction`.
double fraction_with(double fraction, const std::vector<ActivitySeen>& activities);

/// Returns the time of the next line of a log, in seconds from its beginning, when `elapsed` seconds have
/// passed.
double next_log_line(double elapsed);

}  // namespace heddle::cli
