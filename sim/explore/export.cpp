#include "sim/explore/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle::explore {
namespace {

using Json = nlohmann::ordered_json;

/// So many rows of the front are shown; `export` has all.
constexpr std::size_t kShown = 40;
constexpr std::size_t kErrorsShown = 5;

std::string status_of(const Point& point) {
    return point.status == PointStatus::done     ? "done"
           : point.status == PointStatus::failed ? "failed"
                                                 : "infeasible";
}
std::string fidelity_of(const Point& point) {
    return point.fidelity == Fidelity::full ? "full" : "sampled";
}

std::string number(double value) {
    return Json(value).dump();
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
}

std::set<std::string> derived_names(const Exploration& exploration) {
    std::set<std::string> names;
    for (const Point& point : exploration.points)
        for (const auto& [name, value] : point.derived) names.insert(name);
    return names;
}

Json point_json(const Exploration& exploration, const Point& point, bool times) {
    Json parameters = Json::object(), derived = Json::object(), objectives = Json::object();
    for (std::size_t i = 0; i < exploration.axes.size() && i < point.shown.size(); ++i)
        parameters[exploration.axes[i].path] = point.shown[i];
    for (const auto& [name, value] : point.derived) derived[name] = value;
    for (std::size_t i = 0; i < point.objectives.size(); ++i)
        objectives[exploration.objectives[i].name] = point.objectives[i];
    Json json{{"id", point.id},          {"fidelity", fidelity_of(point)}, {"status", status_of(point)},
              {"front", point.on_front}, {"settings", point.settings},     {"parameters", parameters},
              {"derived", derived},      {"objectives", objectives}};
    if (!point.error.empty()) json["error"] = point.error;
    json["workloads"] = Json::array();
    for (const WorkloadResult& workload : point.workloads) {
        Json statistics = Json::object();
        for (const auto& [name, value] : workload.statistics) statistics[name] = value;
        json["workloads"].push_back({{"workload", workload.workload},
                                     {"weight", workload.weight},
                                     {"statistics", statistics},
                                     {"notes", workload.notes}});
    }
    if (times) json["wall_s"] = point.wall_s;
    return json;
}

/// Columns aligned by their widest cell; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            text += std::string(widths[i] - row[i].size() + (i == 0 ? 0 : 2), ' ') + row[i];
        text += "\n";
    }
    return text;
}

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

std::string exploration_json(const Exploration& exploration, bool times) {
    Json json{{"hardware", exploration.hardware}, {"workloads", exploration.workloads},
              {"strategy", exploration.strategy}, {"seed", exploration.seed},
              {"version", exploration.version},   {"complete", exploration.complete},
              {"links", exploration.links},       {"constraints", exploration.constraints}};
    json["axes"] = Json::array();
    for (const AxisSummary& axis : exploration.axes)
        json["axes"].push_back(
            {{"path", axis.path}, {"range", axis.text}, {"base", axis.base}, {"values", axis.shown}});
    json["objectives"] = Json::array();
    for (const Objective& objective : exploration.objectives)
        json["objectives"].push_back({{"name", objective.name},
                                      {"unit", objective.unit},
                                      {"maximise", objective.maximise},
                                      {"meaning", objective.meaning}});
    json["points"] = Json::array();
    for (const Point& point : exploration.points)
        json["points"].push_back(point_json(exploration, point, times));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string points_csv(const Exploration& exploration, bool times) {
    std::string text = "id,fidelity,status,front";
    for (const AxisSummary& axis : exploration.axes) text += "," + quoted(axis.path);
    const std::set<std::string> derived = derived_names(exploration);
    for (const std::string& name : derived) text += "," + quoted(name);
    for (const Objective& objective : exploration.objectives)
        text += "," + quoted(objective.name + " [" + objective.unit + "]");
    text += times ? ",error,wall_s\n" : ",error\n";
    for (const Point& point : exploration.points) {
        text += std::to_string(point.id) + "," + fidelity_of(point) + "," + status_of(point) + "," +
                (point.on_front ? "1" : "0");
        for (std::size_t i = 0; i < exploration.axes.size(); ++i)
            text += "," + quoted(i < point.shown.size() ? point.shown[i] : "");
        for (const std::string& name : derived) {
            const auto found = point.derived.find(name);
            text += "," + (found == point.derived.end() ? "" : number(found->second));
        }
        for (std::size_t i = 0; i < exploration.objectives.size(); ++i)
            text += "," + (i < point.objectives.size() ? number(point.objectives[i]) : "");
        text += "," + quoted(point.error) + (times ? "," + number(point.wall_s) : "") + "\n";
    }
    return text;
}

std::string statistics_csv(const Exploration& exploration) {
    std::string text = "id,fidelity,workload,statistic,value\n";
    for (const Point& point : exploration.points)
        for (const WorkloadResult& workload : point.workloads)
            for (const auto& [name, value] : workload.statistics)
                text += std::to_string(point.id) + "," + fidelity_of(point) + "," +
                        quoted(workload.workload) + "," + quoted(name) + "," + number(value) + "\n";
    return text;
}

std::string format_exploration(const Exploration& exploration, unsigned columns) {
    std::size_t done = 0, failed = 0, infeasible = 0;
    bool any_full = false;
    for (const Point& point : exploration.points) {
        done += point.status == PointStatus::done ? 1 : 0;
        failed += point.status == PointStatus::failed ? 1 : 0;
        infeasible += point.status == PointStatus::infeasible ? 1 : 0;
        any_full = any_full || point.fidelity == Fidelity::full;
    }
    std::string text = exploration.hardware + ":";
    for (const std::string& workload : exploration.workloads) text += " " + workload;
    text += fmt::format("\n{}, seed {}: {} designs evaluated, {} failed, {} cannot be built{}\n",
                        exploration.strategy, exploration.seed, done, failed, infeasible,
                        exploration.complete ? "" : "; not complete, --resume goes on");
    std::vector<const Point*> front;
    for (const Point& point : exploration.points)
        if (point.on_front && (point.fidelity == Fidelity::full) == any_full) front.push_back(&point);
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
    for (std::size_t i = 0; i < std::min(front.size(), kShown); ++i)
        rows.push_back(table_row(exploration, *front[i], base));
    if (base != nullptr && std::find(front.begin(), front.end(), base) == front.end())
        rows.push_back(table_row(exploration, *base, nullptr));
    const std::string better =
        exploration.objectives.size() > 1 ? "designs that none is better than in everything" : "the best";
    text += fmt::format("\nfront: {} of {} ({}{}); in brackets: over the base device\n", front.size(), done,
                        better, any_full ? ", simulated in full" : "");
    std::string aligned = table(rows);
    const std::size_t width = aligned.find('\n');
    if (width > columns) {
        // Too wide: one design after another.
        aligned.clear();
        for (std::size_t r = 1; r < rows.size(); ++r) {
            for (std::size_t c = 0; c < rows[r].size(); ++c)
                aligned += (c == 0 ? "" : "  ") + rows[0][c] + ": " + rows[r][c] + "\n";
        }
    }
    text += aligned;
    if (front.size() > kShown)
        text += fmt::format("... and {} more: heddle explore export\n", front.size() - kShown);
    std::size_t shown = 0;
    for (const Point& point : exploration.points) {
        if (point.status != PointStatus::failed || ++shown > kErrorsShown) continue;
        text += fmt::format("failed: {}: {}\n", point.id, point.error);
    }
    if (failed > kErrorsShown) text += fmt::format("... and {} more failed\n", failed - kErrorsShown);
    return text;
}

}  // namespace heddle::explore
