#include "sim/explore/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::explore {
namespace {

using Json = nlohmann::ordered_json;

/// What failed or cannot be is worse than everything, the more so the further it is from what can be.
constexpr double kWorst = 1e20;
constexpr std::uint64_t kNoBudget = ~std::uint64_t{0};

const char* name_of(FidelityPlan plan) {
    return plan == FidelityPlan::sampled ? "sampled" : plan == FidelityPlan::full ? "full" : "front";
}

std::string configuration_of(const Space& space, const std::vector<std::string>& settings) {
    Json json = Json::object();
    for (const sim::ParameterDescription& parameter : sim::describe_parameters(space.hardware_of(settings)))
        json[parameter.path] = parameter.value;
    return json.dump();
}

class Explorer {
  public:
    Explorer(const Space& space, const std::vector<Objective>& objectives, const ExploreOptions& options,
             Store& store, Workers& workers)
        : space_(space), objectives_(objectives), options_(options), store_(store), workers_(workers) {
        for (Point& point : store.points()) {
            const auto key = std::make_pair(point.id, point.fidelity);
            stored_.emplace(key, std::move(point));
        }
    }

    void run() {
        const Fidelity first = options_.fidelity == FidelityPlan::full ? Fidelity::full : Fidelity::sampled;
        const StrategyOptions& strategy = options_.strategy;
        const bool listed = strategy.name == "grid" || strategy.name == "sensitivity";
        total_ = strategy.name == "grid" ? space_.grid_size() + 1 : strategy.points + 1;
        evaluate({space_.base_position()}, first, 1);
        if (stored_.at({0, first}).status == PointStatus::failed)
            throw Error("the base device itself fails: " + stored_.at({0, first}).error, {},
                        "mend that first; every design would fail like it");
        try {
            make_strategy(strategy, space_, objectives_.size())
                ->run(space_, objectives_.size(), [&](const std::vector<Position>& positions) {
                    return evaluate(positions, first, listed ? kNoBudget : strategy.points + 1);
                });
        } catch (const BudgetSpent&) {
        }
        if (options_.fidelity == FidelityPlan::front) evaluate_front();
        store_.complete();
    }

    std::uint64_t kept() const { return stored_.size(); }

  private:
    struct Open {
        std::uint64_t id;
        Design design;
    };

    /// Positions that were asked for, in the order of the strategy; each design once. At most `budget`
    /// designs in all.
    std::vector<std::vector<double>> evaluate(const std::vector<Position>& positions, Fidelity fidelity,
                                              std::uint64_t budget) {
        std::deque<Open> open;
        std::vector<std::uint64_t> ids;
        bool spent = false;
        for (const Position& position : positions) {
            Design design = space_.design(position);
            const std::string key = design.key();
            const auto known = ids_.find(key);
            if (known != ids_.end()) {
                ids.push_back(known->second);
                continue;
            }
            if (design.infeasible.empty() && evaluated_ >= budget) {
                spent = true;
                break;
            }
            const std::uint64_t id = ids_.size();
            ids_[key] = id;
            ids.push_back(id);
            if (design.infeasible.empty()) ++evaluated_;
            violations_[id] = design.violation;
            check_stored(id, fidelity, design);
            if (!design.infeasible.empty()) {
                remember_infeasible(id, fidelity, design);
            } else if (stored_.count({id, fidelity}) == 0) {
                open.push_back({id, std::move(design)});
            }
        }
        // Of a list the whole is known now, and how much of it cannot be built.
        if (budget == kNoBudget) total_ = evaluated_;
        work(std::move(open), fidelity);
        if (spent) throw BudgetSpent{};
        std::vector<std::vector<double>> result;
        result.reserve(ids.size());
        for (const std::uint64_t id : ids) result.push_back(fitness_of(id, fidelity));
        return result;
    }

    void check_stored(std::uint64_t id, Fidelity fidelity, const Design& design) const {
        const auto stored = stored_.find({id, fidelity});
        if (stored != stored_.end() && stored->second.settings != design.settings)
            throw std::runtime_error("a stored design is not the one that the strategy asks for now");
    }

