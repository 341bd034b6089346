// What the processes of a command are doing, and how far each has come. Each says so in memory that all of
// them share, so whoever shows progress looks there at any time, and nobody who works is asked or waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// What one process is doing, as other processes see it.
struct ActivitySeen {
    std::string what;                   ///< "kernel saxpy"
    std::string unit = {};              ///< of `done` and `count`: "thread blocks"
    std::uint64_t done = 0, count = 0;  ///< count 0: nobody knows how much it is
    std::uint64_t cycle = 0;            ///< of the simulated clock; 0: there is none
    std::uint64_t expected = 0;         ///< cycles that it may take, roughly; 0: nobody knows
    double part = 0;                    ///< of the whole command's work, 0..1; 0: nobody knows
    std::int64_t begun = 0;             ///< when, in nanoseconds of the monotonic clock

    /// The part of it that is done, 0 to 1: by count, or by cycles where that gives more. 0 when it is not
    /// known.
    double share() const;
};

/// A line for people, such as "kernel saxpy (12 of 4,096 thread blocks, cycle 1,234,567)".
std::string describe(const ActivitySeen& activity);

/// The place where one process writes its activity. All fields are atomic, so neither readers nor the writer
/// wait.
class Activity {
  public:
    /// The process itself calls these. From begin() to end() it works on `activity`, and sets how much it has
    /// done, in the unit of `activity` and in cycles of the simulated clock. Texts that are too long for the
    /// place are cut.
    void begin(const ActivitySeen& activity);
    void end();
    void set_done(std::uint64_t done) { done_.store(done, std::memory_order_relaxed); }
    void set_cycle(std::uint64_t cycle) { cycle_.store(cycle, std::memory_order_relaxed); }
    /// These apply to the activity that begins next: its part of the whole command's work (0 to 1), and the
    /// cycles that it may take.
    void set_part(double part) { part_.store(part, std::memory_order_relaxed); }
    void set_expected(std::uint64_t cycles) { expected_.store(cycles, std::memory_order_relaxed); }
    /// The present activity; nothing when there is none, or when it changes at this moment.
    std::optional<ActivitySeen> seen() const;
    /// `what` as text that ends with 0, cut to the `size`. For signal handlers: it takes no memory and no
    /// lock.
    void copy_what(char* to, std::size_t size) const;

  private:
    static constexpr std::size_t kWords = 24;  // of text: `what`, 0, `unit`, 0
    using Words = std::array<std::uint64_t, kWords>;
    bool copy_text(Words& words) const;

    std::atomic<std::uint64_t> version_{0};  // odd while the text changes
    std::array<std::atomic<std::uint64_t>, kWords> text_{};
    std::atomic<std::uint64_t> done_{0}, count_{0}, cycle_{0}, expected_{0};
    std::atomic<double> part_{0};
    std::atomic<std::int64_t> begun_{0};
};

/// The activity of this process.
Activity& this_activity();

/// From now on this process and all that it forks see each other's activities. Once, before the first fork;
/// without it each process sees its own alone.
void share_activities();

/// To be called in a process that was just forked: gives it a place of its own.
void leave_activity_of_parent();

/// The activities of all living processes that share them, in the order in which they began.
std::vector<ActivitySeen> activities();

/// Sets the activity of this process for as long as the object lives, and then restores the one before.
class Doing {
  public:
    explicit Doing(const std::string& what, std::uint64_t count = 0, const std::string& unit = "");
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

  private:
    std::optional<ActivitySeen> before_;
};

}  // namespace heddle
