#include "sim/report/exploration_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/text_table.h"

namespace heddle::sim {
namespace {

using explore::AxisSummary;
using explore::Exploration;
using explore::Objective;
using explore::Point;
using explore::PointStatus;

/// The export has all.
constexpr std::size_t kShown = 40;
constexpr std::size_t kErrorsShown = 5;

std::vector<std::string> table_row(const Exploration& exploration, const Point& point, const Point* base) {
    std::vector<std::string> row{point.id == 0 ? "base" : std::to_string(point.id)};
    for (const std::string& shown : point.shown) row.push_back(shown);
    for (std::size_t i = 0; i < exploration.objectives.size(); ++i) {
        std::string cell = fmt::format("{:.4g}", point.objectives[i]);
        if (base != nullptr && base->objectives[i] != 0)
            cell += fmt::format(" ({:.2f}x)", point.objectives[i] / base->objectives[i]);
        row.push_back(cell);
    }
    return row;
}

}  // namespace

std::string format_exploration(const Exploration& exploration, std::size_t width) {
    std::size_t done = 0, failed = 0, infeasible = 0;
    bool any_full = false;
    for (const Point& point : exploration.points) {
        done += point.status == PointStatus::done ? 1 : 0;
        failed += point.status == PointStatus::failed ? 1 : 0;
        infeasible += point.status == PointStatus::infeasible ? 1 : 0;
        any_full = any_full || point.fidelity == explore::Fidelity::full;
    }
    std::string text = exploration.hardware + ":";
    for (const std::string& workload : exploration.workloads) text += " " + workload;
    text += fmt::format("\n{}, seed {}: {} designs evaluated, {} failed, {} cannot be built{}\n",
                        exploration.strategy, exploration.seed, done, failed, infeasible,
                        exploration.complete ? "" : "; not complete, --resume goes on");
    std::vector<const Point*> front;
    for (const Point& point : exploration.points)
        if (point.on_front && (point.fidelity == explore::Fidelity::full) == any_full) front.push_back(&point);
    const Objective& first = exploration.objectives.front();
    std::stable_sort(front.begin(), front.end(), [&](const Point* a, const Point* b) {
        return first.maximise ? a->objectives[0] > b->objectives[0] : a->objectives[0] < b->objectives[0];
    });
    if (front.empty()) return text + "\nnothing was evaluated yet\n";
    const Point* base = exploration.base();
    std::vector<std::vector<std::string>> rows{{"id"}};
    for (const AxisSummary& axis : exploration.axes) rows[0].push_back(axis.path);
    for (const Objective& objective : exploration.objectives)
        rows[0].push_back(objective.name + " [" + objective.unit + "]");
    const std::size_t columns = rows[0].size();
    for (std::size_t i = 0; i < std::min(front.size(), kShown); ++i)
        rows.push_back(table_row(exploration, *front[i], base));
    if (base != nullptr && std::find(front.begin(), front.end(), base) == front.end())
        rows.push_back(table_row(exploration, *base, nullptr));
    const std::string better =
        exploration.objectives.size() > 1 ? "designs that none is better than in everything" : "the best";
    text += fmt::format("\nfront: {} of {} ({}{}); in brackets: over the base device\n", front.size(), done,
                        better, any_full ? ", simulated in full" : "");
    text += fit_columns(std::move(rows), std::vector<bool>(columns, true), width);
    if (front.size() > kShown)
        text += fmt::format("... and {} more: heddle explore export\n", front.size() - kShown);
    std::size_t shown = 0;
    for (const Point& point : exploration.points) {
        if (point.status != PointStatus::failed || ++shown > kErrorsShown) continue;
        text += wrap_lines(fmt::format("failed: {}: {}\n", point.id, point.error), width);
    }
    if (failed > kErrorsShown) text += fmt::format("... and {} more failed\n", failed - kErrorsShown);
    return text;
}

}  // namespace heddle::sim