    Point point_of(std::uint64_t id, Fidelity fidelity, const Design& design) const {
        Point point;
        point.id = id;
        point.fidelity = fidelity;
        point.values = design.values;
        point.shown = design.shown;
        point.settings = design.settings;
        point.derived = design.derived;
        return point;
    }

    void remember_infeasible(std::uint64_t id, Fidelity fidelity, const Design& design) {
        if (stored_.count({id, fidelity}) != 0) return;
        Point point = point_of(id, fidelity, design);
        point.status = PointStatus::infeasible;
        point.error = design.infeasible;
        keep(std::move(point), "{}");
    }

    void keep(Point point, const std::string& configuration) {
        store_.add(point, objectives_, configuration);
        const auto key = std::make_pair(point.id, point.fidelity);
        stored_.insert_or_assign(key, std::move(point));
    }

    /// Hands out designs to whoever is free and keeps what comes back.
    void work(std::deque<Open> open, Fidelity fidelity) {
        std::map<std::uint64_t, Design> running;
        while (!open.empty() || !running.empty()) {
            while (!open.empty() && running.size() < workers_.count()) {
                Open& next = open.front();
                // One that is alone (the base device, before all others) has the workers' cores.
                const unsigned jobs = open.size() == 1 && running.empty() ? workers_.cores() : 1;
                workers_.start(next.id, Task{next.design.settings, fidelity, jobs}.to_text());
                running.emplace(next.id, std::move(next.design));
                open.pop_front();
            }
            for (const WorkerAnswer& answer : workers_.wait(-1)) {
                finish(answer, running.at(answer.task), fidelity);
                running.erase(answer.task);
            }
        }
    }

    void finish(const WorkerAnswer& answer, const Design& design, Fidelity fidelity) {
        Point point = point_of(answer.task, fidelity, design);
        point.wall_s = answer.wall_s;
        try {
            if (answer.died) throw Error(answer.text);
            Answer given = Answer::from_text(answer.text);
            if (!given.error.empty()) throw Error(given.error);
            point.workloads = std::move(given.workloads);
            point.objectives =
                evaluate_objectives(objectives_, point.workloads, point.derived, options_.training_steps);
        } catch (const std::exception& failure) {
            point.status = PointStatus::failed;
            point.error = failure.what();
            point.workloads.clear();
            point.objectives.clear();
        }
        keep(std::move(point), configuration_of(space_, design.settings));
        ++finished_;
        report();
    }

    void report() const {
        if (!options_.progress) return;
        Progress progress;
        for (const auto& [key, point] : stored_)
            progress.done += point.status != PointStatus::infeasible ? 1 : 0;
        progress.total = std::max(total_, progress.done);
        progress.kept = progress.done - finished_;
        const Objective& first = objectives_.front();
        const Point* best = nullptr;
        for (const auto& [key, point] : stored_) {
            if (point.status != PointStatus::done) continue;
            if (best == nullptr || (first.maximise ? point.objectives[0] > best->objectives[0]
                                                   : point.objectives[0] < best->objectives[0]))
                best = &point;
        }
        if (best != nullptr)
            progress.best = fmt::format("{} {:.4g} {} ({})", first.name, best->objectives[0], first.unit,
                                        best->id == 0 ? "the base" : "design " + std::to_string(best->id));
        options_.progress(progress);
    }

    std::vector<double> fitness_of(std::uint64_t id, Fidelity fidelity) const {
        const Point& point = stored_.at({id, fidelity});
        std::vector<double> values;
        for (std::size_t i = 0; i < objectives_.size(); ++i) {
            if (point.status == PointStatus::done) {
                values.push_back(objectives_[i].maximise ? -point.objectives[i] : point.objectives[i]);
            } else {
                const auto violation = violations_.find(id);
                values.push_back(kWorst * (1 + (violation == violations_.end() ? 0 : violation->second)));
            }
        }
        return values;
    }

