#include "validation/report/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "validation/report/words.h"

namespace heddle::validation {
namespace {

using sim::Chart;
using sim::ChartSeries;

struct UnitGroup {
    std::string unit;
    std::vector<const ComparisonRow*> rows;

    /// Rows say 12.5 %, the axes of charts 0.125.
    double scale() const { return unit == "%" ? 0.01 : 1; }
};

std::vector<UnitGroup> groups_by_unit(const std::vector<ComparisonRow>& rows) {
    std::vector<UnitGroup> groups;
    for (const ComparisonRow& row : rows) {
        if (!relative_error(row)) continue;
        auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const UnitGroup& known) { return known.unit == row.unit; });
        if (group == groups.end()) group = groups.insert(groups.end(), UnitGroup{row.unit, {}});
        group->rows.push_back(&row);
    }
    return groups;
}

/// A series for each category, in the order of first appearance; `y` of a row.
template <class Value>
std::vector<ChartSeries> by_category(const UnitGroup& group, const Value& y) {
    std::vector<ChartSeries> series;
    for (const ComparisonRow* row : group.rows) {
        const std::string name = row->category.empty() ? "rows" : row->category;
        auto own =
            std::find_if(series.begin(), series.end(), [&](const ChartSeries& s) { return s.name == name; });
        if (own == series.end()) own = series.insert(series.end(), ChartSeries{name, {}});
        own->x.push_back(group.scale() * *row->captured);
        own->y.push_back(y(*row));
        own->points.push_back(row->name);
    }
    return series;
}

ChartSeries guide(const std::string& name, std::vector<double> x, std::vector<double> y) {
    ChartSeries series{name, std::move(y), std::move(x)};
    series.line = series.faint = true;
    return series;
}

std::pair<double, double> captured_range(const UnitGroup& group) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const ComparisonRow* row : group.rows) {
        low = std::min(low, *row->captured);
        high = std::max(high, *row->captured);
    }
    return {group.scale() * low, group.scale() * high};
}

std::string of_unit(const char* what, const UnitGroup& group) {
    return group.unit.empty() ? what : std::string(what) + ", " + group.unit;
}

}  // namespace

std::vector<Chart> scatter_charts(const std::vector<ComparisonRow>& rows, const std::string& prefix) {
    std::vector<Chart> charts;
    for (const UnitGroup& group : groups_by_unit(rows)) {
        Chart chart;
        chart.kind = Chart::Kind::plot;
        chart.id = fmt::format("{}-scatter-{}", prefix, charts.size() + 1);
        chart.title = of_unit("Simulated over captured", group);
        chart.reading = "On the line both are equal; above it the simulation is too slow or too high.";
        chart.x = {"captured", group.unit, true};
        chart.y = {"simulated", group.unit, true};
        chart.series =
            by_category(group, [&](const ComparisonRow& row) { return group.scale() * *row.simulated; });
        const auto [low, high] = captured_range(group);
        chart.series.push_back(guide("equal", {low, high}, {low, high}));
        charts.push_back(std::move(chart));
    }
    return charts;
}

std::vector<Chart> error_charts(const std::vector<ComparisonRow>& rows, const std::string& prefix) {
    std::vector<Chart> charts;
    for (const UnitGroup& group : groups_by_unit(rows)) {
        Chart chart;
        chart.kind = Chart::Kind::plot;
        chart.id = fmt::format("{}-error-{}", prefix, charts.size() + 1);
        chart.title = of_unit("Error by size", group);
        chart.reading =
            "A slope or a step shows a mechanism that is missing at one end; an even cloud is noise.";
        chart.x = {"captured", group.unit, true};
        chart.y = {"simulated / captured - 1", "%"};
        chart.series =
            by_category(group, [](const ComparisonRow& row) { return *row.simulated / *row.captured - 1; });
        const auto [low, high] = captured_range(group);
        chart.series.push_back(guide("no error", {low, high}, {0, 0}));
        charts.push_back(std::move(chart));
    }
    return charts;
}

Chart error_histogram(const std::vector<ComparisonRow>& rows, const std::string& prefix) {
    constexpr std::array kEdges{-50.0, -30.0, -20.0, -10.0, -5.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0};
    std::array<std::size_t, kEdges.size() + 1> counts{};
    std::size_t all = 0;
    for (const ComparisonRow& row : rows) {
        if (!relative_error(row)) continue;
        const double error = 100 * (*row.simulated / *row.captured - 1);
        ++counts[static_cast<std::size_t>(std::upper_bound(kEdges.begin(), kEdges.end(), error) -
                                          kEdges.begin())];
        ++all;
    }
    Chart chart;
    chart.id = prefix + "-histogram";
    chart.title = "How far off";
    chart.reading = "Rows by difference of simulated from captured.";
    chart.x = {"rows", "count"};
    chart.y.name = "difference";
    if (all == 0) return chart;
    ChartSeries series{"rows", {}};
    for (std::size_t i = 0; i < counts.size(); ++i) {
        chart.labels.push_back(i == 0 ? fmt::format("below {:+.0f} %", kEdges.front())
                               : i == kEdges.size()
                                   ? fmt::format("{:+.0f} % and more", kEdges.back())
                                   : fmt::format("{:+.0f} to {:+.0f} %", kEdges[i - 1], kEdges[i]));
        series.y.push_back(static_cast<double>(counts[i]));
    }
    chart.series = {series};
    return chart;
}

}  // namespace heddle::validation
