#include "sim/cli/limits.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "isa/common/activity.h"
#include "isa/common/limits.h"

namespace heddle::cli {
namespace {

/// Between SIGALRM and the end of a process that has not heard of it: time to unwind, or to finish writing.
constexpr long kGrace = 2;  // seconds

double allowed_seconds = 0;
std::array<char, 100> text_of_handler{};  // a signal handler makes no texts

void tell(std::string_view text) {
    (void)!::write(STDERR_FILENO, text.data(), text.size());
}

void out_of_time_signal(int) {
    if (!is_out_of_time()) return set_out_of_time();
    std::array<char, 200> what{};
    this_activity().copy_what(what.data(), what.size());
    if (::isatty(STDERR_FILENO) == 1) tell("\r\033[K");
    tell(text_of_handler.data());
    if (what[0] != 0) {
        tell(": ");
        tell(what.data());
    }
    tell("\n");
    ::_exit(kLimitReached);
}

void start_clock(double seconds) {
    allowed_seconds = seconds;
    const std::string text = "heddle: " + time_limit_text();
    std::memcpy(text_of_handler.data(), text.c_str(), std::min(text.size() + 1, text_of_handler.size() - 1));
    struct sigaction action {};
    action.sa_handler = out_of_time_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, nullptr);
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(seconds);
    timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
    timer.it_interval.tv_sec = kGrace;
    ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void add_limit_options(CLI::App& command) {
    command
        .add_option_function<std::uint64_t>(
            "--max-cycles", [](const std::uint64_t& cycles) { set_cycle_limit(cycles); },
            "give up when one kernel takes more simulated cycles than this: exit code 5")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
        ->type_name("N")
        ->group("Limits");
    command
        .add_option_function<double>(
            "--max-seconds", [](const double& seconds) { start_clock(seconds); },
            "give up after so much time, of this machine: exit code 5; what is done by then is kept as after "
            "Ctrl-C")
        ->check(CLI::Range(0.001, 1e9))
        ->type_name("S")
        ->group("Limits");
}

void disarm_time_limit() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
}

std::string time_limit_text() {
    return fmt::format("the time of --max-seconds {} is over", allowed_seconds);
}

std::string time_limit_remedy() {
    return fmt::format("; give more than --max-seconds {}", allowed_seconds);
}

}  // namespace heddle::cli
