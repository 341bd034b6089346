#include <nlohmann/json.hpp>

#include "sim/gemm/gemm_timer.h"

namespace heddle::sim {

std::string to_text(const GemmAnswer& a) {
    nlohmann::json json = {
        {"seconds", a.seconds}, {"clock", a.clock},   {"power", a.power},
        {"choice", a.choice},   {"launch", a.launch}, {"tensor", a.tensor},
        {"l2", a.l2},           {"memory", a.memory}, {"estimated_seconds", a.estimated_seconds}};
    for (const LaunchOutcome& kernel : a.kernels) json["kernels"].push_back(nlohmann::json::parse(to_text(kernel)));
    return json.dump();
}

GemmAnswer gemm_answer_from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    GemmAnswer a;
    json.at("seconds").get_to(a.seconds);
    json.at("clock").get_to(a.clock);
    json.at("power").get_to(a.power);
    json.at("choice").get_to(a.choice);
    json.at("launch").get_to(a.launch);
    json.at("tensor").get_to(a.tensor);
    json.at("l2").get_to(a.l2);
    json.at("memory").get_to(a.memory);
    json.at("estimated_seconds").get_to(a.estimated_seconds);
    for (const nlohmann::json& kernel : json.at("kernels"))
        a.kernels.push_back(outcome_from_text(kernel.dump()));
    return a;
}

}  // namespace heddle::sim
