// NSGA-II, MOEA/D and CMA-ES of pagmo2. Generations are evaluated as batches; everything runs in the calling
// thread.
#include <algorithm>
#include <cmath>
#include <map>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/cmaes.hpp>
#include <pagmo/algorithms/moead.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/bfe.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/utils/hypervolume.hpp>

#include "sim/explore/strategy.h"

namespace heddle::explore {
namespace {

using pagmo::vector_double;

/// Generations without a new design before a search ends: it has found what it finds.
constexpr unsigned kStaleGenerations = 50;

/// What the problem, its copies inside pagmo, and the batch evaluator share.
struct Search {
    const Space* space = nullptr;
    std::size_t objectives = 0;
    const Batch* evaluate = nullptr;
    std::map<Position, std::vector<double>> known;
    /// CMA-ES draws a whole generation and evaluates it one by one: a rehearsal collects what will be asked
    /// for.
    bool rehearsal = false;
    std::vector<Position> collected;
    bool anything_new = false;

    Position position_of(const vector_double& x) const {
        Position position;
        for (std::size_t d = 0; d < x.size(); ++d) {
            const Axis& axis = space->axes()[d];
            const double count = static_cast<double>(axis.values.size());
            position.push_back(axis.continuous() ? x[d]
                                                 : std::clamp(std::floor(x[d] * count), 0.0, count - 1));
        }
        return position;
    }

    std::vector<vector_double> fitness_of(const std::vector<Position>& positions) {
        std::vector<Position> open;
        for (const Position& position : positions)
            if (known.count(position) == 0 && std::find(open.begin(), open.end(), position) == open.end())
                open.push_back(position);
        if (!open.empty()) {
            anything_new = true;
            const auto values = (*evaluate)(open);
            for (std::size_t i = 0; i < open.size(); ++i) known[open[i]] = values[i];
        }
        std::vector<vector_double> result;
        result.reserve(positions.size());
        for (const Position& position : positions) result.push_back(known.at(position));
        return result;
    }
};

/// A user-defined problem of pagmo.
struct DesignProblem {
    Search* search = nullptr;

    vector_double fitness(const vector_double& x) const {
        const Position position = search->position_of(x);
        if (search->rehearsal) {
            search->collected.push_back(position);
            return vector_double(search->objectives, 0.0);
        }
        return search->fitness_of({position}).front();
    }
    vector_double::size_type get_nobj() const { return search == nullptr ? 1 : search->objectives; }
    /// Places on the axes: steps lie beside each other there, as whole numbers of pagmo would not.
    std::pair<vector_double, vector_double> get_bounds() const {
        const std::size_t dimensions = search == nullptr ? 1 : search->space->dimensions();
        return {vector_double(dimensions, 0.0), vector_double(dimensions, 1.0)};
    }
    pagmo::thread_safety get_thread_safety() const { return pagmo::thread_safety::none; }
    /// pagmo asks for it; nothing is ever stored.
    template <class Archive>
    void serialize(Archive&, unsigned) {}
};

/// A user-defined batch evaluator of pagmo: one batch for our workers.
struct BatchOfDesigns {
    Search* search = nullptr;

    vector_double operator()(const pagmo::problem& problem, const vector_double& packed) const {
        const std::size_t dimensions = problem.get_nx();
        std::vector<Position> positions;
        for (std::size_t begin = 0; begin < packed.size(); begin += dimensions) {
            positions.push_back(search->position_of(
                vector_double(packed.begin() + static_cast<std::ptrdiff_t>(begin),
                              packed.begin() + static_cast<std::ptrdiff_t>(begin + dimensions))));
        }
        vector_double result;
        for (const vector_double& values : search->fitness_of(positions))
            result.insert(result.end(), values.begin(), values.end());
        return result;
    }
    pagmo::thread_safety get_thread_safety() const { return pagmo::thread_safety::none; }
    /// pagmo asks for it; nothing is ever stored.
    template <class Archive>
    void serialize(Archive&, unsigned) {}
};

class Evolutionary : public Strategy {
  public:
    explicit Evolutionary(const StrategyOptions& options) : options_(options) {}

    void run(const Space& space, std::size_t objectives, const Batch& evaluate) override {
        Search search;
        search.space = &space;
        search.objectives = objectives;
        search.evaluate = &evaluate;
        const auto seed = static_cast<unsigned>(options_.seed);
        const pagmo::problem problem{DesignProblem{&search}};
        pagmo::population population(problem, pagmo::bfe{BatchOfDesigns{&search}}, population_size(), seed);
        if (options_.name == "nsga2") {
            // Chosen by trial on three rooflines of 2,000 designs with 20 seeds each: small generations, wide
            // steps.
            const double mutation = std::clamp(1.5 / static_cast<double>(space.dimensions()), 0.1, 0.5);
            pagmo::nsga2 algorithm(1, 0.7, 5, mutation, 5, seed);
            algorithm.set_bfe(pagmo::bfe{BatchOfDesigns{&search}});
            evolve(algorithm, population, search);
        } else if (options_.name == "moead") {
            const auto neighbours = std::min<std::size_t>(10, population.size() - 1);
            evolve(pagmo::moead(1, "low discrepancy", "tchebycheff", neighbours, 1.0, 0.5, 20, 0.9, 2, true,
                                seed),
                   population, search);
        } else {
            evolve(pagmo::cmaes(1, -1, -1, -1, -1, 0.3, 1e-6, 1e-6, true, true, seed), population, search);
        }
    }

  private:
    std::size_t population_size() const {
        if (options_.population != 0) return std::max<std::size_t>(8, (options_.population + 3) / 4 * 4);
        // A dozen generations, and of each enough to choose from; nsga2 wants a multiple of four.
        return std::clamp<std::size_t>((options_.points / 12 + 3) / 4 * 4, 12, 100);
    }

    /// Until the budget is spent, which the batch throws, or nothing new comes.
    template <class Algorithm>
    void evolve(Algorithm algorithm, pagmo::population& population, Search& search) {
        for (unsigned stale = 0; stale < kStaleGenerations;) {
            search.anything_new = false;
            if constexpr (std::is_same_v<Algorithm, pagmo::cmaes>) rehearse(algorithm, population, search);
            population = algorithm.evolve(population);
            stale = search.anything_new ? 0 : stale + 1;
        }
    }

    /// A copy of the algorithm draws the same generation; its designs are evaluated as one batch.
    void rehearse(const pagmo::cmaes& algorithm, const pagmo::population& population, Search& search) {
        // A copy, as evolve() moves the generator on, which is mutable.
        // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
        const pagmo::cmaes copy = algorithm;
        search.rehearsal = true;
        search.collected.clear();
        (void)copy.evolve(population);
        search.rehearsal = false;
        search.fitness_of(search.collected);
    }

    StrategyOptions options_;
};

}  // namespace

std::unique_ptr<Strategy> make_evolutionary_strategy(const StrategyOptions& options) {
    return std::make_unique<Evolutionary>(options);
}

double hypervolume(const std::vector<std::vector<double>>& points, const std::vector<double>& reference) {
    std::vector<vector_double> below;
    for (const auto& point : points) {
        bool inside = true;
        for (std::size_t i = 0; i < point.size(); ++i) inside = inside && point[i] < reference[i];
        if (inside) below.push_back(point);
    }
    return below.empty() ? 0 : pagmo::hypervolume(below).compute(reference);
}

}  // namespace heddle::explore
