// The figures that people see, worked out by hand from the sample.
#include "sim/report/table.h"

#include <catch2/catch.hpp>
#include <limits>

#include "sample_result.h"
#include "sim/report/kind_summary.h"
#include "sim/report/numbers.h"
#include "sim/report/text_table.h"

using namespace heddle::sim;

namespace {

/// The line that begins with `start`, its runs of spaces made one.
std::string line_of(const std::string& text, const std::string& start) {
    const std::size_t begin = text.find("\n" + start);
    if (begin == std::string::npos) return "no such line";
    std::string line;
    for (const char c : text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1)) {
        if (c != ' ' || line.empty() || line.back() != ' ') line += c;
    }
    return line;
}

}  // namespace

TEST_CASE("numbers carry three digits and a prefix") {
    CHECK(format_si(9.894e14, "FLOP/s") == "989 TFLOP/s");
    CHECK(format_si(3.35e12, "B/s") == "3.35 TB/s");
    CHECK(format_si(12.345e9, "B") == "12.3 GB");
    CHECK(format_si(999.7, "B") == "1.00 kB");
    CHECK(format_si(0, "B") == "0 B");
    CHECK(format_si(0.00213, "J") == "2.13 mJ");
    CHECK(format_si(100e-12, "J") == "100 pJ");
    CHECK(format_microseconds(0.8123) == "812 ns");
    CHECK(format_microseconds(41.26) == "41.3 us");
    CHECK(format_microseconds(25074) == "25.1 ms");
    CHECK(format_microseconds(3.2e6) == "3.20 s");
    CHECK(format_microseconds(999.9) == "1.00 ms");
    CHECK(format_microseconds(0) == "0 us");
    CHECK(format_share(0.931) == "93.1 %");
    CHECK(format_difference(102.8, 100) == "+2.8 %");
    CHECK(format_difference(50, 100) == "-50.0 %");
    CHECK(format_difference(1, 0).empty());
    CHECK(format_count(0) == "0");
    CHECK(format_count(999) == "999");
    CHECK(format_count(1000) == "1,000");
    CHECK(format_count(1234567890) == "1,234,567,890");
}

TEST_CASE("shares are of the step, or of all ops where these ran side by side for longer") {
    RunResult result;
    result.step_time_us = 100;
    OpSummary op;
    op.kind = op.name = "kernel";
    op.count = 2;
    op.time_us = 80;
    result.ops = {op};
    CHECK(base_of_shares(result) == 100);
    CHECK(line_of("\n" + format_report(result), "kernel").find("80.0 %") != std::string::npos);
    op.name = op.kind = "copy";
    op.time_us = 120;
    result.ops.push_back(op);
    CHECK(base_of_shares(result) == 200);
    const std::string text = format_report(result);
    CHECK(text.find("share of ops") != std::string::npos);
    CHECK(line_of("\n" + text, "kernel").find("40.0 %") != std::string::npos);
    CHECK(line_of("\n" + text, "copy").find("60.0 %") != std::string::npos);
}

TEST_CASE("ops add up by kind") {
    const std::vector<KindSummary> kinds = summarise_by_kind(sample_result());
    REQUIRE(kinds.size() == 3);
    CHECK(kinds[0].kind == "matmul");
    CHECK(kinds[0].count == 3);
    CHECK(kinds[0].time_us == 150);
    CHECK(kinds[0].measured_us == 150.0);
    CHECK(kinds[0].flops == 274877906944.0 + 33554432.0);
    CHECK(kinds[0].bound_by == "tensor");  // 100 us of 150
    CHECK(kinds[1].kind == "elementwise");
    CHECK_FALSE(kinds[1].measured_us.has_value());
    CHECK(kinds[1].estimated_us == 30);
    CHECK(kinds[2].kind == "collective");
    CHECK(kinds[2].unknown_us == 20);
}

TEST_CASE("a kind counts as measured only when all of it was") {
    RunResult result = sample_result();
    result.ops[1].measured_us.reset();
    CHECK_FALSE(summarise_by_kind(result)[0].measured_us.has_value());
}

TEST_CASE("the table shows rates, shares and the measured time") {
    const std::string text = format_report(sample_result());
    CHECK_THAT(text, Catch::StartsWith("mlp on h100-sxm: 132 SMs at 1980 MHz\n"));
    CHECK(line_of(text, "step time") ==
          "step time 200 us = device busy 170 us + gaps between kernels 10.0 us + communication 20.0 us");
    // 274.9 GFLOP in 150 us is 1.83 PFLOP/s; 0.3 GB in 150 us is 2 TB/s; 150 us of 200 us are 75 %.
    CHECK(line_of(text, "matmul ") ==
          "matmul 3 150 us 150 us +0.0 % 16.0 % 75.0 % 1.83 PFLOP/s 2.00 TB/s tensor cycle");
    CHECK(line_of(text, "elementwise") ==
          "elementwise 3 30.0 us - - - 15.0 % - 2.00 TB/s dram bandwidth estimated");
    CHECK(line_of(text, "measured kernels") ==
          "measured kernels without communication 150 us, of which 100.0 % were simulated: there the simulation "
          "differs by +0.0 %");
    CHECK(line_of(text, "recorded kernels") ==
          "recorded kernels one by one, weighted with their time: mean error 16.0 %");
    CHECK(line_of(text, "matmul 4096") ==
          "matmul 4096x4096x4096 bf16 forward 2 100 us 90.0 us +11.1 % 50.0 % tensor");
    CHECK(line_of(text, "utilisation") == "utilisation: dram 30.0 %, tensor 61.0 %");
    CHECK(line_of(text, "coverage") ==
          "coverage of the time: 75.0 % cycle by cycle, 25.0 % estimated, 0.0 % unknown");
    CHECK_THAT(text, Catch::Contains("note: labels are drawn from a uniform distribution\n"));
}

