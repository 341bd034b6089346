// A chart that Chart.js does not have.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/exploration_charts.h"
#include "sim/report/exploration_page.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

using explore::Exploration;
using explore::Point;

constexpr double kWidth = 1140, kHeight = 360, kTop = 44, kBottom = 30, kSide = 70;
constexpr std::size_t kLines = 1500;

/// One vertical axis.
struct Vertical {
    std::string name, top, bottom;
    bool logarithmic = false;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    std::vector<double> values;  ///< by point

    void add(double value) {
        values.push_back(value);
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    double place(double value) const {
        const bool logs = logarithmic && low > 0;
        const double from = logs ? std::log(low) : low, to = logs ? std::log(high) : high;
        const double at = logs ? std::log(value) : value;
        const double part = to > from ? (at - from) / (to - from) : 0.5;
        return kHeight - kBottom - part * (kHeight - kBottom - kTop);
    }
};

std::vector<Vertical> verticals(const Exploration& exploration, const std::vector<const Point*>& points) {
    std::vector<Vertical> axes;
    for (std::size_t a = 0; a < exploration.axes.size(); ++a) {
        Vertical axis;
        axis.name = exploration.axes[a].path;
        axis.logarithmic = exploration.axes[a].logarithmic;
        for (const Point* point : points) {
            const double value = point->values.at(a);
            if (value <= axis.low) axis.bottom = point->shown.at(a);
            if (value >= axis.high) axis.top = point->shown.at(a);
            axis.add(value);
        }
        axes.push_back(std::move(axis));
    }
    for (std::size_t o = 0; o < exploration.objectives.size(); ++o) {
        Vertical axis;
        axis.name = exploration.objectives[o].name;
        for (const Point* point : points) axis.add(point->objectives[o]);
        axis.bottom = format_value(axis.low, exploration.objectives[o].unit);
        axis.top = format_value(axis.high, exploration.objectives[o].unit);
        axes.push_back(std::move(axis));
    }
    return axes;
}

std::string label(double x, double y, const std::string& text, const char* more = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\"{}>{}</text>\n", x, y, more,
                       escape_html(text));
}

}  // namespace

std::string parallel_coordinates(const Exploration& exploration) {
    const std::vector<const Point*> points = shown_points(exploration);
    if (points.size() < 2 || exploration.axes.empty()) return {};
    const std::vector<Vertical> axes = verticals(exploration, points);
    const double between = (kWidth - 2 * kSide) / static_cast<double>(axes.size() - 1);
    const auto x_of = [&](std::size_t a) { return kSide + static_cast<double>(a) * between; };
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"Parallel "
        "coordinates: "
        "parameters and objectives of all points\" class=\"lines\">\n",
        kWidth, kHeight);
    const Point* const winner = exploration_winner(exploration);
    const Point* const base = exploration.base();
    const auto add_line = [&](std::size_t p, const char* kind) {
        svg += fmt::format("<polyline class=\"{}\" points=\"", kind);
        for (std::size_t a = 0; a < axes.size(); ++a)
            svg += fmt::format("{:.0f},{:.1f} ", x_of(a), axes[a].place(axes[a].values[p]));
        svg += "\"><title>" + escape_html(name_of_point(exploration, *points[p]));
        for (std::size_t o = 0; o < exploration.objectives.size(); ++o)
            svg += escape_html("; " + exploration.objectives[o].name + " " +
                               format_value(points[p]->objectives[o], exploration.objectives[o].unit));
        svg += "</title></polyline>\n";
    };
    // What matters lies on top.
    const std::size_t every = (points.size() + kLines - 1) / kLines;
    for (std::size_t p = 0; p < points.size(); ++p)
        if (!points[p]->on_front && p % every == 0) add_line(p, "other");
    for (std::size_t p = 0; p < points.size(); ++p)
        if (points[p]->on_front) add_line(p, "front");
    for (std::size_t p = 0; p < points.size(); ++p) {
        if (points[p] == winner) add_line(p, "best");
        if (base != nullptr && points[p]->id == base->id) add_line(p, "base");
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
        svg += fmt::format(
            "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"var(--faint)\"/>\n", x_of(a),
            kTop, kHeight - kBottom);
        svg += label(x_of(a), 16, axes[a].name, " font-weight=\"600\"") +
               label(x_of(a), kTop - 8, axes[a].top) + label(x_of(a), kHeight - kBottom + 18, axes[a].bottom);
    }
    return "<div class=\"plot wide\" role=\"region\" tabindex=\"0\" aria-label=\"Parallel coordinates\">" +
           svg +
           "</svg></div>\n<p class=\"legend\"><span><i class=\"c3\"></i>under the pointer</span> <span><i "
           "class=\"c1\"></i>winner</span> <span><i class=\"c0\"></i>front</span> <span><i "
           "class=\"c7\"></i>other "
           "points</span> <span>dashed: base</span></p>\n" +
           (every > 1 ? fmt::format(
                            "<p class=\"faint\">Every {}. of the points off the front is drawn.</p>\n", every)
                      : "");
}

}  // namespace heddle::sim
