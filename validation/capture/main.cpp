// heddle-capture: what a GPU computes and how long it takes, recorded in a folder.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "isa/common/out_of_memory.h"
#include "validation/capture/arguments.h"
#include "validation/capture/interruption.h"
#include "validation/capture/manifest.h"
#include "validation/capture/open_device.h"
#include "validation/capture/program.h"
#include "validation/capture/supervisor.h"
#include "validation/capture/watchdog.h"

namespace heddle::capture {
namespace {

enum ExitCode { kComplete = 0, kUsage = 2, kIncomplete = 3 };

/// No item takes so long on a GPU.
constexpr std::chrono::seconds kLongestItem{150};

/// Enough for every section to lose the device several times.
constexpr unsigned kAttempts = 24;

std::string joined(const std::vector<std::string>& words) {
    std::string text = "heddle-capture";
    for (const std::string& word : words) text += " " + word;
    return text;
}

using Clock = std::chrono::steady_clock;

/// What is left of the limit, which all processes of one call share.
std::optional<double> minutes_left(const Arguments& arguments, Clock::time_point begin) {
    if (!arguments.limit_in_minutes) return std::nullopt;
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count() / 60;
    return std::max(*arguments.limit_in_minutes - passed, 0.0);
}

/// Runs the capture in this process. `begin`: of the program.
ChildReport capture(const Arguments& arguments, const std::string& command_line, Clock::time_point begin,
                    const std::vector<std::string>& left_out) {
    ChildReport report;
    try {
        const Interruption interruption;
        std::optional<Watchdog> watchdog;
        if (arguments.device.rfind("cuda", 0) == 0)
            watchdog.emplace(kLongestItem, [] {
                std::fputs("heddle-capture: an item does not end; its process is given up\n", stderr);
                ::kill(::getpid(), SIGKILL);
            });
        Progress progress = Progress::for_standard_error();
        const auto device = open_device(arguments.device);
        CaptureRun run{arguments.output,
                       arguments.sections,
                       arguments.extent,
                       minutes_left(arguments, begin),
                       command_line,
                       [&] { return interruption.requested(); },
                       [&] {
                           if (watchdog) watchdog->beat();
                       }};
        const Outcome outcome = run_capture(*device, sections(), run, progress, left_out, &report.stuck);
        report.device_lost = outcome == Outcome::device_lost;
        report.exit_code = outcome == Outcome::complete ? kComplete : kIncomplete;
        if (outcome == Outcome::complete)
            progress.say("complete: " + arguments.output.string());
        else if (!report.device_lost)
            progress.say("not complete; run the same command again to go on");
    } catch (const Error& error) {
        std::fprintf(stderr, "heddle-capture: %s\n", error.what());
        report.exit_code = kUsage;
    } catch (const std::exception& error) {
        const bool memory = is_out_of_memory(error);
        std::fprintf(stderr, "heddle-capture: %s\n", memory ? out_of_memory_text(error).c_str() : error.what());
        report.exit_code = kIncomplete;
    }
    return report;
}

int run(const std::vector<std::string>& words) {
    const auto begin = Clock::now();
    const Arguments arguments = parse_arguments(words, sections());
    if (arguments.help) {
        std::fputs(help_text().c_str(), stdout);
    } else if (arguments.version) {
        std::printf("heddle-capture %s, schema %d\n", tool_version(), kSchema);
    } else if (arguments.list) {
        std::fputs(list_text(sections()).c_str(), stdout);
    } else if (arguments.device.rfind("cuda", 0) == 0) {
        return supervise(
            [&](const std::vector<std::string>& left_out) {
                return capture(arguments, joined(words), begin, left_out);
            },
            kAttempts);
    } else {
        return capture(arguments, joined(words), begin, {}).exit_code;
    }
    return kComplete;
}

}  // namespace
}  // namespace heddle::capture

int main(int count, char** words) {
    heddle::name_what_takes_memory("heddle-capture", 2);
    try {
        return heddle::capture::run({words + 1, words + count});
    } catch (const heddle::Error& error) {
        std::fprintf(stderr, "heddle-capture: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        const bool memory = heddle::is_out_of_memory(error);
        std::fprintf(stderr, "heddle-capture: %s\n",
                     memory ? heddle::out_of_memory_text(error).c_str() : error.what());
        return memory ? 2 : 3;
    }
}
