// Which designs to ask for. A strategy asks in batches and is told what came of them; what it asks for
// depends on its seed and the answers alone, never on who evaluates them or in which order they end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/explore/space.h"

namespace heddle::explore {

struct StrategyOptions {
    std::string name = "grid";
    std::uint64_t points = 100;  ///< distinct designs to evaluate; of a grid and of sensitivity all
    std::uint64_t seed = 1;
    std::uint64_t population = 0;  ///< of nsga2, moead and cmaes; 0: chosen by the budget
};

/// Thrown by Batch when the budget is spent; a strategy lets it pass.
struct BudgetSpent {};

/// Evaluates designs and returns what is to be minimised, by objective. What cannot be built or failed is
/// worse than all else, the more so the further it is from what can be.
using Batch = std::function<std::vector<std::vector<double>>(const std::vector<Position>& positions)>;

class Strategy {
  public:
    virtual ~Strategy() = default;
    /// Asks until it is done, or until BudgetSpent comes.
    virtual void run(const Space& space, std::size_t objectives, const Batch& evaluate) = 0;
};

/// "grid", "random", "latin-hypercube", "sobol", "sensitivity", "nsga2", "moead", "cmaes".
const std::vector<std::string>& strategy_names();

/// Throws heddle::Error for unknown names, a grid over a range without steps, a search without axes, CMA-ES
/// with several objectives, MOEA/D and NSGA-II with one.
std::unique_ptr<Strategy> make_strategy(const StrategyOptions& options, const Space& space,
                                        std::size_t objectives);

/// The designs that a strategy without feedback asks for, in order.
std::vector<Position> grid_positions(const Space& space);
std::vector<Position> random_positions(const Space& space, std::uint64_t count, std::uint64_t seed);
std::vector<Position> latin_hypercube_positions(const Space& space, std::uint64_t count, std::uint64_t seed);
std::vector<Position> sobol_positions(const Space& space, std::uint64_t count, std::uint64_t seed);
/// One axis at a time takes all its values (of a continuous one, five), the others are as in the base device.
std::vector<Position> sensitivity_positions(const Space& space);

/// The searches of pagmo2 (evolutionary_strategy.cpp, the only place that sees its headers).
std::unique_ptr<Strategy> make_evolutionary_strategy(const StrategyOptions& options);
/// The hypervolume that points (to be minimised) dominate below a reference point.
double hypervolume(const std::vector<std::vector<double>>& points, const std::vector<double>& reference);

}  // namespace heddle::explore
