#include "sim/explore/objectives.h"

#include <algorithm>
#include <limits>

#include "isa/common/error.h"
#include "sim/area/die_area.h"

namespace heddle::explore {
namespace {

constexpr double kMicrosecond = 1e-6, kHour = 3600;

double sum_of(const std::vector<WorkloadResult>& workloads, const std::string& statistic) {
    double sum = 0;
    for (const WorkloadResult& workload : workloads) {
        const auto found = workload.statistics.find(statistic);
        if (found == workload.statistics.end())
            throw Error("there is no figure `" + statistic + "` of " + workload.workload);
        sum += workload.weight * found->second;
    }
    return sum;
}

double headroom(const std::vector<WorkloadResult>& workloads) {
    double least = std::numeric_limits<double>::infinity();
    for (const WorkloadResult& workload : workloads) {
        const auto capacity = workload.statistics.find("memory_capacity_bytes"),
                   peak = workload.statistics.find("memory_peak_bytes");
        if (capacity == workload.statistics.end() || peak == workload.statistics.end())
            throw Error("there is no figure of memory of " + workload.workload);
        least = std::min(least, capacity->second - peak->second);
    }
    return least;
}

std::vector<std::string> words_of(const std::string& list) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= list.size() && !list.empty();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        words.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

void check_known_of(const Objective& objective, const sim::Hardware& base, const std::string& option) {
    const bool energy = objective.name == "energy" || objective.name == "edp";
    if (energy && !base.machine().power_limit())
        throw Error("`" + objective.name + "` is known of GPUs only: the power of TPUs and CPUs is not modelled",
                    {option, 0, ""}, "leave it out");
    if (objective.name == "area" && base.machine().area().parts.empty())
        throw Error("the area of a " + base.machine().noun() + " is not modelled", {option, 0, ""}, "leave `area` out");
    const bool money = objective.unit.find('$') != std::string::npos;
    if (money && base.machine().die.price_per_hour <= 0)
        throw Error("`" + objective.name + "` needs a price, and " + base.name + " has none", {option, 0, ""},
                    "add --set price.hour=2.5, in dollars");
}

}  // namespace

const std::vector<Objective>& known_objectives() {
    static const std::vector<Objective> all{
        {"time", "us", "a step's time", false},
        {"energy", "J", "a step's energy", false},
        {"edp", "J s", "a step's energy times its time", false},
        {"area", "mm2", "the die's area", false},
        {"cost", "$", "a step's cost, at price.hour", false},
        {"training-cost", "$", "the cost of --training-steps steps", false},
        {"throughput-per-dollar", "steps/$", "steps for a dollar", true},
        {"memory-headroom", "B", "memory that the step leaves free", true},
    };
    return all;
}

std::vector<Objective> choose_objectives(const std::string& minimise, const std::string& maximise,
                                         const sim::Hardware& base) {
    std::vector<std::string> names;
    for (const Objective& objective : known_objectives()) names.push_back(objective.name);
    std::vector<Objective> chosen;
    const auto choose = [&](const std::string& list, bool up) {
        const std::string option = up ? "--maximise" : "--minimise";
        for (const std::string& word : words_of(list)) {
            const auto found = std::find(names.begin(), names.end(), word);
            if (found == names.end()) {
                const std::string near = nearest_word(word, names.data(), names.size());
                std::string all;
                for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
                throw Error("there is no objective `" + word + "`", {option, 0, ""},
                            near.empty() ? "known: " + all : "did you mean `" + near + "`?");
            }
            const Objective& objective = known_objectives()[static_cast<std::size_t>(found - names.begin())];
            if (objective.maximise != up)
                throw Error("more of `" + word + "` is " + (up ? "worse" : "better"), {option, 0, ""},
                            std::string("use ") + (up ? "--minimise " : "--maximise ") + word);
            for (const Objective& other : chosen)
                if (other.name == word)
                    throw Error("`" + word + "` is named twice", {option, 0, ""}, "keep one of the two");
            check_known_of(objective, base, option);
            chosen.push_back(objective);
        }
    };
    choose(minimise, false);
    choose(maximise, true);
    if (chosen.empty())
        throw Error("nothing is to be made small or large", {"--minimise", 0, ""},
                    "write --minimise time,area");
    return chosen;
}

std::vector<double> evaluate_objectives(const std::vector<Objective>& objectives,
                                        const std::vector<WorkloadResult>& workloads,
                                        const std::map<std::string, double>& derived, double training_steps) {
    std::vector<double> values;
    for (const Objective& objective : objectives) {
        const auto cost = [&] {
            return sum_of(workloads, "step_time_us") * kMicrosecond / kHour * derived.at("price.hour");
        };
        if (objective.name == "time") {
            values.push_back(sum_of(workloads, "step_time_us"));
        } else if (objective.name == "energy") {
            values.push_back(sum_of(workloads, "energy_j"));
        } else if (objective.name == "edp") {
            values.push_back(sum_of(workloads, "energy_j") * sum_of(workloads, "step_time_us") *
                             kMicrosecond);
        } else if (objective.name == "area") {
            values.push_back(derived.at("area.total"));
        } else if (objective.name == "cost") {
            values.push_back(cost());
        } else if (objective.name == "training-cost") {
            values.push_back(cost() * training_steps);
        } else if (objective.name == "throughput-per-dollar") {
            values.push_back(1 / cost());
        } else {
            values.push_back(headroom(workloads));
        }
    }
    return values;
}

bool dominates(const std::vector<double>& a, const std::vector<double>& b,
               const std::vector<Objective>& objectives) {
    bool better = false;
    for (std::size_t i = 0; i < objectives.size(); ++i) {
        const double x = objectives[i].maximise ? -a[i] : a[i], y = objectives[i].maximise ? -b[i] : b[i];
        if (x > y) return false;
        better = better || x < y;
    }
    return better;
}

void mark_front(std::vector<Point>& points, const std::vector<Objective>& objectives) {
    for (Point& point : points) {
        point.on_front = point.status == PointStatus::done &&
                         std::none_of(points.begin(), points.end(), [&](const Point& other) {
                             return other.status == PointStatus::done && other.fidelity == point.fidelity &&
                                    dominates(other.objectives, point.objectives, objectives);
                         });
    }
}

}  // namespace heddle::explore
