#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "sim/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr std::chrono::seconds kQuietAtFirst{2};
constexpr std::chrono::milliseconds kBetweenLines{100};
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

}  // namespace

std::string progress_line(double fraction, double elapsed, const std::string& what, std::size_t width) {
    fraction = std::clamp(fraction, 0.0, 1.0);
    std::string line = fmt::format("{:3.0f} %", fraction * 100);
    if (fraction > 0.005)
        line += fmt::format(", {} left", minutes_and_seconds(elapsed / fraction * (1 - fraction)));
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
    }
    if (!best.empty()) line += ", best: " + best;
    return cut(std::move(line), width);
}

Progress::Progress(std::chrono::milliseconds log_every) : Progress(isatty(STDERR_FILENO) == 1, log_every) {}

Progress::Progress(bool on_terminal, std::chrono::milliseconds log_every)
    : on_terminal_(on_terminal), log_every_(log_every), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
}

bool Progress::due() {
    const Clock::time_point now = Clock::now();
    if (on_terminal_ ? now - start_ < kQuietAtFirst || now - last_ < kBetweenLines
                     : log_every_.count() == 0 || now - last_ < log_every_)
        return false;
    last_ = now;
    return true;
}

/// Lines of a log are not cut.
std::size_t Progress::width() const {
    return on_terminal_ ? progress_width() : kUncut;
}

double Progress::elapsed() const {
    return std::chrono::duration<double>(last_ - start_).count();
}

void Progress::draw(const std::string& line) {
    if (on_terminal_) {
        drawn_ = true;
        std::fprintf(stderr, "\r\033[K%s", line.c_str());
    } else {
        std::fprintf(stderr, "%s\n", line.c_str());
    }
    std::fflush(stderr);
}

void Progress::update(double fraction, const std::string& what) {
    if (due()) draw(progress_line(fraction, elapsed(), what, width()));
}

void Progress::update(std::uint64_t done, std::uint64_t count, const std::string& unit,
                      const std::string& best, std::uint64_t kept) {
    if (due()) draw(progress_line(done, count, unit, elapsed(), best, kept, width()));
}

}  // namespace heddle::cli