TEST_CASE("without measurements there are no empty columns") {
    RunResult result = sample_result();
    for (OpSummary& op : result.ops) op.measured_us.reset();
    result.measured_total_us.reset();
    const std::string text = format_report(result);
    CHECK_THAT(text, !Catch::Contains("measured") && !Catch::Contains("difference"));
}

TEST_CASE("columns are as wide as their widest cell, counted in characters") {
    CHECK(align_columns({{"a", "b"}, {"\u00b5\u00b5\u00b5", "10"}, {"x", "5"}}, {false, true}) ==
          "a     b\n\u00b5\u00b5\u00b5  10\nx     5\n");
}

TEST_CASE("tables fit the width: text is shortened, numbers never") {
    const std::vector<std::vector<std::string>> rows{
        {"op", "phase of the step", "time", "share"},
        {"matmul 4096x4096x4096 bf16 with a long name", "forward", "123 us", "61.5 %"},
        {"\u00b5-kernel", "backward", "7.00 us", "3.5 %"}};
    const std::vector<bool> right{false, false, true, true};
    const auto widest = [](const std::string& text) {
        std::size_t most = 0, column = 0;
        for (const char c : text) {
            if (c == '\n') {
                column = 0;
            } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
                most = std::max(most, ++column);
            }
        }
        return most;
    };
    CHECK(fit_columns(rows, right, 0) == align_columns(rows, right));
    CHECK(fit_columns(rows, right, 200) == align_columns(rows, right));
    for (const std::size_t width : {70, 60, 50, 40, 30}) {
        CAPTURE(width);
        const std::string text = fit_columns(rows, right, width);
        CHECK(widest(text) <= width);
        for (const char* number : {"123 us", "61.5 %", "7.00 us", "3.5 %"})
            CHECK_THAT(text, Catch::Contains(number));
        CHECK_THAT(text, Catch::Contains("matmul 4") && Catch::Contains("\u2026"));
    }
    // Two tables, each with the first column.
    const std::string split = fit_columns(rows, right, 36);
    CHECK_THAT(split, Catch::Contains("\n\n"));
    const std::size_t second = split.find("\n\n");
    CHECK(split.find("matmul", second) != std::string::npos);
    // Numbers alone may be wider than the screen.
    CHECK(fit_columns({{"a", "1234567890"}}, {false, true}, 5) == "a  1234567890\n");
    const std::string report = format_report(sample_result(), 60);
    CHECK(widest(report) <= 60);
    CHECK_THAT(report, Catch::Contains("1.83 PFLOP/s") && Catch::Contains("2.00 TB/s"));
}

TEST_CASE("lines are broken at spaces, and what follows stands further to the right") {
    CHECK(wrap_lines("one two three\nfour\n", 0) == "one two three\nfour\n");
    CHECK(wrap_lines("one two three four\n", 13) == "one two three\n    four\n");
    CHECK(wrap_lines("  rates: a b c d e\n", 12) == "  rates: a b\n      c d e\n");
    CHECK(wrap_lines("one abcdefghijklmnop\n\nx\n", 10) == "one\n    abcdefghijklmnop\n\nx\n");
}

TEST_CASE("the line about the simulation counts what it did") {
    CHECK(format_simulation(sample_result()) ==
          "simulated 2 distinct kernels, 2,469,134 warp instructions in 1.5 s with 4 workers");
}

TEST_CASE("numerics are shown by step, the middle of many left out") {
    RunResult result = sample_result();
    result.numerics.emplace();
    result.numerics->device_loss = {2.5, 1.5};
    result.numerics->reference_loss = {2.25, 1.5};
    CHECK(line_of(format_report(result), "   1") == " 1 2.5 2.25 +2.50e-01");
    for (int i = 0; i < 98; ++i) {
        result.numerics->device_loss.push_back(1);
        result.numerics->reference_loss.push_back(1);
    }
    const std::string text = format_report(result);
    CHECK(line_of(text, "  11 ") == " 11 1 1 +0.00e+00");
    CHECK(line_of(text, "  12 ") == "no such line");
    CHECK(line_of(text, " 100 ") == " 100 1 1 +0.00e+00");
}

TEST_CASE("values out of bounds, and those that are no numbers, fail") {
    NumericsResult numerics;
    numerics.loss_error = 1e-6, numerics.loss_error_bound = 1e-5;
    numerics.weight_error = 1e-6, numerics.weight_error_bound = 1e-6;
    numerics.worst_parameter = "layer0.weight";
    CHECK(numerics_failure(numerics).empty());
    numerics.weight_error = 2e-6;
    CHECK_THAT(numerics_failure(numerics), Catch::StartsWith("layer0.weight differs"));
    numerics.loss_error = std::numeric_limits<double>::quiet_NaN();
    CHECK_THAT(numerics_failure(numerics), Catch::StartsWith("the loss differs"));
}
