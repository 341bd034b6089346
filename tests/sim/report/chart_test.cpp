// Charts as data, as pictures and as tables.
#include "sim/report/chart.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "sim/report/data_table.h"
#include "sim/report/numbers.h"
#include "sim/report/stall_charts.h"

namespace heddle::sim {
namespace {

/// All values of an attribute of an element.
std::vector<double> attributes(const std::string& svg, const std::string& element,
                               const std::string& attribute) {
    std::vector<double> values;
    const std::regex pattern("<" + element + "[^>]* " + attribute + "=\"([-0-9.]+)\"");
    for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at)
        values.push_back(std::stod((*at)[1]));
    return values;
}

nlohmann::json data_of(const std::string& html) {
    const std::string begin = "<script type=\"application/json\">";
    const std::size_t from = html.find(begin) + begin.size();
    return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

Chart two_bars() {
    Chart chart;
    chart.id = "b";
    chart.title = "Bars";
    chart.x = {"time", "us"};
    chart.y.name = "op";
    chart.labels = {"long", "short"};
    chart.series = {{"a", {300, 100}}, {"b", {150, std::nan("")}}};
    return chart;
}

}  // namespace

TEST_CASE("values are written by the name of their unit") {
    CHECK(format_value(41.26, "us") == "41.3 us");
    CHECK(format_value(0.931, "%") == "93.1 %");
    CHECK(format_value(536870912, "iB") == "512 MiB");
    CHECK(format_value(1234567, "count") == "1,234,567");
    CHECK(format_value(0.25, "") == "0.25");
    CHECK(format_value(9.89e14, "FLOP/s") == "989 TFLOP/s");
    CHECK(format_value(1234.4, "mm2") == "1234 mm2");
    CHECK(format_value(std::nan(""), "us").empty());
}

TEST_CASE("bars are as long as their values") {
    Chart chart = two_bars();
    std::vector<double> widths = attributes(chart_svg(chart), "rect", "width");
    REQUIRE(widths.size() == 4);
    CHECK(widths[0] / widths[2] == Approx(3).epsilon(1e-3));
    CHECK(widths[0] / widths[1] == Approx(2).epsilon(1e-3));
    CHECK(widths[3] == 0);
    // After each other: the second begins where the first ends.
    chart.stacked = true;
    const std::string svg = chart_svg(chart);
    const std::vector<double> x = attributes(svg, "rect", "x");
    widths = attributes(svg, "rect", "width");
    CHECK(x[1] == Approx(x[0] + widths[0]).margin(0.02));
    // Negative ones go to the left of the others' beginning.
    chart.stacked = false;
    chart.series = {{"change", {-50, 100}}};
    const std::string change = chart_svg(chart);
    const std::vector<double> starts = attributes(change, "rect", "x");
    CHECK(starts[0] + attributes(change, "rect", "width")[0] == Approx(starts[1]).margin(0.02));
}

TEST_CASE("on a logarithmic axis equal factors are equal distances") {
    Chart chart;
    chart.kind = Chart::Kind::plot;
    chart.id = "p";
    chart.x = {"x", "", true};
    chart.y = {"y", "", true};
    chart.series = {{"points", {1, 10, 100, 0}, {2, 20, 200, 5}}};
    const std::string svg = chart_svg(chart);
    const std::vector<double> x = attributes(svg, "circle", "cx"), y = attributes(svg, "circle", "cy");
    REQUIRE(x.size() == 3);  // zero has no place
    CHECK(x[1] - x[0] == Approx(x[2] - x[1]).margin(0.11));
    CHECK(y[0] - y[1] == Approx(y[1] - y[2]).margin(0.11));
    CHECK(x[1] > x[0]);
    CHECK(y[1] < y[0]);
}

TEST_CASE("a chart's table has every number, unrounded") {
    const auto bars = chart_rows(two_bars());
    CHECK(bars == std::vector<std::vector<std::string>>{
                      {"op", "a, us", "b, us"}, {"long", "300", "150"}, {"short", "100", ""}});
    Chart areas;
    areas.kind = Chart::Kind::areas;
    areas.x = {"time", "us"};
    areas.y = {"held", "iB"};
    areas.series = {{"weights", {1, 2}, {0, 0.1}}, {"activations", {3, 4}, {0, 0.1}}};
    CHECK(chart_rows(areas) ==
          std::vector<std::vector<std::string>>{
              {"time, us", "weights, iB", "activations, iB"}, {"0", "1", "3"}, {"0.1", "2", "4"}});
    Chart plot;
    plot.kind = Chart::Kind::plot;
    plot.x = {"x"};
    plot.y = {"y", "%"};
    plot.series = {{"s", {1.0 / 3}, {2}, {"name"}}};
    CHECK(chart_rows(plot) ==
          std::vector<std::vector<std::string>>{{"series", "point", "x", "y, fraction"},
                                                {"s", "name", "2", "0.3333333333333333"}});
}

TEST_CASE("the page's script gets what the picture shows") {
    const nlohmann::json data = data_of(chart_html(two_bars()));
    CHECK(data["labels"] == nlohmann::json{"long", "short"});
    CHECK(data["series"][0]["y"] == nlohmann::json{300, 100});
    CHECK(data["series"][1]["y"][1].is_null());
    CHECK(data["x"]["unit"] == "us");
    Chart nothing = two_bars();
    nothing.series.clear();
    CHECK(chart_html(nothing).empty());
}

TEST_CASE("stacked parts add up whatever is named and whatever is `other`") {
    std::vector<PartsRow> rows{{"first", {}}, {"second", {}}};
    for (int part = 0; part < 20; ++part) {
        rows[0].parts["part " + std::to_string(part)] = part;
        rows[1].parts["part " + std::to_string(part)] = 1;
    }
    Chart chart;
    add_stacked(chart, rows);
    REQUIRE(chart.series.size() == static_cast<std::size_t>(kPaletteSize));
    CHECK(chart.series.front().name == "part 19");
    CHECK(chart.series.back().name == "other");
    double first = 0, second = 0;
    for (const ChartSeries& series : chart.series) {
        first += series.y[0];
        second += series.y[1];
    }
    CHECK(first == Approx(190));  // 0 + 1 + ... + 19
    CHECK(second == Approx(20));
}

TEST_CASE("a long table stands in the page whole, its beginning without the script") {
    DataTable table{"t", "Table", {{"name"}, {"time", "us"}, {"size", ""}}, {}};
    for (int i = 0; i < 10000; ++i)
        table.rows.push_back(
            {"op " + std::to_string(i), 1000.0 + i, ShownNumber{i * 1024.0, std::to_string(i) + " KiB"}});
    table.rows[3][1] = std::nan("");
    const std::string html = data_table_html(table);
    std::size_t rows = 0;
    for (std::size_t at = html.find("<tr><td"); at != std::string::npos; at = html.find("<tr><td", at + 1))
        ++rows;
    CHECK(rows == kRowsWithoutScript);
    CHECK_THAT(html, Catch::Contains("The first 100 of 10000."));
    const nlohmann::json data = data_of(html);
    REQUIRE(data["rows"].size() == 10000);
    CHECK(data["rows"][9999] == nlohmann::json{"op 9999", 10999, {9999 * 1024, "9999 KiB"}});
    CHECK(data["rows"][3][1].is_null());
    CHECK(html.size() < 700'000);
}

}  // namespace heddle::sim
