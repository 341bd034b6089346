#include "sim/run/time/launch_outcome.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "sim/run/time/series_text.h"

namespace heddle::sim {

double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string to_text(const LaunchOutcome& o) {
    nlohmann::json json = {
        {"cycles", o.cycles},
        {"dependents_start", o.dependents_start},
        {"seconds", o.seconds},
        {"tilings_searched", o.tilings_searched},
        {"host_seconds", o.host_seconds},
        {"warp_instructions", o.warp_instructions},
        {"registers_per_thread", o.registers_per_thread},
        {"shared_bytes", o.shared_bytes},
        {"ctas_per_sm", o.ctas_per_sm},
        {"dram_bytes", o.dram_bytes},
        {"l2_bytes", o.l2_bytes},
        {"bound_by", o.bound_by},
        {"unsupported", o.unsupported},
        {"time_by_reason", o.time_by_reason},
        {"time_by_unit", o.time_by_unit},
        {"utilisation", o.utilisation},
        {"energy", o.energy},
    };
    for (const auto& [name, t] : o.throughputs) json["throughputs"][name] = {t.unit, t.amount, t.ceiling};
    if (o.sampled) json["sampled"] = {o.sampled->simulated, o.sampled->error, o.sampled->note};
    if (o.l2_hit_rate) json["l2_hit_rate"] = *o.l2_hit_rate;
    if (o.own_l2) json["own_l2"] = true;
    if (!o.together.empty()) json["together"] = o.together;
    if (o.series) json["series"] = series_json(*o.series);
    return json.dump();
}

LaunchOutcome outcome_from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    LaunchOutcome o;
    json.at("cycles").get_to(o.cycles);
    json.at("dependents_start").get_to(o.dependents_start);
    json.at("seconds").get_to(o.seconds);
    json.at("tilings_searched").get_to(o.tilings_searched);
    json.at("host_seconds").get_to(o.host_seconds);
    json.at("warp_instructions").get_to(o.warp_instructions);
    json.at("registers_per_thread").get_to(o.registers_per_thread);
    json.at("shared_bytes").get_to(o.shared_bytes);
    json.at("ctas_per_sm").get_to(o.ctas_per_sm);
    json.at("dram_bytes").get_to(o.dram_bytes);
    json.at("l2_bytes").get_to(o.l2_bytes);
    json.at("bound_by").get_to(o.bound_by);
    json.at("unsupported").get_to(o.unsupported);
    json.at("time_by_reason").get_to(o.time_by_reason);
    json.at("time_by_unit").get_to(o.time_by_unit);
    json.at("utilisation").get_to(o.utilisation);
    json.at("energy").get_to(o.energy);
    if (json.contains("throughputs")) {
        for (const auto& [name, t] : json.at("throughputs").items())
            o.throughputs[name] = {t.at(0).get<std::string>(), t.at(1).get<double>(), t.at(2).get<double>()};
    }
    if (json.contains("sampled")) {
        const auto& sampled = json.at("sampled");
        o.sampled = {sampled.at(0).get<double>(), sampled.at(1).get<double>(),
                     sampled.at(2).get<std::string>()};
    }
    if (json.contains("l2_hit_rate")) o.l2_hit_rate = json.at("l2_hit_rate").get<double>();
    o.own_l2 = json.contains("own_l2");
    if (json.contains("together")) json.at("together").get_to(o.together);
    if (json.contains("series"))
        o.series = std::make_shared<const models::gpu::Series>(series_from_json(json.at("series")));
    return o;
}

}  // namespace heddle::sim
