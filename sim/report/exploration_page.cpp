#include "sim/report/exploration_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/data_table.h"
#include "sim/report/exploration_charts.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

using explore::Exploration;
using explore::Point;
using explore::PointStatus;

const char* name_of(PointStatus status) {
    switch (status) {
        case PointStatus::done:
            return "done";
        case PointStatus::failed:
            return "failed";
        case PointStatus::infeasible:
            return "infeasible";
    }
    return "";
}

std::string list(const std::string& name, const std::vector<std::string>& texts) {
    if (texts.empty()) return {};
    std::string html = "<p class=\"faint\">" + escape_html(name) + ": ";
    for (std::size_t i = 0; i < texts.size(); ++i) html += (i == 0 ? "" : "; ") + escape_html(texts[i]);
    return html + "</p>\n";
}

std::string head(const Exploration& exploration) {
    std::size_t done = 0, failed = 0, infeasible = 0, front = 0;
    for (const Point& point : exploration.points) {
        done += point.status == PointStatus::done;
        failed += point.status == PointStatus::failed;
        infeasible += point.status == PointStatus::infeasible;
    }
    for (const Point* point : shown_points(exploration)) front += point->on_front;
    std::string html = "<div class=\"figures\">\n" + html_figure("points", std::to_string(done)) +
                       html_figure("on the front", std::to_string(front));
    if (infeasible > 0)
        html += html_figure("no such machine, or against a constraint", std::to_string(infeasible));
    if (failed > 0) html += html_figure("failed", std::to_string(failed));
    html +=
        html_figure("strategy, seed " + std::to_string(exploration.seed), exploration.strategy) + "</div>\n";
    if (!exploration.complete)
        html +=
            "<p class=\"note\">The exploration is not complete: `heddle explore --resume` goes on from "
            "here.</p>\n";
    html += list("Workloads", exploration.workloads) + list("Linked parameters", exploration.links) +
            list("Constraints", exploration.constraints);
    HtmlTable axes({"parameter", "values", "base"});
    for (const explore::AxisSummary& axis : exploration.axes) axes.row({axis.path, axis.text, axis.base});
    HtmlTable objectives({"objective", "", "unit", "meaning"});
    for (const explore::Objective& objective : exploration.objectives)
        objectives.row(
            {objective.name, objective.maximise ? "large" : "small", objective.unit, objective.meaning});
    return html + axes.html() + objectives.html();
}

std::string fronts(const Exploration& exploration) {
    std::string html;
    const std::vector<Chart> charts = front_charts(exploration);
    for (const Chart& chart : charts) html += chart_html(chart);
    return charts.size() > 1 ? "<div class=\"charts\">\n" + html + "</div>\n" : html;
}

std::string winner_section(const Exploration& exploration) {
    const Point* const winner = exploration_winner(exploration);
    const Point* const base = exploration.base();
    if (winner == nullptr) return {};
    std::string html = "<p>" + escape_html(name_of_point(exploration, *winner)) + "</p>\n";
    if (exploration.objectives.size() > 1)
        html +=
            "<p class=\"faint\">Of the front, the point that is nearest to having the best of every "
            "objective. Others "
            "may suit you better: the table below has all.</p>\n";
    if (base == nullptr) return html;
    HtmlTable table({"parameter", "base", "winner"}, {false, true, true});
    for (std::size_t a = 0; a < exploration.axes.size(); ++a)
        if (base->shown.at(a) != winner->shown.at(a))
            table.row({exploration.axes[a].path, base->shown[a], winner->shown[a]});
    for (const auto& [name, value] : winner->derived) {
        const auto found = base->derived.find(name);
        if (found != base->derived.end() && found->second != value)
            table.row({name, fmt::format("{:.4g}", found->second), fmt::format("{:.4g}", value)});
    }
    return html + table.html() + "<div class=\"charts\">\n" + chart_html(winner_chart(exploration)) +
           chart_html(winner_kinds_chart(exploration)) + "</div>\n";
}

std::string points_table(const Exploration& exploration) {
    DataTable table{"points", "Points", {{"point", "count"}, {"front"}}, {}};
    for (const explore::AxisSummary& axis : exploration.axes) table.columns.push_back({axis.path, ""});
    for (const explore::Objective& objective : exploration.objectives)
        table.columns.push_back({objective.name, objective.unit});
    table.columns.insert(table.columns.end(), {{"fidelity"}, {"status"}, {"error"}});
    for (const Point& point : exploration.points) {
        std::vector<DataCell> row{static_cast<double>(point.id), std::string(point.on_front ? "front" : "")};
        for (std::size_t a = 0; a < exploration.axes.size(); ++a)
            row.emplace_back(ShownNumber{point.values.at(a), point.shown.at(a)});
        for (std::size_t o = 0; o < exploration.objectives.size(); ++o)
            row.emplace_back(o < point.objectives.size() ? point.objectives[o] : std::nan(""));
        row.insert(row.end(), {std::string(point.fidelity == explore::Fidelity::full ? "full" : "sampled"),
                               std::string(name_of(point.status)), point.error});
        table.rows.push_back(std::move(row));
    }
    return data_table_html(table);
}

}  // namespace

const Point* exploration_winner(const Exploration& exploration) {
    const std::vector<const Point*> points = shown_points(exploration);
    std::vector<const Point*> front;
    for (const Point* point : points)
        if (point->on_front) front.push_back(point);
    if (front.empty()) front = points;
    const std::size_t count = exploration.objectives.size();
    constexpr double far = std::numeric_limits<double>::infinity();
    std::vector<double> low(count, far), high(count, -far);
    for (const Point* point : front) {
        for (std::size_t o = 0; o < count; ++o) {
            low[o] = std::min(low[o], point->objectives[o]);
            high[o] = std::max(high[o], point->objectives[o]);
        }
    }
    const Point* best = nullptr;
    double nearest = far;
    for (const Point* point : front) {
        double distance = 0;
        for (std::size_t o = 0; o < count; ++o) {
            if (!(high[o] > low[o])) continue;
            const double part = (point->objectives[o] - low[o]) / (high[o] - low[o]);
            const double away = exploration.objectives[o].maximise ? 1 - part : part;
            distance += away * away;
        }
        if (distance >= nearest) continue;
        nearest = distance;
        best = point;
    }
    return best;
}

std::string exploration_html(const Exploration& exploration) {
    std::string workloads;
    for (const std::string& workload : exploration.workloads)
        workloads += (workloads.empty() ? "" : ", ") + workload;
    return html_page("Exploration of " + exploration.hardware, workloads, head(exploration),
                     {{"front", "The front", fronts(exploration)},
                      {"winner", "The winner against the base", winner_section(exploration)},
                      {"sensitivity", "What decides", chart_html(sensitivity_chart(exploration))},
                      {"coordinates", "All points at once", parallel_coordinates(exploration)},
                      {"points", "Points", points_table(exploration)}});
}

}  // namespace heddle::sim
