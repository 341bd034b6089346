#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "validation/report/html.h"
#include "validation/report/print.h"
#include "validation/report/scatter.h"

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

/// Without what stands in <script> elements.
std::string without_scripts(std::string html) {
    for (std::size_t begin; (begin = html.find("<script")) != std::string::npos;) {
        const std::size_t end = html.find("</script>", begin);
        html.erase(begin, end == std::string::npos ? end : end + 9 - begin);
    }
    return html;
}

/// The page, made where there is no Chart.js.
std::string page(const std::string& title, const std::vector<Comparison>& comparisons,
                 const std::vector<std::string>& missing) {
    setenv("HEDDLE_CHART_JS", "none", 1);
    return comparisons_html(title, comparisons, missing);
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
    CHECK_THAT(failure_of({sample()}, {}),
               Catch::Contains("1 of 2 bars do not hold") && Catch::Contains("elements identical"));
}

TEST_CASE("a comparison of nothing does not hold, and says why") {
    CHECK(failure_of({}, {"not yet recorded: GEMMs", "not here: vectors"}) ==
          "nothing was compared: not yet recorded: GEMMs");
    // Rows that were left out are nothing compared; what the comparison itself says of it goes first.
    Comparison comparison = sample();
    comparison.bars.clear();
    for (ComparisonRow& row : comparison.rows) {
        row.simulated.reset();
        row.bits.reset();
    }
    CHECK(failure_of({comparison}, {"not here: vectors"}) == "nothing was compared: not yet recorded: fp8");
    const auto json = nlohmann::json::parse(comparisons_json({comparison}, {}));
    CHECK(json["holds"] == false);
    CHECK_THAT(page("title", {comparison}, {}), Catch::Contains("nothing was compared"));
    // One row is enough, and no bar need be there.
    comparison.rows[1].bits = BitCount{7, 8};
    CHECK(failure_of({comparison}, {}).empty());
    comparison.rows[1].bits = BitCount{0, 0};
    comparison.rows[0].simulated = 12.5;
    CHECK(failure_of({comparison}, {}).empty());
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
    const std::string html = page("Heddle & silicon", {sample(), sample()}, {"not yet recorded: timing"});
    CHECK(first_unbalanced_tag(without_scripts(html)).empty());
    CHECK_THAT(html, Catch::Contains("GEMMs &lt;bit for bit&gt;") && Catch::Contains("a &amp; b") &&
                         Catch::Contains("128x128x64 &quot;nt&quot;"));
    CHECK_THAT(html, !Catch::Contains("src=") && !Catch::Contains("http://") && !Catch::Contains("https://"));
    CHECK_THAT(html, Catch::Contains("Heddle &amp; silicon") && Catch::Contains("not yet recorded: timing"));
    CHECK_THAT(html, Catch::Contains("prefers-color-scheme: dark"));
    // One point and one bar in the scatter chart and the histogram of errors, also without a script.
    CHECK_THAT(without_scripts(html), Catch::Contains("<circle") && Catch::Contains("+20 to +30 %"));
    // All ids differ, though comparisons may have the same title.
    for (const char* id : {"chart-comparison-1-scatter-1", "chart-comparison-2-scatter-1",
                           "chart-comparison-1-histogram", "table-comparison-2-rows", "comparison-1"}) {
        CAPTURE(id);
        const std::string attribute = "id=\"" + std::string(id) + "\"";
        CHECK(html.find(attribute) != std::string::npos);
        CHECK(html.find(attribute) == html.rfind(attribute));
    }
}

TEST_CASE("charts of a comparison: a point for each row with both figures, the diagonal, errors by size") {
    std::vector<ComparisonRow> rows;
    for (const double captured : {1.0, 10.0, 100.0}) {
        ComparisonRow row{"row", "a"};
        row.captured = captured;
        row.simulated = 1.1 * captured;
        row.unit = "us";
        rows.push_back(row);
    }
    rows.push_back({"without figures", "a"});
    rows.push_back({"other unit", "b"});
    rows.back().captured = 2;
    rows.back().simulated = 1;
    rows.back().unit = "GB/s";
    const std::vector<heddle::sim::Chart> scatter = scatter_charts(rows, "x"),
                                          errors = error_charts(rows, "x");
    REQUIRE(scatter.size() == 2);
    REQUIRE(errors.size() == 2);
    CHECK(scatter[0].series.at(0).y.size() == 3);
    CHECK(scatter[0].series.back().x == std::vector<double>{1, 100});
    CHECK(scatter[0].series.back().y == std::vector<double>{1, 100});
    for (const double error : errors[0].series.at(0).y) CHECK(error == Approx(0.1));
    CHECK(errors[1].series.at(0).y.at(0) == Approx(-0.5));
    const heddle::sim::Chart histogram = error_histogram(rows, "x");
    double counted = 0;
    for (const double count : histogram.series.at(0).y) counted += count;
    CHECK(counted == 4);
    // Rows in per cent: an axis of fractions, which is written in per cent again.
    rows.resize(1);
    rows[0].captured = 12.5;
    rows[0].simulated = 25;
    rows[0].unit = "%";
    CHECK(scatter_charts(rows, "x")[0].series.at(0).x == std::vector<double>{0.125});
    CHECK(scatter_charts(rows, "x")[0].series.at(0).y == std::vector<double>{0.25});
    CHECK(error_charts(rows, "x")[0].series.at(0).x == std::vector<double>{0.125});
    CHECK(error_charts(rows, "x")[0].series.at(0).y == std::vector<double>{1});
}

TEST_CASE("a comparison without rows is a page too") {
    Comparison empty;
    empty.title = "nothing";
    CHECK(first_unbalanced_tag(without_scripts(page("x", {empty}, {}))).empty());
    CHECK_THAT(format_comparison(empty), Catch::StartsWith("nothing\n"));
    CHECK(nlohmann::json::parse(comparisons_json({}, {}))["holds"] == false);
}
