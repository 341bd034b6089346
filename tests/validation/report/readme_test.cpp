#include "validation/report/readme.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"

using namespace heddle::validation;

TEST_CASE("the accuracy table stands between its markers, and nothing else changes") {
    const std::string begin = std::string(kAccuracyBegin) + "\n", end = kAccuracyEnd;
    const std::string text = "# Title\n\n" + begin + "old\n" + end + "\nrest\n";
    CHECK(accuracy_block(text, "README.md") == "old\n");
    const std::string renewed = with_accuracy_block(text, "| new |\n", "README.md");
    CHECK(renewed == "# Title\n\n" + begin + "| new |\n" + end + "\nrest\n");
    CHECK(with_accuracy_block(renewed, "| new |\n", "README.md") == renewed);
    for (const std::string& broken : {std::string("no markers"), begin, end + begin})
        CHECK_THROWS_WITH(accuracy_block(broken, "README.md"), Catch::Contains("README.md"));
}

TEST_CASE(
    "few categories are told one by one, so that what was fitted stands apart from what was predicted") {
    Comparison times;
    times.title = "Times";
    for (const char* category : {"fitted", "predicted"}) {
        ComparisonRow row{category, category};
        row.captured = 100;
        row.simulated = category[0] == 'f' ? 101 : 130;
        times.rows.push_back(row);
    }
    CHECK_THAT(accuracy_table({times}, {}),
               Catch::Contains("| fitted: mean error 1.0 %, 1 row; predicted: mean error 30.0 %, 1 row |"));
}

TEST_CASE("the accuracy table has a row for each comparison and for each thing that is missing") {
    Comparison bits;
    bits.title = "GEMMs";
    bits.reference = {"capture", "h100", "NVIDIA H100", "2026-11-21", "driver 580.95", true, ""};
    ComparisonRow row{"a", "x"};
    row.bits = BitCount{99, 100};
    bits.rows = {row};
    bits.bars = {at_least("identical", 99, 100)};
    Comparison times;
    times.title = "Times | all";
    times.reference = bits.reference;
    times.reference.silicon = false;
    for (const double simulated : {110.0, 120.0}) {
        ComparisonRow timed{"t" + std::to_string(simulated), "y"};
        timed.captured = 100;
        timed.simulated = simulated;
        times.rows.push_back(timed);
    }
    const std::string table = accuracy_table({bits, times}, {"not yet recorded: training"});
    CHECK(table ==
          "| what | compared with | result |\n|---|---|---|\n"
          "| GEMMs | NVIDIA H100, capture: h100, 2026-11-21, driver 580.95 | 99 of 100 identical in every "
          "bit; 0 of 1 "
          "bars hold |\n"
          "| Times / all | NOT SILICON: NVIDIA H100, capture: h100, 2026-11-21, driver 580.95 | mean error "
          "15.0 %, "
          "median 15.0 %, 90 % below 19.0 %, 2 rows |\n"
          "| training | | not yet recorded |\n");
}
