#include "sim/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>

using heddle::cli::progress_line;

TEST_CASE("the time left is what the past time says") {
    CHECK(progress_line(0.25, 20, "gemm") == " 25 %, 1:00 left: gemm");
    CHECK(progress_line(0.5, 3661, "") == " 50 %, 1:01:01 left");
    CHECK(progress_line(1, 10, "") == "100 %, 0:00 left");
    CHECK(progress_line(0, 10, "first") == "  0 %: first");  // nothing to go by yet
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
    CHECK(progress_line(0, 500, "points", 10, "") == "0/500 points, 0 %");
    CHECK(progress_line(0, 0, "points", 10, "") == "0/0 points");
}

TEST_CASE("a log has whole lines now and then, and nothing else") {
    std::FILE* const log = std::tmpfile();
    const int before = ::dup(STDERR_FILENO);
    ::dup2(::fileno(log), STDERR_FILENO);
    {
        heddle::cli::Progress silent(false, {});
        silent.update(1, 4, "designs", "");
        heddle::cli::Progress line(false, std::chrono::milliseconds{30});
        line.update(1, 4, "designs", "");  // too early
        ::usleep(40000);
        line.update(2, 4, "designs", "time 3 us (design 1)", 1);
        line.update(3, 4, "designs", "");  // too early again
    }
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    std::rewind(log);
    char text[400] = "";
    const std::string all(text, std::fread(text, 1, sizeof text, log));
    std::fclose(log);
    CHECK_THAT(all,
               Catch::StartsWith("2/4 designs, 50 %, ") && Catch::EndsWith(", best: time 3 us (design 1)\n"));
    CHECK(std::count(all.begin(), all.end(), '\n') == 1);
    CHECK(all.find('\r') == std::string::npos);
}

TEST_CASE("a line is cut between characters") {
    const std::string line = progress_line(0.5, 10, "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5", 20);
    CHECK(line == " 50 %, 0:10 left: \u00b5");  // 18 columns and one character
}
