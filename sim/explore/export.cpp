#include "sim/explore/export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/common/foreign_text.h"

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
