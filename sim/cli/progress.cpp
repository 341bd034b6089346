#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace heddle::cli {
namespace {

constexpr std::chrono::seconds kQuietAtFirst{2};
constexpr std::chrono::milliseconds kBetweenLines{100};
constexpr std::size_t kLineWidth = 79;

std::string minutes_and_seconds(double seconds) {
    const auto whole = static_cast<long long>(seconds + 0.5);
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_line(double fraction, double elapsed, const std::string& what) {
    fraction = std::clamp(fraction, 0.0, 1.0);
    std::string line = fmt::format("{:3.0f} %", fraction * 100);
    if (fraction > 0.005)
        line += fmt::format(", {} left", minutes_and_seconds(elapsed / fraction * (1 - fraction)));
    if (!what.empty()) line += ": " + what;
    return line.substr(0, kLineWidth);
}

Progress::Progress() : Progress(isatty(STDERR_FILENO) == 1) {}

Progress::Progress(bool on_terminal) : on_terminal_(on_terminal), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(double fraction, const std::string& what) {
    const Clock::time_point now = Clock::now();
    if (!on_terminal_ || now - start_ < kQuietAtFirst || now - last_ < kBetweenLines) return;
    last_ = now;
    drawn_ = true;
    const std::string line =
        progress_line(fraction, std::chrono::duration<double>(now - start_).count(), what);
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
}

}  // namespace heddle::cli
