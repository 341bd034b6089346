#include "validation/report/readme.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "isa/common/error.h"

using namespace heddle::validation;

namespace {

ComparisonRow timed(const std::string& category, double simulated, const std::string& unit = "us") {
    ComparisonRow row{category + std::to_string(simulated), category};
    row.captured = 100;
    row.simulated = simulated;
    row.unit = unit;
    return row;
}

Comparison times(const std::string& title, const std::string& device, std::vector<ComparisonRow> rows) {
    Comparison comparison;
    comparison.title = title;
    comparison.reference = {"publication", "a long sentence about a paper", device, "", "", true, "",
                            "a paper"};
    comparison.rows = std::move(rows);
    return comparison;
}

/// Rows of the table, without its heading and what follows it.
std::vector<std::string> rows_of(const std::string& table) {
    std::vector<std::string> rows;
    std::istringstream stream(table);
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with("| ") && !line.starts_with("| what |")) rows.push_back(line);
    return rows;
}

/// What follows the rows, without the line about the words.
std::string sentences_of(const std::string& table) {
    const std::string last = "stand below.\n";
    const std::size_t end = table.find(last);
    REQUIRE(end != std::string::npos);
    return table.substr(end + last.size());
}

using Rows = std::vector<std::string>;

}  // namespace

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

TEST_CASE("what no hardware file uses comes first and by itself, whatever the order of the rows") {
    const Comparison mixed = times("Times", "NVIDIA H100",
                                   {timed(kUsedByHardwareFile, 101), timed(kNotComparable, 200),
                                    timed(kNotUsed, 90), timed(kNotUsed, 130)});
    CHECK(rows_of(accuracy_table({{mixed}, {}, {}})) ==
          Rows{"| Times | H100: a paper | 20.0 % mean, 28.0 % p90, 2 rows; used 1.0 %, 1 row; not comparable "
               "100.0 %, 1 row |  |"});
    Comparison only_used = times("Times", "NVIDIA H100", {timed(kUsedByHardwareFile, 101)});
    CHECK(rows_of(accuracy_table({{only_used}, {}, {}})) ==
          Rows{"| Times | H100: a paper | used 1.0 %, 1 row |  |"});
    Comparison fitted = times("Times", "TPU", {timed("products", 102), timed("products", 102)});
    fitted.fitted = "six numbers";
    CHECK(rows_of(accuracy_table({{fitted}, {}, {}})) ==
          Rows{"| Times | TPU: a paper | 2.0 % mean, 2.0 % p90, 2 rows, six numbers fitted to them |  |"});
}

TEST_CASE("categories are told after the mean of all, those of other units apart") {
    const std::vector<ComparisonRow> sizes{timed("gemm bf16 below 10 us", 110),
                                           timed("gemm bf16 above 50 us", 130)};
    CHECK(rows_of(accuracy_table({{times("GEMMs", "A", sizes)}, {}, {}})) ==
          Rows{"| GEMMs | A: a paper | 20.0 % mean, 28.0 % p90, 2 rows (below 10 us 10.0 %, above 50 us 30.0 "
               "%) |  |"});
    const std::vector<ComparisonRow> units{timed("TPU v1 breakdown", 110, "%"),
                                           timed("TPU v1 TOPS", 130, "TOPS")};
    CHECK(rows_of(accuracy_table({{times("v1", "A", units)}, {}, {}})) ==
          Rows{"| v1 | A: a paper | breakdown 10.0 %, 1 row; TOPS 30.0 %, 1 row |  |"});
}

TEST_CASE("boards of one family share a row, and their rows one mean") {
    std::vector<Comparison> boards{
        times("Micro", "NVIDIA H100", {timed(kNotUsed, 110)}),
        times("Micro", "NVIDIA A100", {timed(kNotUsed, 105)}),
        times("Micro", "NVIDIA H200", {timed(kNotUsed, 130), timed(kNotUsed, 120)})};
    boards[0].bars = {at_most("one", 1, 2)};
    boards[2].bars = {at_most("two", 3, 2), at_most("three", 1, 2)};
    for (const std::size_t hopper : {0, 2}) boards[hopper].reference.family = "Hopper";
    boards[1].reference.family = "Ampere";
    CHECK(rows_of(accuracy_table({boards, {}, {}})) ==
          Rows{"| Micro | H100, H200: a paper | 20.0 % mean, 28.0 % p90, 3 rows | 2 of 3 |",
               "| Micro | A100: a paper | 5.0 %, 1 row |  |"});
    for (Comparison& board : boards) board.reference.family.clear();
    CHECK(rows_of(accuracy_table({boards, {}, {}})).size() == 3);
}

