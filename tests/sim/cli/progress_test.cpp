#include "sim/cli/progress.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <sstream>

using namespace heddle::cli;

namespace {

constexpr std::chrono::milliseconds kEvery{50};

/// What is written to stderr meanwhile.
std::vector<std::string> log_of(const std::function<void()>& run) {
    std::FILE* const log = std::tmpfile();
    const int before = ::dup(STDERR_FILENO);
    ::dup2(::fileno(log), STDERR_FILENO);
    run();
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    std::rewind(log);
    std::string text(100000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), log));
    std::fclose(log);
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("the time left is what the past time says") {
    CHECK(progress_line(0.25, 20, "gemm") == " 25 %, 1:00 left: gemm");
    CHECK(progress_line(0.5, 3661, "") == " 50 %, 1:01:01 left");
    CHECK(progress_line(1, 10, "") == "100 %, 0:00 left");
    CHECK(progress_line(0, 10, "first") == "  0 %, 0:10 so far: first");  // nothing to go by yet
    CHECK(progress_line(7, 10, "") == "100 %, 0:00 left");
}

TEST_CASE("the line fits an 80-column terminal") {
    CHECK(progress_line(0.5, 10, std::string(200, 'x')).size() == 79);
}

TEST_CASE("things are counted with their rate, the time left and the best so far") {
    CHECK(progress_line(100, 500, "points", 50, "time 12.3 ms") ==
          "100/500 points, 20 %, 2.0/s, 3:20 left, best: time 12.3 ms");
    CHECK(progress_line(10, 40, "points", 120, "") == "10/40 points, 25 %, 5.0/min, 6:00 left");
    CHECK(progress_line(1, 3, "points", 7200, "") == "1/3 points, 33 %, 0.5/h, 4:00:00 left");
    // What an earlier run did says nothing about the rate: 10 of this run in 10 s, 390 to go.
    CHECK(progress_line(110, 500, "points", 10, "", 100) == "110/500 points, 22 %, 1.0/s, 6:30 left");
    CHECK(progress_line(0, 500, "points", 10, "") == "0/500 points, 0 %, 0:10 so far");
    CHECK(progress_line(0, 0, "points", 10, "") == "0/0 points, 0:10 so far");
}

TEST_CASE("what runs counts with the part of the work that it is, and of what is done") {
    heddle::ActivitySeen half{"kernel gemm"}, unknown{"kernel other"};
    half.done = 8;
    half.count = 16;
    half.part = 0.5;
    unknown.part = 0.25;
    CHECK(fraction_with(0.25, {}) == 0.25);
    CHECK(fraction_with(0.25, {half, unknown}) == 0.5);
    CHECK(fraction_with(0.9, {half}) == 0.99);
    CHECK(describe_first({}).empty());
    CHECK(describe_first({unknown}) == "kernel other");
    CHECK(describe_first({unknown, half, half}) == "kernel other, and 2 more");
}

TEST_CASE("a log's lines come every ten seconds, and after a minute every thirty") {
    CHECK(next_log_line(0) == 10);
    CHECK(next_log_line(10.01) == 20);
    CHECK(next_log_line(50.2) == 60);
    CHECK(next_log_line(60.1) == 90);
    CHECK(next_log_line(89) == 90);
    CHECK(next_log_line(3600) == 3630);
}

TEST_CASE("a log has whole lines now and then, whatever the command is busy with") {
    const std::vector<std::string> lines = log_of([] {
        const ProgressReporter reporter("heddle test", false, kEvery);
        ::usleep(3 * kEvery.count() * 1000);  // nothing that tells
        {
            const heddle::Doing doing("reading step.et", 100, "bytes");
            heddle::this_activity().set_done(50);
            ::usleep(3 * kEvery.count() * 1000);
        }
        Progress progress;
        progress.update(1, 4, "designs", "time 3 us (design 1)");
        ::usleep(3 * kEvery.count() * 1000);
        progress.update(0.5, "matmul");
        ::usleep(3 * kEvery.count() * 1000);
        const ProgressHeld held;
        progress.update(0.75, "held");
        ::usleep(3 * kEvery.count() * 1000);
    });
    const auto has = [&](const std::string& begin, const std::string& end) {
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.rfind(begin, 0) == 0 && line.size() >= end.size() &&
                   line.compare(line.size() - end.size(), end.size(), end) == 0;
        });
    };
    CHECK(has("0:00 so far: ", "heddle test"));
    CHECK(has(" 50 %, 0:00 left: ", "reading step.et (50 of 100 bytes)"));
    CHECK(has("1/4 designs, 25 %, ", ", best: time 3 us (design 1)"));
    CHECK(has(" 50 %, ", " left: matmul"));
    CHECK_FALSE(has(" 75 %, ", "held"));
    for (const std::string& line : lines) CHECK(line.find('\r') == std::string::npos);
}

TEST_CASE("processes that are forked while lines are told tell none, and end") {
    const std::vector<std::string> lines = log_of([] {
        const ProgressReporter reporter("heddle test", false, kEvery);
        for (unsigned i = 0; i < 50; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                Progress progress;  // takes the lock
                progress.update(0.5, "a child");
                if (i == 0) ::usleep(5 * kEvery.count() * 1000);
                ::_exit(0);
            }
            int status = -1;
            ::waitpid(child, &status, 0);
            REQUIRE(status == 0);
        }
    });
    CHECK_FALSE(lines.empty());
    for (const std::string& line : lines) CHECK(line.find("a child") == std::string::npos);
}

TEST_CASE("a terminal has one line that is drawn over, and in the end none") {
    const std::vector<std::string> lines = log_of([] {
        const ProgressReporter reporter("heddle test", true, {});
        Progress progress;
        progress.update(0.5, "matmul");
        ::usleep(2500000);  // it appears after two seconds
    });
    REQUIRE(lines.size() == 1);  // no line ends
    CHECK_THAT(lines[0], Catch::Contains("\r\033[K 50 %, ") && Catch::Contains(" left: matmul") &&
                             Catch::EndsWith("\r\033[K"));
}

TEST_CASE("a line is cut between characters") {
    const std::string line = progress_line(0.5, 10, "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5", 20);
    CHECK(line == " 50 %, 0:10 left: \u00b5");  // 18 columns and one character
}
