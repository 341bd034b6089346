// Strategies choose the designs to evaluate. A strategy proposes batches and receives their results; its
// proposals depend only on its seed and those results, never on who evaluates them or in which order
// evaluations end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/explore/space.h"

namespace heddle::explore {

/// Which strategy is used, and its budget.
struct StrategyOptions {
    std::string name = "grid";
    std::uint64_t points = 100;  ///< number of distinct designs; ignored by grid and sensitivity
    std::uint64_t seed = 1;
    std::uint64_t population = 0;  ///< population of nsga2, moead and cmaes; 0: derived from the budget
};

/// Thrown by Batch when the budget is used up; a strategy does not catch it.
struct BudgetSpent {};

/// Evaluates designs and returns, for each, one value per objective, all to be minimised. A design that is
/// infeasible or failed gets values worse than those of all others, which grow with its violation.
using Batch = std::function<std::vector<std::vector<double>>(const std::vector<Position>& positions)>;

/// A method of choosing designs.
class Strategy {
  public:
    virtual ~Strategy() = default;
    /// Proposes designs until the strategy is finished or BudgetSpent is thrown.
    virtual void run(const Space& space, std::size_t objectives, const Batch& evaluate) = 0;
};

/// Returns "grid", "random", "latin-hypercube", "sobol", "sensitivity", "nsga2", "moead" and "cmaes".
const std::vector<std::string>& strategy_names();

/// Makes a strategy. Throws heddle::Error for unknown names, a grid over a continuous axis, a search without
/// axes, CMA-ES with several objectives, and MOEA/D and NSGA-II with one.
std::unique_ptr<Strategy> make_strategy(const StrategyOptions& options, const Space& space,
                                        std::size_t objectives);

/// Return, in order, the designs that a strategy without feedback proposes.
std::vector<Position> grid_positions(const Space& space);
std::vector<Position> random_positions(const Space& space, std::uint64_t count, std::uint64_t seed);
std::vector<Position> latin_hypercube_positions(const Space& space, std::uint64_t count, std::uint64_t seed);
std::vector<Position> sobol_positions(const Space& space, std::uint64_t count, std::uint64_t seed);
/// Varies one axis at a time over all its values (five of a continuous axis), with the others as in the base
/// device.
std::vector<Position> sensitivity_positions(const Space& space);

/// Makes one of the searches of pagmo2 (evolutionary_strategy.cpp is the only file that includes its
/// headers).
std::unique_ptr<Strategy> make_evolutionary_strategy(const StrategyOptions& options);
/// Returns the hypervolume that points (to be minimised) dominate, bounded by a reference point.
double hypervolume(const std::vector<std::vector<double>>& points, const std::vector<double>& reference);

}  // namespace heddle::explore
