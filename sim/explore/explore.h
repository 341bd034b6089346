// An exploration from its first design to its front: a strategy asks, the store remembers, workers evaluate.
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

enum class FidelityPlan : std::uint8_t {
    sampled,  ///< every design
    full,     ///< every design
    front,    ///< every design sampled, then those of the front in full
};

struct Progress {
    std::uint64_t done = 0, total = 0;  ///< designs evaluated, and how many it will be as far as is known
    std::uint64_t kept = 0;             ///< of those that are done: before this run
    std::string best;                   ///< by the first objective: "time 26.4 us (design 3)"
};

struct ExploreOptions {
    StrategyOptions strategy;
    FidelityPlan fidelity = FidelityPlan::sampled;
    double training_steps = 0;
    std::function<void(const Progress&)> progress;
};

/// Evaluates the base device and what the strategy asks for, but for what the store has already. Returns when
/// the strategy came to its end. What it does depends on the store, on the strategy and on nothing else: the
/// order in which evaluations end changes nothing. Throws sim::Interrupted with the number of designs that
/// are kept.
void explore(const Space& space, const std::vector<Objective>& objectives, const ExploreOptions& options,
             Store& store, Workers& workers);

/// What a store holds, with its front marked.
Exploration read_exploration(const Store& store);

/// The specification that a store keeps: what decides which designs are evaluated, and how. JSON, keys in a
/// fixed order.
std::string specification_of(const Space& space, const std::vector<Objective>& objectives,
                             const ExploreOptions& options, const std::vector<std::string>& workloads,
                             const std::string& details);

}  // namespace heddle::explore
