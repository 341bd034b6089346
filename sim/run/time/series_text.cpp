#include "sim/run/time/series_text.h"

#include <nlohmann/json.hpp>

namespace heddle::sim {
namespace {

using models::gpu::Series;
using models::gpu::SeriesGroup;
using models::gpu::SeriesPoint;

nlohmann::json point_json(const SeriesPoint& point) {
    nlohmann::json groups = nlohmann::json::array();
    for (const SeriesGroup& group : point.groups)
        groups.push_back({group.instructions, group.tensor_cycles, group.cycles});
    return {point.begin,          point.end,        point.l2_sectors, point.l2_load_sectors,
            point.l2_hit_sectors, point.dram_bytes, point.energy,     std::move(groups)};
}

SeriesPoint point_from_json(const nlohmann::json& json) {
    SeriesPoint point;
    json.at(0).get_to(point.begin);
    json.at(1).get_to(point.end);
    json.at(2).get_to(point.l2_sectors);
    json.at(3).get_to(point.l2_load_sectors);
    json.at(4).get_to(point.l2_hit_sectors);
    json.at(5).get_to(point.dram_bytes);
    json.at(6).get_to(point.energy);
    for (const nlohmann::json& one : json.at(7)) {
        SeriesGroup& group = point.groups.emplace_back();
        one.at(0).get_to(group.instructions);
        one.at(1).get_to(group.tensor_cycles);
        one.at(2).get_to(group.cycles);
    }
    return point;
}

}  // namespace

nlohmann::json series_json(const Series& series) {
    nlohmann::json points = nlohmann::json::array();
    for (const SeriesPoint& point : series.points) points.push_back(point_json(point));
    return {{"interval", series.interval}, {"by_sm", series.by_sm},         {"clock", series.clock},
            {"start", series.start},       {"group_sms", series.group_sms}, {"points", std::move(points)}};
}

Series series_from_json(const nlohmann::json& json) {
    Series series;
    json.at("interval").get_to(series.interval);
    json.at("by_sm").get_to(series.by_sm);
    json.at("clock").get_to(series.clock);
    json.at("start").get_to(series.start);
    json.at("group_sms").get_to(series.group_sms);
    for (const nlohmann::json& point : json.at("points")) series.points.push_back(point_from_json(point));
    return series;
}

}  // namespace heddle::sim
