#include "sim/explore/export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/common/foreign_text.h"
#include "sim/explore/parquet.h"

namespace heddle::explore {
namespace {

using Json = nlohmann::ordered_json;

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
    for (const AxisSummary& axis : exploration.axes) text += "," + csv_cell(axis.path);
    const std::set<std::string> derived = derived_names(exploration);
    for (const std::string& name : derived) text += "," + csv_cell(name);
    for (const Objective& objective : exploration.objectives)
        text += "," + csv_cell(objective.name + " [" + objective.unit + "]");
    text += times ? ",error,wall_s\n" : ",error\n";
    for (const Point& point : exploration.points) {
        text += std::to_string(point.id) + "," + fidelity_of(point) + "," + status_of(point) + "," +
                (point.on_front ? "1" : "0");
        for (std::size_t i = 0; i < exploration.axes.size(); ++i)
            text += "," + csv_cell(i < point.shown.size() ? point.shown[i] : "");
        for (const std::string& name : derived) {
            const auto found = point.derived.find(name);
            text += "," + (found == point.derived.end() ? "" : number(found->second));
        }
        for (std::size_t i = 0; i < exploration.objectives.size(); ++i)
            text += "," + (i < point.objectives.size() ? number(point.objectives[i]) : "");
        text += "," + csv_cell(point.error) + (times ? "," + number(point.wall_s) : "") + "\n";
    }
    return text;
}

std::string points_parquet(const Exploration& exploration, bool times) {
    using Numbers = std::vector<std::optional<double>>;
    using Texts = std::vector<std::string>;
    std::vector<std::int64_t> ids;
    std::vector<bool> front;
    Texts fidelities, statuses, errors;
    Numbers seconds;
    std::vector<ParquetColumn> parameters, derived, objectives;
    for (const AxisSummary& axis : exploration.axes) {
        parameters.push_back({axis.path, Numbers{}});
        parameters.push_back({axis.path + ", text", Texts{}});
    }
    for (const std::string& name : derived_names(exploration)) derived.push_back({name, Numbers{}});
    for (const Objective& objective : exploration.objectives)
        objectives.push_back({objective.name + " [" + objective.unit + "]", Numbers{}});
    const auto number_at = [](const std::vector<double>& values, std::size_t i) {
        return i < values.size() ? std::optional<double>(values[i]) : std::nullopt;
    };
    for (const Point& point : exploration.points) {
        ids.push_back(static_cast<std::int64_t>(point.id));
        front.push_back(point.on_front);
        fidelities.push_back(fidelity_of(point));
        statuses.push_back(status_of(point));
        errors.push_back(point.error);
        seconds.push_back(point.wall_s);
        for (std::size_t i = 0; i < exploration.axes.size(); ++i) {
            std::get<Numbers>(parameters[2 * i].values).push_back(number_at(point.values, i));
            std::get<Texts>(parameters[2 * i + 1].values)
                .push_back(i < point.shown.size() ? point.shown[i] : "");
        }
        for (ParquetColumn& column : derived) {
            const auto found = point.derived.find(column.name);
            std::get<Numbers>(column.values)
                .push_back(found == point.derived.end() ? std::nullopt
                                                        : std::optional<double>(found->second));
        }
        for (std::size_t i = 0; i < objectives.size(); ++i)
            std::get<Numbers>(objectives[i].values).push_back(number_at(point.objectives, i));
    }
    std::vector<ParquetColumn> columns{
        {"id", ids}, {"fidelity", fidelities}, {"status", statuses}, {"front", front}};
    for (auto* more : {&parameters, &derived, &objectives})
        columns.insert(columns.end(), more->begin(), more->end());
    columns.push_back({"error", errors});
    if (times) columns.push_back({"wall_s", seconds});
    return parquet_file(columns);
}

std::string statistics_csv(const Exploration& exploration) {
    std::string text = "id,fidelity,workload,statistic,value\n";
    for (const Point& point : exploration.points)
        for (const WorkloadResult& workload : point.workloads)
            for (const auto& [name, value] : workload.statistics)
                text += std::to_string(point.id) + "," + fidelity_of(point) + "," +
                        csv_cell(workload.workload) + "," + csv_cell(name) + "," + number(value) + "\n";
    return text;
}

}  // namespace heddle::explore
