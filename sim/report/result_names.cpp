#include "sim/report/result_names.h"

#include <sys/resource.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Nearly when the process began.
const Clock::time_point began = Clock::now();

double number_at(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

bool has_number(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number();
}

void add_time(Json& one) {
    static constexpr std::array<std::pair<const char*, double>, 5> names{
        {{"step_time_us", 1}, {"total_time_us", 1}, {"seconds", 1e6}, {"step_s", 1e6}, {"step_time_s", 1e6}}};
    for (const auto& [name, factor] : names) {
        if (one.contains("time_us")) return;
        if (has_number(one, name)) one["time_us"] = number_at(one, name) * factor;
    }
}

void add_cycles(Json& one) {
    if (one.contains("cycles")) return;
    if (has_number(one, "total_cycles")) {
        one["cycles"] = one["total_cycles"];
        return;
    }
    const auto kernels = one.find("kernels");
    if (kernels == one.end() || !kernels->is_array() || kernels->empty()) return;
    double cycles = 0;
    for (const Json& kernel : *kernels) {
        if (!kernel.is_object() || !has_number(kernel, "cycles")) return;
        cycles += number_at(kernel, "cycles");
    }
    one["cycles"] = static_cast<std::uint64_t>(cycles);
}

void add_coverage(Json& one) {
    const auto stored = one.find("coverage");
    if (stored != one.end()) {
        if (!stored->is_object() || !stored->contains("cycle")) return;
        for (const char* part : {"estimated", "unknown"})
            if (!stored->contains(part)) (*stored)[part] = 0.0;
        return;
    }
    double estimated = 0;
    if (has_number(one, "coverage_cycle")) {
        estimated = 1 - number_at(one, "coverage_cycle");
    } else if (!one.contains("cycles")) {
        return;
    }
    one["coverage"] = {{"cycle", 1 - estimated}, {"estimated", estimated}, {"unknown", 0.0}};
}

void add_energy(Json& one) {
    if (one.contains("energy_j")) return;
    if (has_number(one, "joules")) {
        one["energy_j"] = one["joules"];
    } else if (has_number(one, "power") && has_number(one, "seconds")) {
        if (number_at(one, "power") > 0) one["energy_j"] = number_at(one, "power") * number_at(one, "seconds");
    } else if (const auto energy = one.find("energy"); energy != one.end() && energy->is_object() && energy->contains("joules")) {
        double joules = 0;
        for (const Json& part : energy->at("joules"))
            if (part.is_number()) joules += part.get<double>();
        one["energy_j"] = joules;
    }
}

void add_figures(Json& one) {
    if (!one.is_object()) return;
    add_time(one);
    add_cycles(one);
    add_coverage(one);
    add_energy(one);
}

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Json cost_of_this_process() {
    double processor = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        getrusage(who, &usage);
        processor += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    }
    return {{"wall_s", std::chrono::duration<double>(Clock::now() - began).count()}, {"processor_s", processor}};
}

}  // namespace

void add_common_names(Json& answer, std::string_view command) {
    if (answer.is_array()) {
        for (Json& one : answer) add_common_names(one, command);
        return;
    }
    if (!answer.is_object()) return;
    answer["schema"] = kResultSchema;
    answer["command"] = command;
    add_figures(answer);
    for (const char* part : {"first", "second"})
        if (answer.contains(part)) add_figures(answer[part]);
    if (const auto points = answer.find("points"); points != answer.end() && points->is_array()) {
        for (Json& point : *points) {
            if (!point.is_object() || !point.contains("workloads")) continue;
            for (Json& workload : point["workloads"])
                if (workload.contains("statistics")) add_figures(workload["statistics"]);
        }
    }
    for (const char* list : {"launches", "entries"}) {
        const auto found = answer.find(list);
        if (found == answer.end() || !found->is_array()) continue;
        for (Json& one : *found)
            if (one.is_object()) add_time(one);
    }
}

std::string with_common_names(const std::string& text, std::string_view command) {
    Json answer = Json::parse(text);
    add_common_names(answer, command);
    if (answer.is_object()) {
        Json cost = cost_of_this_process();
        if (!answer.contains("simulation") || !answer["simulation"].is_object()) answer["simulation"] = Json::object();
        for (const auto& [name, value] : cost.items())
            if (!answer["simulation"].contains(name)) answer["simulation"][name] = value;
    }
    return answer.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::sim
