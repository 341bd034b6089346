#include "sim/cli/progress.h"

#include <catch2/catch.hpp>

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
