#include "validation/compare/result.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace heddle::validation;

namespace {

ComparisonRow timed(const char* name, const char* category, double captured, double simulated) {
    ComparisonRow row{name, category};
    row.captured = captured;
    row.simulated = simulated;
    row.unit = "us";
    return row;
}

ComparisonRow bits(const char* name, const char* category, std::uint64_t identical, std::uint64_t total) {
    ComparisonRow row{name, category};
    row.bits = BitCount{identical, total};
    return row;
}

}  // namespace

TEST_CASE("figures of a category are those worked out by hand") {
    // Errors 10 %, 10 %, 0 and 50 %. r by another program.
    const std::vector<ComparisonRow> rows{timed("a", "gemm", 100, 110), timed("b", "gemm", 200, 180),
                                          timed("c", "gemm", 400, 400), timed("d", "gemm", 1000, 1500)};
    const std::vector<CategorySummary> summaries = summarise(rows);
    REQUIRE(summaries.size() == 1);
    CHECK(summaries[0].quantities == 4);
    CHECK(summaries[0].mean_error == Approx(0.175));
    CHECK(summaries[0].median_error == Approx(0.1));
    CHECK(summaries[0].error_90 == Approx(0.38));
    CHECK(summaries[0].largest_error == Approx(0.5));
    REQUIRE(summaries[0].correlation);
    CHECK(*summaries[0].correlation == Approx(0.98936633).margin(1e-7));
}

TEST_CASE("rows without both figures count as rows but not as errors") {
    std::vector<ComparisonRow> rows{timed("a", "copy", 10, 12), timed("b", "copy", 0, 12),
                                    ComparisonRow{"c", "copy"}};
    const CategorySummary summary = summarise(rows).at(0);
    CHECK(summary.rows == 3);
    CHECK(summary.quantities == 1);
    CHECK(summary.mean_error == Approx(0.2));
    CHECK_FALSE(summary.correlation);
    CHECK(worst_rows(rows).size() == 1);
}

TEST_CASE("bits are summed by category, and over all") {
    const std::vector<ComparisonRow> rows{bits("a", "fp16", 10, 10), bits("b", "fp16", 7, 10),
                                          bits("c", "bf16", 5, 5), bits("d", "bf16", 0, 0)};
    const std::vector<CategorySummary> summaries = summarise(rows);
    REQUIRE(summaries.size() == 3);
    CHECK(summaries[0].category == "fp16");
    CHECK(summaries[0].rows_identical == 1);
    CHECK(summaries[0].bits.identical == 17);
    CHECK(summaries[1].rows_identical == 1);  // nothing compared is not identical
    CHECK(summaries[2].category == "all");
    CHECK(summaries[2].bits.identical == 22);
    CHECK(summaries[2].bits.total == 25);
    REQUIRE(worst_rows(rows).size() == 1);
    CHECK(worst_rows(rows)[0]->name == "b");
}

TEST_CASE("the worst rows come first, and no more of them than asked for") {
    const std::vector<ComparisonRow> rows{timed("a", "x", 10, 11), timed("b", "x", 10, 5),
                                          timed("c", "x", 10, 10), timed("d", "x", 10, 40)};
    const auto worst = worst_rows(rows, 2);
    REQUIRE(worst.size() == 2);
    CHECK(worst[0]->name == "d");
    CHECK(worst[1]->name == "b");
    CHECK(worst_rows(rows).size() == 3);
}

TEST_CASE("a bar holds at its own value, and never for what is no number") {
    CHECK(at_least("x", 80, 80).holds());
    CHECK_FALSE(at_least("x", 79.999, 80).holds());
    CHECK(at_most("x", 10, 10).holds());
    CHECK_FALSE(at_most("x", 10.001, 10).holds());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(at_least("x", nan, 0).holds());
    CHECK_FALSE(at_most("x", nan, 100).holds());
    Comparison comparison;
    CHECK(comparison.holds());
    comparison.bars = {at_least("x", 100, 100), at_most("y", 11, 10)};
    CHECK_FALSE(comparison.holds());
}
