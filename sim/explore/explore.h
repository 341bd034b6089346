// An exploration from its first design to its front: a strategy proposes designs, workers evaluate them, and
// the store keeps the results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/explore/evaluator.h"
#include "sim/explore/exploration.h"
#include "sim/explore/objectives.h"
#include "sim/explore/space.h"
#include "sim/explore/store.h"
#include "sim/explore/strategy.h"
#include "sim/explore/workers.h"

namespace heddle::explore {

/// Which designs are evaluated at which fidelity.
enum class FidelityPlan : std::uint8_t {
    sampled,  ///< every design
    full,     ///< every design
    front,    ///< every design sampled, then those on the front in full
};

/// How far an exploration has come.
struct Progress {
    std::uint64_t done = 0, total = 0;  ///< designs evaluated, and the number expected in the end
    std::uint64_t kept = 0;             ///< evaluated designs whose results an earlier run stored
    std::string best;                   ///< best point by the first objective: "time 26.4 us (design 3)"
};

/// Options of one exploration. `training_steps` is the length of the training for objectives of a whole
/// training run.
struct ExploreOptions {
    StrategyOptions strategy;
    FidelityPlan fidelity = FidelityPlan::sampled;
    double training_steps = 0;
    std::function<void(const Progress&)> progress;
};

/// Evaluates the base device and every design that the strategy proposes, except those whose results the
/// store has. Returns when the strategy has finished. The result depends only on the store and the strategy,
/// not on the order in which evaluations end. Throws sim::Interrupted with the number of stored designs.
void explore(const Space& space, const std::vector<Objective>& objectives, const ExploreOptions& options,
             Store& store, Workers& workers);

/// Reads everything in a store and marks the Pareto front.
Exploration read_exploration(const Store& store);

/// Returns the specification that a store keeps, which determines the designs and how they are evaluated. It
/// is JSON with keys in a fixed order.
std::string specification_of(const Space& space, const std::vector<Objective>& objectives,
                             const ExploreOptions& options, const std::vector<std::string>& workloads,
                             const std::string& details);

}  // namespace heddle::explore
