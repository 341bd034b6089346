#include "sim/explore/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <random>
#include <set>

#include "isa/common/error.h"

namespace heddle::explore {
namespace {

/// Draws end when so many one after the other brought nothing new.
constexpr std::uint64_t kPatience = 5000;
constexpr std::uint64_t kMostGrid = 1000000;
constexpr unsigned kStepsOfContinuous = 5;

/// 0..1; the standard library's distributions differ from one library to the next.
double unit(std::mt19937_64& random) {
    return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// A coordinate of 0..1 to one of the axis.
double coordinate(const Axis& axis, double part) {
    if (axis.continuous()) return part;
    const double count = static_cast<double>(axis.values.size());
    return std::min(std::floor(part * count), count - 1);
}

/// Keeps designs that can be built, each once, until there are enough.
class Collector {
  public:
    Collector(const Space& space, std::uint64_t count) : space_(space), count_(count) {}
    bool wants_more() const { return found_.size() < count_ && in_vain_ < kPatience; }
    void offer(const std::vector<double>& parts) {
        ++in_vain_;
        Position position;
        for (std::size_t d = 0; d < parts.size(); ++d)
            position.push_back(coordinate(space_.axes()[d], parts[d]));
        if (!seen_.insert(position).second || !space_.design(position).infeasible.empty()) return;
        in_vain_ = 0;
        found_.push_back(position);
    }
    std::vector<Position> found() { return std::move(found_); }

  private:
    const Space& space_;
    std::uint64_t count_, in_vain_ = 0;
    std::set<Position> seen_;
    std::vector<Position> found_;
};

/// A list of designs that is known before any is evaluated.
class Listed : public Strategy {
  public:
    explicit Listed(std::function<std::vector<Position>(const Space&)> list) : list_(std::move(list)) {}
    void run(const Space& space, std::size_t, const Batch& evaluate) override { evaluate(list_(space)); }

  private:
    std::function<std::vector<Position>(const Space&)> list_;
};

}  // namespace

std::vector<Position> grid_positions(const Space& space) {
    std::vector<Position> positions;
    for (std::uint64_t i = 0; i < space.grid_size(); ++i) positions.push_back(space.grid_position(i));
    return positions;
}

std::vector<Position> random_positions(const Space& space, std::uint64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Collector collector(space, count);
    while (collector.wants_more()) {
        std::vector<double> parts(space.dimensions());
        for (double& part : parts) part = unit(random);
        collector.offer(parts);
    }
    return collector.found();
}

std::vector<Position> latin_hypercube_positions(const Space& space, std::uint64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Position> positions(count, Position(space.dimensions()));
    for (std::size_t d = 0; d < space.dimensions(); ++d) {
        std::vector<std::uint64_t> strata(count);
        for (std::uint64_t i = 0; i < count; ++i) strata[i] = i;
        for (std::uint64_t i = count; i > 1; --i)
            std::swap(strata[i - 1],
                      strata[static_cast<std::uint64_t>(unit(random) * static_cast<double>(i))]);
        for (std::uint64_t i = 0; i < count; ++i) {
            const double part = (static_cast<double>(strata[i]) + unit(random)) / static_cast<double>(count);
            positions[i][d] = coordinate(space.axes()[d], part);
        }
    }
    return positions;
}

std::vector<Position> sobol_positions(const Space& space, std::uint64_t count, std::uint64_t seed) {
    boost::random::sobol sequence(space.dimensions());
    // A digital shift by the seed keeps every stratum of the sequence.
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> shift(space.dimensions());
    for (std::uint64_t& bits : shift) bits = random();
    Collector collector(space, count);
    while (collector.wants_more()) {
        std::vector<double> parts;
        parts.reserve(shift.size());
        for (const std::uint64_t bits : shift)
            parts.push_back(static_cast<double>((sequence() ^ bits) >> 11) * 0x1p-53);
        collector.offer(parts);
    }
    return collector.found();
}

std::vector<Position> sensitivity_positions(const Space& space) {
    std::vector<Position> positions;
    for (std::size_t d = 0; d < space.dimensions(); ++d) {
        const Axis& axis = space.axes()[d];
        const std::size_t steps = axis.continuous() ? kStepsOfContinuous : axis.values.size();
        for (std::size_t i = 0; i < steps; ++i) {
            positions.push_back(space.base_position());
            positions.back()[d] = axis.continuous() ? static_cast<double>(i) / (kStepsOfContinuous - 1)
                                                    : static_cast<double>(i);
        }
    }
    return positions;
}

const std::vector<std::string>& strategy_names() {
    static const std::vector<std::string> names{"grid",        "random", "latin-hypercube", "sobol",
                                                "sensitivity", "nsga2",  "moead",           "cmaes"};
    return names;
}

std::unique_ptr<Strategy> make_strategy(const StrategyOptions& options, const Space& space,
                                        std::size_t objectives) {
    const auto refuse = [](const std::string& problem, const std::string& remedy) {
        throw Error(problem, {"--strategy", 0, ""}, remedy);
    };
    const auto& names = strategy_names();
    if (std::find(names.begin(), names.end(), options.name) == names.end()) {
        const std::string near = nearest_word(options.name, names.data(), names.size());
        std::string all;
        for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
        refuse("there is no strategy `" + options.name + "`",
               near.empty() ? "known: " + all : "did you mean `" + near + "`?");
    }
    if (space.dimensions() == 0)
        throw Error("nothing is varied", {"--vary", 0, ""}, "write --vary 'sm.count=66..264:33'");
    if (options.name == "grid") {
        for (const Axis& axis : space.axes())
            if (axis.continuous())
                throw Error(
                    "a grid needs steps, and `" + axis.text + "` has none", {"--vary", 0, axis.path},
                    "write a step (`LOW..HIGH:STEP`, `LOW..HIGH:*FACTOR`), or take another --strategy");
        if (space.grid_size() > kMostGrid)
            refuse(fmt::format("the grid has {} designs, and at most {} are asked for", space.grid_size(),
                               kMostGrid),
                   "take larger steps, or --strategy sobol --points N");
        return std::make_unique<Listed>(grid_positions);
    }
    if (options.points == 0) throw Error("no design is asked for", {"--points", 0, ""}, "write --points 100");
    if (options.name == "sensitivity") return std::make_unique<Listed>(sensitivity_positions);
    const auto listed = [&](auto function) {
        return std::make_unique<Listed>([function, options](const Space& where) {
            return function(where, options.points, options.seed);
        });
    };
    if (options.name == "random") return listed(random_positions);
    if (options.name == "latin-hypercube") return listed(latin_hypercube_positions);
    if (options.name == "sobol") return listed(sobol_positions);
    if (options.name == "cmaes" && objectives != 1)
        refuse("cmaes makes one figure small, and there are several", "take nsga2, or one objective");
    if (options.name != "cmaes" && objectives < 2)
        refuse("`" + options.name + "` weighs several objectives, and there is one",
               "take cmaes, or --minimise time,area");
    return make_evolutionary_strategy(options);
}

}  // namespace heddle::explore