    /// The front of the sampled designs once more, in full, and the base device beside it.
    void evaluate_front() {
        std::vector<Point> sampled;
        for (const auto& [key, point] : stored_)
            if (point.fidelity == Fidelity::sampled) sampled.push_back(point);
        mark_front(sampled, objectives_);
        std::deque<Open> open;
        std::uint64_t wanted = 0;
        for (const Point& point : sampled) {
            if ((!point.on_front && point.id != 0) || point.status != PointStatus::done) continue;
            ++wanted;
            if (stored_.count({point.id, Fidelity::full}) != 0) continue;
            Design design;
            design.values = point.values;
            design.shown = point.shown;
            design.settings = point.settings;
            design.derived = point.derived;
            open.push_back({point.id, std::move(design)});
        }
        total_ = evaluated_ + wanted;
        work(std::move(open), Fidelity::full);
    }

    const Space& space_;
    const std::vector<Objective>& objectives_;
    const ExploreOptions& options_;
    Store& store_;
    Workers& workers_;
    std::map<std::pair<std::uint64_t, Fidelity>, Point> stored_;
    std::map<std::string, std::uint64_t> ids_;  ///< by key of the design
    std::map<std::uint64_t, double> violations_;
    std::uint64_t evaluated_ =
        0;  ///< designs that can be built and were asked for, the base device among them
    std::uint64_t total_ = 0, finished_ = 0;
};

}  // namespace

void explore(const Space& space, const std::vector<Objective>& objectives, const ExploreOptions& options,
             Store& store, Workers& workers) {
    Explorer explorer(space, objectives, options, store, workers);
    try {
        explorer.run();
    } catch (sim::Interrupted& interrupted) {
        interrupted.finished = explorer.kept();
        throw;
    }
}

std::string specification_of(const Space& space, const std::vector<Objective>& objectives,
                             const ExploreOptions& options, const std::vector<std::string>& workloads,
                             const std::string& details) {
    std::vector<std::string> vary, names;
    for (const Axis& axis : space.axes()) vary.push_back(axis.path + "=" + axis.text);
    std::string base;
    for (const sim::ParameterDescription& parameter : sim::describe_parameters(space.base()))
        base += parameter.path + "=" + parameter.value + "\n";
    Json json{{"hardware", space.base().name},
              {"hardware_values", sim::hash_text(base)},
              {"set", space.overrides()},
              {"workloads", workloads},
              {"workload_details", details},
              {"vary", vary},
              {"link", space.link_texts()},
              {"constraint", space.constraint_texts()},
              {"strategy", options.strategy.name},
              {"points", options.strategy.points},
              {"seed", options.strategy.seed},
              {"population", options.strategy.population},
              {"fidelity", name_of(options.fidelity)},
              {"training_steps", options.training_steps}};
    for (const Objective& objective : objectives) names.push_back(objective.name);
    json["objectives"] = names;
    json["axes"] = Json::array();
    for (const AxisSummary& axis : space.summaries())
        json["axes"].push_back({{"path", axis.path},
                                {"text", axis.text},
                                {"base", axis.base},
                                {"values", axis.values},
                                {"shown", axis.shown},
                                {"low", axis.low},
                                {"high", axis.high},
                                {"logarithmic", axis.logarithmic}});
    return json.dump();
}

Exploration read_exploration(const Store& store) {
    Exploration result;
    const Json json = Json::parse(store.meta("specification"));
    result.hardware = json.at("hardware").get<std::string>();
    result.workloads = json.at("workloads").get<std::vector<std::string>>();
    result.strategy = json.at("strategy").get<std::string>();
    result.seed = json.at("seed").get<std::uint64_t>();
    result.version = store.meta("version");
    result.links = json.at("link").get<std::vector<std::string>>();
    result.constraints = json.at("constraint").get<std::vector<std::string>>();
    for (const Json& axis : json.at("axes"))
        result.axes.push_back({axis.at("path").get<std::string>(), axis.at("text").get<std::string>(),
                               axis.at("base").get<std::string>(),
                               axis.at("values").get<std::vector<double>>(),
                               axis.at("shown").get<std::vector<std::string>>(), axis.at("low").get<double>(),
                               axis.at("high").get<double>(), axis.at("logarithmic").get<bool>()});
    for (const Json& name : json.at("objectives"))
        for (const Objective& objective : known_objectives())
            if (objective.name == name) result.objectives.push_back(objective);
    result.points = store.points();
    result.complete = store.is_complete();
    mark_front(result.points, result.objectives);
    return result;
}

}  // namespace heddle::explore
