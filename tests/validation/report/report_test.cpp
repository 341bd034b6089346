#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "validation/report/html.h"
#include "validation/report/print.h"

using namespace heddle::validation;

namespace {

Comparison sample() {
    Comparison comparison;
    comparison.title = "GEMMs <bit for bit>";
    comparison.reference = {"capture",       "h100-2026", "NVIDIA H100", "2026-11-21",
                            "driver 580.95", true,        "h100-sxm"};
    ComparisonRow timed{"128x128x64 \"nt\"", "bf16"};
    timed.captured = 10;
    timed.simulated = 12.5;
    timed.unit = "us";
    timed.note = "a & b";
    ComparisonRow bits{"64x64x64", "fp16"};
    bits.bits = BitCount{4095, 4096};
    bits.largest_ulp = 3;
    comparison.rows = {timed, bits};
    comparison.bars = {at_least("elements identical", 100 * bits.bits->fraction(), 100),
                       at_most("mean error", 20, 25)};
    comparison.tables = {
        {"Kernels whose plan is not known", {{"kernel", "count"}, {"gemv", "3"}}, {false, true}}};
    comparison.histograms = {{"Distance in ULP", {{"0", 4095}, {"2-3", 1}}}};
    comparison.notes = {"A note."};
    comparison.missing = {"not yet recorded: fp8"};
    return comparison;
}

/// The first tag that is not closed as it was opened, or an empty text.
std::string first_unbalanced_tag(const std::string& html) {
    const std::vector<std::string> without_end{"meta", "br", "hr", "!DOCTYPE"};
    const std::regex tag("<(/?)([a-zA-Z!][a-zA-Z0-9]*)([^<>]*)>");
    std::vector<std::string> open;
    for (std::sregex_iterator it(html.begin(), html.end(), tag), end; it != end; ++it) {
        const std::string name = (*it)[2], rest = (*it)[3];
        if (std::find(without_end.begin(), without_end.end(), name) != without_end.end()) continue;
        if ((*it)[1] == "/") {
            if (open.empty() || open.back() != name) return "/" + name;
            open.pop_back();
        } else if (rest.empty() || rest.back() != '/') {
            open.push_back(name);
        }
    }
    return open.empty() ? "" : open.back();
}

}  // namespace

TEST_CASE("the table says with what it compares, what holds and what does not") {
    const std::string text = format_comparison(sample());
    CHECK_THAT(text, Catch::Contains("capture h100-2026 of NVIDIA H100, 2026-11-21, driver 580.95"));
    CHECK_THAT(text, Catch::Contains("simulated: h100-sxm"));
    CHECK_THAT(text, Catch::Contains("4,095 of 4,096"));
    CHECK_THAT(text, Catch::Contains("+25.0 %"));
    CHECK_THAT(text, Catch::Contains("DOES NOT HOLD"));
    CHECK_THAT(text, Catch::Contains("99.976"));
    CHECK_THAT(text, Catch::Contains("not yet recorded: fp8"));
    CHECK_THAT(text, !Catch::Contains("NOT SILICON"));
    CHECK_THAT(failure_of({sample()}),
               Catch::Contains("1 of 2 bars do not hold") && Catch::Contains("elements identical"));
}

TEST_CASE("a fraction that is almost all never prints as all") {
    Comparison comparison = sample();
    comparison.bars = {at_least("rows", 100.0 * 99999999 / 100000000, 100)};
    const std::string text = format_comparison(comparison);
    CHECK_THAT(text, Catch::Contains("99.99999") && Catch::Contains("DOES NOT HOLD"));
}

TEST_CASE("every page about a simulator's capture says so") {
    Comparison comparison = sample();
    comparison.reference.silicon = false;
    CHECK_THAT(format_comparison(comparison), Catch::Contains("NOT SILICON"));
    CHECK_THAT(comparisons_html("x", {comparison}, {}), Catch::Contains("NOT SILICON"));
    CHECK_THAT(comparisons_html("x", {sample()}, {}), !Catch::Contains("NOT SILICON"));
}

TEST_CASE("the JSON has every row, and the same bytes every time") {
    const std::string text = comparisons_json({sample()}, {"not yet recorded: timing"});
    CHECK(text == comparisons_json({sample()}, {"not yet recorded: timing"}));
    const auto json = nlohmann::json::parse(text);
    CHECK(json["schema"] == 1);
    CHECK(json["holds"] == false);
    CHECK(json["missing"][0] == "not yet recorded: timing");
    const auto& comparison = json["comparisons"][0];
    CHECK(comparison["reference"]["driver"] == "driver 580.95");
    CHECK(comparison["reference"]["silicon"] == true);
    CHECK(comparison["rows"].size() == 2);
    CHECK(comparison["rows"][0]["error"].get<double>() == Approx(0.25));
    CHECK(comparison["rows"][1]["bits"]["identical"] == 4095);
    CHECK(comparison["bars"][0]["holds"] == false);
    CHECK(comparison["bars"][1]["holds"] == true);
    CHECK(comparison["categories"].size() == 3);
    CHECK(comparison["categories"][0]["mape"].get<double>() == Approx(0.25));
}

TEST_CASE("the HTML is one file, well-formed, with every name escaped") {
    const std::string html =
        comparisons_html("Heddle & silicon", {sample(), sample()}, {"not yet recorded: timing"});
    CHECK(first_unbalanced_tag(html).empty());
    CHECK_THAT(html, Catch::Contains("GEMMs &lt;bit for bit&gt;") && Catch::Contains("a &amp; b") &&
                         Catch::Contains("128x128x64 &quot;nt&quot;"));
    CHECK_THAT(html,
               !Catch::Contains("<script") && !Catch::Contains("http://") && !Catch::Contains("https://"));
    CHECK_THAT(html, Catch::Contains("Heddle &amp; silicon") && Catch::Contains("not yet recorded: timing"));
    CHECK_THAT(html, Catch::Contains("prefers-color-scheme: dark"));
    // One point and one bar in the scatter chart and the histogram of errors.
    CHECK_THAT(html, Catch::Contains("<circle") && Catch::Contains("+20 to +30 %: 1"));
}

TEST_CASE("a comparison without rows is a page too") {
    Comparison empty;
    empty.title = "nothing";
    CHECK(first_unbalanced_tag(comparisons_html("x", {empty}, {})).empty());
    CHECK_THAT(format_comparison(empty), Catch::StartsWith("nothing\n"));
    CHECK(nlohmann::json::parse(comparisons_json({}, {}))["holds"] == true);
}
