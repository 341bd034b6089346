#include "validation/capture/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle::capture {

Progress Progress::for_standard_error() {
    return Progress(::isatty(STDERR_FILENO) == 1);
}

std::string duration_text(double seconds) {
    const long whole = std::lround(seconds);
    char text[48];
    if (whole >= 60)
        std::snprintf(text, sizeof text, "%ld min %02ld s", whole / 60, whole % 60);
    else
        std::snprintf(text, sizeof text, "%ld s", whole);
    return text;
}

void Progress::begin(const std::string& section, std::size_t already_there) {
    section_ = section;
    begun_ = Clock::now();
    shown_ = terminal_ ? Clock::time_point{} : begun_;
    first_fraction_ = -1;
    if (already_there > 0)
        say(section + ": goes on after " + std::to_string(already_there) + " records");
    else if (!terminal_)
        say(section + ": begins");
}

bool Progress::due(Clock::time_point now) const {
    if (terminal_) return now - shown_ >= std::chrono::milliseconds(100);
    constexpr int kYoung = 6;  // lines
    return now - shown_ >= (now - begun_ > kYoung * between_lines_ ? 3 : 1) * between_lines_;
}

void Progress::update(double fraction, const std::string& doing) {
    const auto now = Clock::now();
    if (first_fraction_ < 0) first_fraction_ = fraction;
    if (!due(now)) return;
    shown_ = now;
    const double elapsed = std::chrono::duration<double>(now - begun_).count();
    const double done = fraction - first_fraction_;
    std::string line = section_ + " " + std::to_string(static_cast<int>(fraction * 100)) + " %";
    if (done > 0.01 && elapsed > 1) line += ", " + duration_text(elapsed * (1 - fraction) / done) + " left";
    line += ": " + doing;
    if (!terminal_) return say(line);
    line.resize(std::min<std::size_t>(line.size(), 100));
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
}

void Progress::say(const std::string& line) {
    std::fprintf(stderr, "%s%s\n", terminal_ ? "\r\033[K" : "", line.c_str());
    std::fflush(stderr);
}

}  // namespace heddle::capture
