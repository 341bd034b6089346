#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "isa/common/error.h"
#include "isa/common/foreign_text.h"
#include "sim/cli/terminal.h"

namespace heddle::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kQuietAtFirst{2000}, kBetweenDrawings{200};
constexpr double kFirstLines = 10, kManyLines = 60, kLaterLines = 30;  // seconds
constexpr std::size_t kUncut = 10000;

std::string minutes_and_seconds(double seconds) {
    const long long whole = std::llround(seconds);
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// Not inside a character; the last column stays free, or some terminals wrap.
std::string cut(std::string line, std::size_t width) {
    std::size_t columns = 0, end = 0;
    while (end < line.size()) {
        std::size_t next = end + 1;
        while (next < line.size() && (static_cast<unsigned char>(line[next]) & 0xc0) == 0x80) ++next;
        if (++columns >= width) break;
        end = next;
    }
    line.resize(end);
    return line;
}

/// Things per second, minute or hour, whichever makes a number to read.
std::string rate(double per_second) {
    if (per_second >= 1) return fmt::format("{:.1f}/s", per_second);
    if (per_second * 60 >= 1) return fmt::format("{:.1f}/min", per_second * 60);
    return fmt::format("{:.1f}/h", per_second * 3600);
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What a Progress was told last.
struct Stage {
    Clock::time_point begin = Clock::now();
    std::optional<double> fraction = {};
    std::string what = {}, unit = {}, best = {};
    std::uint64_t done = 0, count = 0, kept = 0;  // when there is no fraction
};

/// All that the thread shows. It writes only while it holds the mutex, and so does whoever forks: so it is in
/// the middle of nothing in a forked process, where it does not exist.
struct Shown {
    std::mutex mutex;
    std::condition_variable changed;
    std::string command;
    bool on_terminal = false, drawn = false, ended = true;
    unsigned held = 0;
    Clock::time_point begin;
    std::optional<Stage> stage;

    void erase() {
        if (drawn) std::fputs("\r\033[K", stderr);
        if (drawn) std::fflush(stderr);
        drawn = false;
    }
    void draw() {
        const std::string text = line();
        drawn = on_terminal;
        std::fprintf(stderr, on_terminal ? "\r\033[K%s" : "%s\n", text.c_str());
        std::fflush(stderr);
    }
    std::string line() const;
};

Shown& shown() {
    static Shown* const one = [] {
        ::pthread_atfork([] { shown().mutex.lock(); }, [] { shown().mutex.unlock(); },
                         [] {
                             shown().drawn = false;
                             shown().mutex.unlock();
                         });
        return new Shown;  // for as long as there are threads
    }();
    return *one;
}

std::string Shown::line() const {
    const std::size_t width = on_terminal ? progress_width() : kUncut;
    const std::vector<ActivitySeen> under_way = activities();
    const std::string running = visible(describe_first(under_way));
    if (stage && stage->count != 0 && !stage->fraction) {
        const std::string text = progress_line(stage->done, stage->count, stage->unit,
                                               seconds_since(stage->begin), stage->best, stage->kept, kUncut);
        return cut(running.empty() ? text : text + "; " + running, width);
    }
    if (stage && stage->fraction)
        return progress_line(fraction_with(*stage->fraction, under_way), seconds_since(stage->begin),
                             running.empty() ? visible(stage->what) : running, width);
    if (!under_way.empty() && under_way.front().share() > 0) {
        const Clock::time_point begin{std::chrono::nanoseconds(under_way.front().begun)};
        return progress_line(under_way.front().share(), seconds_since(begin), running, width);
    }
    return cut(
        minutes_and_seconds(seconds_since(begin)) + " so far: " + (running.empty() ? command : running),
        width);
}

}  // namespace

std::string progress_line(double fraction, double elapsed, const std::string& what, std::size_t width) {
    fraction = std::clamp(fraction, 0.0, 1.0);
    std::string line = fmt::format("{:3.0f} %, ", fraction * 100);
    line += fraction > 0.005 ? minutes_and_seconds(elapsed / fraction * (1 - fraction)) + " left"
                             : minutes_and_seconds(elapsed) + " so far";
    if (!what.empty()) line += ": " + what;
    return cut(std::move(line), width);
}

std::string progress_line(std::uint64_t done, std::uint64_t count, const std::string& unit, double elapsed,
                          const std::string& best, std::uint64_t kept, std::size_t width) {
    done = std::min(done, count);
    std::string line = fmt::format("{}/{} {}", done, count, unit);
    if (count > 0)
        line += fmt::format(", {:.0f} %", 100 * static_cast<double>(done) / static_cast<double>(count));
    if (done > kept && elapsed > 0) {
        const double per_second = static_cast<double>(done - kept) / elapsed;
        line += fmt::format(", {}, {} left", rate(per_second),
                            minutes_and_seconds(static_cast<double>(count - done) / per_second));
    } else {
        line += ", " + minutes_and_seconds(elapsed) + " so far";
    }
    if (!best.empty()) line += ", best: " + best;
    return cut(std::move(line), width);
}

std::string describe_first(const std::vector<ActivitySeen>& activities) {
    if (activities.empty()) return {};
    const std::string others =
        activities.size() == 1 ? "" : ", and " + std::to_string(activities.size() - 1) + " more";
    return describe(activities.front()) + others;
}

double fraction_with(double fraction, const std::vector<ActivitySeen>& activities) {
    constexpr double kAlmost = 0.99;  // what goes on has not ended
    double sum = fraction;
    for (const ActivitySeen& activity : activities) sum += activity.part * activity.share();
    return std::min(std::max(fraction, kAlmost), sum);
}

double next_log_line(double elapsed) {
    const double every = elapsed < kManyLines ? kFirstLines : kLaterLines;
    return (std::floor(elapsed / every) + 1) * every;
}

struct ProgressReporter::Thread {
    std::chrono::milliseconds every;
    std::thread thread;

    void work() const {
        Shown& state = shown();
        std::unique_lock lock(state.mutex);
        Clock::time_point next = state.begin + (state.on_terminal ? kQuietAtFirst : after(0));
        while (!state.changed.wait_until(lock, next, [&] { return state.ended; })) {
            if (state.held == 0) state.draw();
            next = state.on_terminal ? Clock::now() + kBetweenDrawings
                                     : state.begin + after(seconds_since(state.begin));
        }
    }

  private:
    /// From the beginning to the next line of a log.
    std::chrono::milliseconds after(double elapsed) const {
        const double seconds = std::chrono::duration<double>(every).count();
        const double next =
            every.count() == 0 ? next_log_line(elapsed) : (std::floor(elapsed / seconds) + 1) * seconds;
        return std::chrono::milliseconds(std::llround(next * 1000));
    }
};

ProgressReporter::ProgressReporter(const std::string& command) {
    const char* const text = std::getenv("HEDDLE_PROGRESS");
    if (text != nullptr && std::string(text) == "off") return;
    char* end = nullptr;
    const double seconds = text == nullptr ? 0 : std::strtod(text, &end);
    if (text != nullptr && (end == text || *end != 0 || !(seconds >= 0.05 && seconds <= 1e6)))
        throw Error("`" + std::string(text) + "` is no time", {"HEDDLE_PROGRESS", 0, ""},
                    "give the seconds between lines, or off");
    begin(command, isatty(STDERR_FILENO) == 1, std::chrono::milliseconds(std::llround(seconds * 1000)));
}

ProgressReporter::ProgressReporter(const std::string& command, bool on_terminal,
                                   std::chrono::milliseconds every) {
    begin(command, on_terminal, every);
}

void ProgressReporter::begin(const std::string& command, bool on_terminal, std::chrono::milliseconds every) {
    Shown& state = shown();
    state.command = command;
    state.on_terminal = on_terminal;
    state.drawn = state.ended = false;
    state.held = 0;
    state.begin = Clock::now();
    state.stage.reset();
    thread_ = std::make_unique<Thread>();
    thread_->every = every;
    // Signals are for those that work.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_->thread = std::thread([thread = thread_.get()] { thread->work(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressReporter::~ProgressReporter() {
    if (thread_ == nullptr) return;
    {
        const std::lock_guard lock(shown().mutex);
        shown().ended = true;
        shown().erase();
    }
    shown().changed.notify_all();
    thread_->thread.join();
}

Progress::Progress() {
    const std::lock_guard lock(shown().mutex);
    shown().stage.emplace();
}

Progress::~Progress() {
    const std::lock_guard lock(shown().mutex);
    shown().stage.reset();
    shown().erase();
}

void Progress::update(double fraction, const std::string& what) {
    const std::lock_guard lock(shown().mutex);
    if (!shown().stage) return;
    Stage& stage = *shown().stage;
    if (stage.fraction && fraction < *stage.fraction) stage.begin = Clock::now();
    stage.fraction = fraction;
    stage.what = what;
}

void Progress::update(std::uint64_t done, std::uint64_t count, const std::string& unit,
                      const std::string& best, std::uint64_t kept) {
    const std::lock_guard lock(shown().mutex);
    if (!shown().stage) return;
    Stage& stage = *shown().stage;
    stage.fraction.reset();
    stage.unit = unit;
    stage.best = best;
    stage.done = done;
    stage.count = count;
    stage.kept = kept;
}

ProgressHeld::ProgressHeld() {
    const std::lock_guard lock(shown().mutex);
    ++shown().held;
    shown().erase();
}

ProgressHeld::~ProgressHeld() {
    const std::lock_guard lock(shown().mutex);
    if (shown().held != 0) --shown().held;
}

}  // namespace heddle::cli
