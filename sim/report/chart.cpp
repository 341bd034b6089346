#include "sim/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/data_table.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownRows = 60;

/// Every digit that two different numbers need.
std::string exact(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string heading(const ChartAxis& axis) {
    return axis.unit.empty() ? axis.name : axis.name + ", " + (axis.unit == "%" ? "fraction" : axis.unit);
}

double value_at(const std::vector<double>& values, std::size_t i) {
    return i < values.size() ? values[i] : std::nan("");
}

Json numbers(const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
    return list;
}

Json axis_json(const ChartAxis& axis) {
    return Json{
        {"name", axis.name}, {"unit", axis.unit}, {"log", axis.logarithmic}, {"zero", axis.from_zero}};
}

Json chart_json(const Chart& chart) {
    Json json{{"kind", chart.kind == Chart::Kind::bars    ? "bars"
                       : chart.kind == Chart::Kind::areas ? "areas"
                                                          : "plot"},
              {"title", chart.title},
              {"x", axis_json(chart.x)},
              {"y", axis_json(chart.y)},
              {"stacked", chart.stacked},
              {"full", chart.full}};
    if (chart.kind == Chart::Kind::bars) json["labels"] = chart.labels;
    if (!chart.texts.empty()) json["texts"] = chart.texts;
    json["series"] = Json::array();
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
        const ChartSeries& series = chart.series[s];
        Json one{{"name", series.name}, {"y", numbers(series.y)}};
        if (!series.x.empty()) one["x"] = numbers(series.x);
        if (!series.points.empty()) one["points"] = series.points;
        one["line"] = series.line;
        one["colour"] = colour_of(chart, s);
        one["faint"] = series.faint;
        json["series"].push_back(std::move(one));
    }
    return json;
}

std::string data_html(const Chart& chart) {
    const auto rows = chart_rows(chart);
    const bool plot = chart.kind == Chart::Kind::plot;
    std::vector<bool> right(rows.front().size(), true);
    right[0] = chart.kind == Chart::Kind::areas;
    if (plot) right[1] = false;
    HtmlTable table(rows.front(), right);
    for (std::size_t i = 1; i < rows.size() && i <= kShownRows; ++i) table.row(rows[i]);
    std::string html = "<details><summary>Data</summary>\n";
    if (rows.size() > kShownRows + 1)
        html += fmt::format("<p class=\"faint\">The first {} of {} rows; the CSV file has all.</p>\n",
                            kShownRows, rows.size() - 1);
    return html + table.html() + "</details>\n";
}

std::string legend_of(const Chart& chart) {
    if (chart.series.size() < 2) return {};
    std::string text = "<p class=\"legend\">";
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
        const ChartSeries& series = chart.series[s];
        text += fmt::format("<span><i class=\"{}\"></i>{}</span> ",
                            series.faint ? "cf" : "c" + std::to_string(colour_of(chart, s)),
                            escape_html(series.name));
    }
    return text + "</p>\n";
}

}  // namespace

std::vector<std::vector<std::string>> chart_rows(const Chart& chart) {
    std::vector<std::vector<std::string>> rows;
    if (chart.kind == Chart::Kind::plot) {
        rows.push_back({"series", "point", heading(chart.x), heading(chart.y)});
        for (const ChartSeries& series : chart.series)
            for (std::size_t i = 0; i < series.y.size(); ++i)
                rows.push_back({series.name, i < series.points.size() ? series.points[i] : "",
                                exact(value_at(series.x, i)), exact(series.y[i])});
        return rows;
    }
    const bool bars = chart.kind == Chart::Kind::bars;
    const ChartAxis& values = bars ? chart.x : chart.y;
    rows.push_back({bars ? chart.y.name : heading(chart.x)});
    for (const ChartSeries& series : chart.series)
        rows[0].push_back(heading({series.name.empty() ? values.name : series.name, values.unit}));
    const std::size_t count =
        bars ? chart.labels.size() : (chart.series.empty() ? 0 : chart.series.front().x.size());
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back({bars ? chart.labels[i] : exact(chart.series.front().x[i])});
        for (const ChartSeries& series : chart.series) rows.back().push_back(exact(value_at(series.y, i)));
    }
    return rows;
}

int colour_of(const Chart& chart, std::size_t series) {
    const int chosen = chart.series[series].colour;
    return chosen < 0 ? static_cast<int>(series) % kPaletteSize : chosen;
}

std::string legend(const std::vector<std::string>& names) {
    std::string text = "<p class=\"legend\">";
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += fmt::format("<span><i class=\"c{}\"></i>{}</span> ", i % kPaletteSize, escape_html(names[i]));
    }
    return text + "</p>\n";
}

std::string chart_html(const Chart& chart) {
    const std::string picture = chart_svg(chart);
    if (picture.empty()) return {};
    return fmt::format(
        "<figure class=\"chart\" id=\"chart-{}\">\n<figcaption><h3>{}</h3><p "
        "class=\"faint\">{}</p></figcaption>\n"
        "<div class=\"plot\">{}</div>\n{}{}<script type=\"application/json\">{}</script>\n</figure>\n",
        chart.id, escape_html(chart.title), escape_html(chart.reading), picture, legend_of(chart),
        data_html(chart), json_for_script(chart_json(chart)));
}

}  // namespace heddle::sim
