#include "sim/report/exploration_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/exploration_page.h"
#include "sim/report/numbers.h"
#include "sim/report/stall_charts.h"

namespace heddle::sim {
namespace {

using explore::Exploration;
using explore::Point;
using explore::PointStatus;

constexpr std::size_t kClasses = 6;

ChartAxis axis_of(const explore::Objective& objective) {
    return {objective.name, objective.unit};
}

bool differs(const Point& point, const Point& base, std::size_t axis) {
    return axis < point.shown.size() && axis < base.shown.size() && point.shown[axis] != base.shown[axis];
}

std::size_t differences(const Point& point, const Point& base) {
    std::size_t count = 0;
    for (std::size_t a = 0; a < point.shown.size(); ++a) count += differs(point, base, a);
    return count;
}

/// Part of the variance of `y` that classes of `x` explain.
double correlation_ratio(const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<std::size_t> order(x.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
    std::vector<double> distinct;
    for (const std::size_t i : order)
        if (distinct.empty() || distinct.back() != x[i]) distinct.push_back(x[i]);
    if (distinct.size() < 2) return 0;
    double mean = 0, total = 0, between = 0;
    for (const double value : y) mean += value / static_cast<double>(y.size());
    for (const double value : y) total += (value - mean) * (value - mean);
    // What is the same everywhere but for the rounding of its mean has no variance to explain.
    if (!(total > 1e-20 * mean * mean * static_cast<double>(y.size()))) return 0;
    // Equal values stay in one class.
    const std::size_t classes = std::min(kClasses, distinct.size());
    std::vector<double> sums(classes, 0);
    std::vector<std::size_t> counts(classes, 0);
    std::size_t rank = 0;
    for (std::size_t o = 0; o < order.size(); ++o) {
        if (o > 0 && x[order[o]] != x[order[o - 1]]) ++rank;
        const std::size_t own = rank * classes / distinct.size();
        sums[own] += y[order[o]];
        ++counts[own];
    }
    for (std::size_t c = 0; c < classes; ++c) {
        if (counts[c] == 0) continue;
        const double count = static_cast<double>(counts[c]), by = sums[c] / count - mean;
        between += count * by * by;
    }
    return between / total;
}

ChartSeries points_series(const Exploration& exploration, const std::string& name,
                          const std::vector<const Point*>& points, std::size_t x, std::size_t y) {
    ChartSeries series{name, {}};
    for (const Point* point : points) {
        series.x.push_back(x == y ? static_cast<double>(point->id) : point->objectives.at(x));
        series.y.push_back(point->objectives.at(y));
        series.points.push_back(name_of_point(exploration, *point));
    }
    return series;
}

Chart front_chart(const Exploration& exploration, std::size_t x, std::size_t y) {
    const bool alone = x == y;
    Chart chart;
    chart.kind = Chart::Kind::plot;
    chart.id = fmt::format("front-{}", y);
    chart.title = alone ? exploration.objectives[y].name + " by point"
                        : exploration.objectives[y].name + " over " + exploration.objectives[x].name;
    chart.reading = alone ? "In the order in which the strategy asked: a search that learns goes down."
                          : "Of a point on the front nothing can be improved without giving up something "
                            "else. A steep front "
                            "says that a little of one buys much of the other.";
    chart.x = alone ? ChartAxis{"point", "count"} : axis_of(exploration.objectives[x]);
    chart.y = axis_of(exploration.objectives[y]);
    std::vector<const Point*> front, others;
    for (const Point* point : shown_points(exploration)) (point->on_front ? front : others).push_back(point);
    std::stable_sort(front.begin(), front.end(), [&](const Point* a, const Point* b) {
        return alone ? a->id < b->id : a->objectives[x] < b->objectives[x];
    });
    const auto add = [&](const std::string& name, const std::vector<const Point*>& points, int colour) {
        if (points.empty()) return;
        chart.series.push_back(points_series(exploration, name, points, x, y));
        chart.series.back().colour = colour;
    };
    const Point* const winner = exploration_winner(exploration);
    if (const Point* base = exploration.base()) add("base: " + exploration.hardware, {base}, 3);
    if (winner != nullptr) add("winner", {winner}, 1);
    add("front", front, 0);
    // Of two objectives the front is a line; of more, its projection is none.
    if (!alone && exploration.objectives.size() == 2 && !front.empty()) chart.series.back().line = true;
    add("other points", others, 7);
    return chart;
}

}  // namespace

std::vector<const Point*> shown_points(const Exploration& exploration) {
    std::vector<const Point*> points;
    for (const Point& point : exploration.points) {
        if (point.status != PointStatus::done || point.objectives.size() != exploration.objectives.size())
            continue;
        // A design that was run at both fidelities is there twice, sampled first.
        if (!points.empty() && points.back()->id == point.id) points.pop_back();
        points.push_back(&point);
    }
    return points;
}

std::string name_of_point(const Exploration& exploration, const Point& point) {
    std::string name = std::to_string(point.id) + ":";
    const char* separator = " ";
    for (std::size_t a = 0; a < std::min(exploration.axes.size(), point.shown.size()); ++a) {
        name += separator + exploration.axes[a].path + "=" + point.shown[a];
        separator = ", ";
    }
    return name;
}

std::vector<Chart> front_charts(const Exploration& exploration) {
    std::vector<Chart> charts;
    if (exploration.objectives.size() == 1) charts.push_back(front_chart(exploration, 0, 0));
    for (std::size_t y = 1; y < exploration.objectives.size(); ++y)
        charts.push_back(front_chart(exploration, 0, y));
    return charts;
}

Chart sensitivity_chart(const Exploration& exploration) {
    Chart chart;
    chart.id = "sensitivity";
    chart.title = "What decides";
    chart.y.name = "parameter";
    const std::vector<const Point*> points = shown_points(exploration);
    const Point* const base = exploration.base();
    if (points.size() < 3) return chart;
    const bool one_at_a_time =
        base != nullptr && std::all_of(points.begin(), points.end(),
                                       [&](const Point* point) { return differences(*point, *base) <= 1; });
    for (const explore::AxisSummary& axis : exploration.axes) chart.labels.push_back(axis.path);
    for (std::size_t o = 0; o < exploration.objectives.size(); ++o) {
        ChartSeries up{exploration.objectives[o].name, {}}, down = up;
        if (one_at_a_time) {
            up.name += ", most";
            down.name += ", least";
        }
        for (std::size_t a = 0; a < exploration.axes.size(); ++a) {
            std::vector<double> x, y;
            double most = 0, least = 0;
            for (const Point* point : points) {
                x.push_back(point->values.at(a));
                y.push_back(point->objectives[o]);
                if (!one_at_a_time || !differs(*point, *base, a)) continue;
                const double change = point->objectives[o] / base->objectives[o] - 1;
                most = std::max(most, change);
                least = std::min(least, change);
            }
            up.y.push_back(one_at_a_time ? most : correlation_ratio(x, y));
            down.y.push_back(least);
        }
        up.colour = down.colour = static_cast<int>(o);
        chart.series.push_back(up);
        if (one_at_a_time) chart.series.push_back(down);
    }
    chart.reading =
        one_at_a_time
            ? "How far each objective moves from the base's when one parameter alone goes through its values."
            : "Part of an objective's variance that the parameter alone explains. Parts that add up to less "
              "than "
              "all: parameters act together. Few points make small parts noise.";
    chart.x = {one_at_a_time ? "change from the base" : "part of the variance", "%"};
    if (!one_at_a_time) chart.full = 1;
    return chart;
}

Chart winner_chart(const Exploration& exploration) {
    Chart chart;
    chart.id = "winner";
    chart.title = "The winner against the base";
    chart.reading = "Change of each objective.";
    chart.x = {"change", "%"};
    chart.y.name = "objective";
    const Point* const winner = exploration_winner(exploration);
    const Point* const base = exploration.base();
    if (winner == nullptr || base == nullptr || base->objectives.size() != winner->objectives.size())
        return chart;
    ChartSeries series{"change", {}};
    series.colour = 1;
    for (std::size_t o = 0; o < exploration.objectives.size(); ++o) {
        const explore::Objective& objective = exploration.objectives[o];
        chart.labels.push_back(objective.name);
        series.y.push_back(winner->objectives[o] / base->objectives[o] - 1);
        chart.texts.push_back(fmt::format("{}: {} instead of {}",
                                          format_difference(winner->objectives[o], base->objectives[o]),
                                          format_value(winner->objectives[o], objective.unit),
                                          format_value(base->objectives[o], objective.unit)));
    }
    chart.series = {series};
    return chart;
}

Chart winner_kinds_chart(const Exploration& exploration) {
    Chart chart;
    chart.id = "winner-kinds";
    chart.title = "Where the time goes in both";
    chart.reading = "By kind of op, all workloads with their weights.";
    chart.x = {"time", "us"};
    chart.y.name = "op kind";
    const Point* const winner = exploration_winner(exploration);
    const Point* const base = exploration.base();
    if (winner == nullptr || base == nullptr) return chart;
    std::map<std::string, std::pair<double, double>> kinds;
    const auto add = [&](const Point& point, auto member) {
        for (const explore::WorkloadResult& result : point.workloads)
            for (const auto& [name, value] : result.statistics)
                if (name.rfind("kind/", 0) == 0) kinds[name.substr(5)].*member += result.weight * value;
    };
    add(*base, &std::pair<double, double>::first);
    add(*winner, &std::pair<double, double>::second);
    std::vector<std::pair<std::string, std::pair<double, double>>> rows(kinds.begin(), kinds.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    ChartSeries first{"base", {}}, second{"winner", {}};
    first.colour = 3;
    second.colour = 1;
    for (const auto& [kind, times] : rows) {
        chart.labels.push_back(kind);
        first.y.push_back(times.first);
        second.y.push_back(times.second);
    }
    if (!rows.empty()) chart.series = {first, second};
    return chart;
}

}  // namespace heddle::sim