TEST_CASE("bits, captures, what is no silicon, and what is missing") {
    Comparison bits;
    bits.title = "GEMMs | all";
    bits.reference = {"capture", "h100", "NVIDIA H100", "2026-11-21", "driver 580.95", true, ""};
    ComparisonRow row{"a", "x"};
    row.bits = BitCount{99, 100};
    bits.rows = {row};
    bits.bars = {at_least("identical", 99, 100)};
    Comparison model = bits;
    model.reference.silicon = false;
    const std::string table = accuracy_table(
        {{bits, model}, {"not yet recorded: training", "failed: 3 records", "not yet recorded: orders"}, {}});
    CHECK(rows_of(table) ==
          Rows{"| GEMMs / all | H100: capture h100, 2026-11-21 | 99 of 100 identical in every bit | 0 of 1 |",
               "| GEMMs / all | NOT SILICON: H100: capture h100, 2026-11-21 | 99 of 100 identical in every "
               "bit | 0 of 1 |"});
    CHECK(sentences_of(table) == "\nNot yet recorded: training; orders.\n\nFailed: 3 records.\n");
}

TEST_CASE("rows that a run did not make stay where they were, and are named") {
    const AccuracyRun first{
        {times("Bits", "A", {timed("x", 110)}), times("Times", "B", {timed("x", 120)}),
         times("Steps", "C", {timed("x", 130)})},
        {"not yet recorded: training", "not yet recorded: orders", "incomplete: section `s`"},
        {"training", "orders"}};
    std::vector<std::string> kept;
    const std::string before = renewed_accuracy_table("", first, "README.md", &kept);
    CHECK(before == accuracy_table(first));
    CHECK(kept.empty());
    // Nothing new: nothing changes.
    CHECK(renewed_accuracy_table(before, first, "README.md", &kept) == before);
    CHECK(kept.empty());
    // One row again with another figure, one that is new, behind it; orders were recorded since.
    const AccuracyRun second{
        {times("Times", "B", {timed("x", 105)}), times("Orders", "D", {timed("x", 101)})}, {}, {"orders"}};
    const std::string after = renewed_accuracy_table(before, second, "README.md", &kept);
    CHECK(rows_of(after) ==
          Rows{"| Bits | A: a paper | 10.0 %, 1 row |  |", "| Times | B: a paper | 5.0 %, 1 row |  |",
               "| Orders | D: a paper | 1.0 %, 1 row |  |", "| Steps | C: a paper | 30.0 %, 1 row |  |"});
    CHECK(sentences_of(after) == "\nNot yet recorded: training.\n");
    CHECK(kept == Rows{"Bits: A: a paper", "Steps: C: a paper"});
    // Another version may explain its words otherwise.
    std::string explained = before;
    explained.replace(explained.find("Mean error"), 10, "Errors");
    CHECK(renewed_accuracy_table(explained, first, "README.md") == before);
    // What is still missing keeps its place.
    const AccuracyRun third{{}, {"not yet recorded: training"}, {"training"}};
    CHECK(sentences_of(renewed_accuracy_table(before, third, "README.md")) ==
          "\nNot yet recorded: training; orders.\n");
}

TEST_CASE("a table that another version wrote is one clear error, and not lost") {
    const AccuracyRun run{{times("Bits", "A", {timed("x", 110)})}, {}, {}};
    const std::string table = accuracy_table(run);
    std::string cut = table, added = table;
    cut.resize(cut.find("| Bits") + 8);
    added.insert(added.find("| Bits"), "| one | two |\n");
    for (const std::string& other :
         {std::string("| what | compared with | result |\n|---|---|---|\n"), cut, added})
        CHECK_THROWS_WITH(renewed_accuracy_table(other, run, "README.md"),
                          Catch::Contains("README.md") && Catch::Contains("validate all --readme README.md"));
}
