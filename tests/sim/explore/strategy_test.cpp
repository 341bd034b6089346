// Strategies against properties that define them and against problems whose answer is known.
#include "sim/explore/strategy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "isa/common/error.h"

using namespace heddle::explore;

namespace {

Space continuous_space() {
    return Space("h100-sxm", {}, {"clock=1000MHz..2000MHz", "hbm.bandwidth=2TB/s..4TB/s"}, {}, {});
}

/// 20 x 10 x 10 designs.
Space grid_space() {
    return Space("h100-sxm", {},
                 {"sm.count=20..400:20", "clock=1100MHz..2000MHz:100", "hbm.bandwidth=1..10TB/s:1"}, {}, {});
}

/// A roofline with power and area that grow with what is bought: cheap, and its front bends as that of a real
/// machine.
std::vector<double> roofline(const Space& space, const Position& position) {
    const std::vector<double> v = space.design(position).values;
    const double compute = 4e5 / (v[0] * v[1] * 1e-9), memory = 6e3 / (v[2] * 1e-12);
    return {std::max(compute, memory) + 0.1 * std::min(compute, memory),
            200 + 4 * v[0] * std::pow(v[1] * 1e-9, 1.5) + 40 * v[2] * 1e-12};
}

struct Search {
    std::vector<std::vector<double>> values;
    std::vector<Position> positions;
    std::size_t batches = 0, largest = 0;
};

/// What a strategy asks for with a budget of distinct designs.
Search search(const Space& space, StrategyOptions options, std::size_t objectives,
              const std::function<std::vector<double>(const Position&)>& function) {
    Search result;
    std::set<Position> seen;
    const auto strategy = make_strategy(options, space, objectives);
    try {
        strategy->run(space, objectives, [&](const std::vector<Position>& positions) {
            std::vector<std::vector<double>> values;
            ++result.batches;
            result.largest = std::max(result.largest, positions.size());
            for (const Position& position : positions) {
                if (seen.insert(position).second) {
                    if (result.positions.size() == options.points) throw BudgetSpent{};
                    result.positions.push_back(position);
                    result.values.push_back(function(position));
                }
                values.push_back(function(position));
            }
            return values;
        });
    } catch (const BudgetSpent&) {
    }
    return result;
}

}  // namespace

TEST_CASE("Latin hypercubes have one design in every stratum of every axis") {
    const Space space = continuous_space();
    const auto positions = latin_hypercube_positions(space, 40, 7);
    REQUIRE(positions.size() == 40);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        std::set<int> strata;
        for (const Position& position : positions) strata.insert(static_cast<int>(position[axis] * 40));
        CHECK(strata.size() == 40);
    }
    CHECK(positions == latin_hypercube_positions(space, 40, 7));
    CHECK(positions != latin_hypercube_positions(space, 40, 8));
}

TEST_CASE("Sobol sequences fill elementary intervals: 64 designs, one in each of 8 x 8 cells") {
    const Space space = continuous_space();
    for (const std::uint64_t seed : {1u, 2u, 99u}) {
        const auto positions = sobol_positions(space, 63, seed);
        REQUIRE(positions.size() == 63);
        std::set<std::pair<int, int>> cells;
        for (const Position& position : positions)
            cells.insert({static_cast<int>(position[0] * 8), static_cast<int>(position[1] * 8)});
        // Boost's sequence leaves out its first point, which is 0: one cell stays empty.
        CHECK(cells.size() == 63);
    }
}

TEST_CASE("random designs are distinct, obey constraints and come to an end in small spaces") {
    const Space space("h100-sxm", {}, {"sm.count=20..400:20", "l2.size=25MiB,50MiB"}, {},
                      {"sm.count <= 100"});
    const auto positions = random_positions(space, 8, 3);
    CHECK(std::set<Position>(positions.begin(), positions.end()).size() == 8);
    for (const Position& position : positions) CHECK(space.design(position).values[0] <= 100);
    CHECK(random_positions(space, 1000, 3).size() == 10);
    CHECK(sobol_positions(space, 1000, 3).size() == 10);
}

TEST_CASE("one at a time changes one axis and leaves the others as they are") {
    const Space space("h100-sxm", {}, {"sm.count=66,132", "clock=1000MHz..2000MHz"}, {}, {});
    const auto positions = sensitivity_positions(space);
    REQUIRE(positions.size() == 2 + 5);
    for (const Position& position : positions)
        CHECK(std::count(position.begin(), position.end(), kAsBase) == 1);
    CHECK(space.design(positions[0]).shown == std::vector<std::string>{"66", "1.98 GHz"});
    CHECK(space.design(positions[6]).shown == std::vector<std::string>{"132", "2 GHz"});
}

TEST_CASE("NSGA-II reaches 95 % of a grid's hypervolume with a tenth of its evaluations") {
    const Space space = grid_space();
    REQUIRE(space.grid_size() == 2000);
    std::vector<std::vector<double>> all;
    for (const Position& position : grid_positions(space)) all.push_back(roofline(space, position));
    std::vector<double> reference(2), best(2, 1e30);
    for (const auto& values : all) {
        for (std::size_t i = 0; i < 2; ++i) {
            reference[i] = std::max(reference[i], values[i]);
            best[i] = std::min(best[i], values[i]);
        }
    }
    // Both objectives on the same scale, as a hypervolume wants them.
    const auto scaled = [&](std::vector<std::vector<double>> points) {
        for (auto& point : points)
            for (std::size_t i = 0; i < 2; ++i)
                point[i] = std::log(point[i] / best[i]) / std::log(reference[i] / best[i]);
        return hypervolume(points, {1, 1});
    };
    const double grid = scaled(all);
    const auto with = [&](const std::string& name, std::uint64_t seed) {
        StrategyOptions options;
        options.name = name;
        options.points = 200;
        options.seed = seed;
        return search(space, options, 2, [&](const Position& position) { return roofline(space, position); });
    };
    double random = 0, found = 0;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        const Search nsga2 = with("nsga2", seed);
        CHECK(nsga2.positions.size() <= 200);
        CHECK(nsga2.largest >= 12);  // generations are batches
        CHECK(scaled(nsga2.values) >= 0.95 * grid);
        found += scaled(nsga2.values);
        random += scaled(with("random", seed).values);
        CHECK(nsga2.positions == with("nsga2", seed).positions);  // the same seed, the same designs
    }
    CHECK(found > random);
    CHECK(scaled(with("moead", 1).values) >= 0.9 * grid);
}

TEST_CASE("CMA-ES finds the optimum of a bowl, in batches") {
    const Space space = continuous_space();
    StrategyOptions options;
    options.name = "cmaes";
    options.points = 300;
    const auto bowl = [](const Position& p) {
        return std::vector<double>{std::pow(p[0] - 0.3, 2) + 10 * std::pow(p[1] - 0.7, 2)};
    };
    const Search result = search(space, options, 1, bowl);
    const auto best = std::min_element(result.values.begin(), result.values.end());
    const Position& at = result.positions[static_cast<std::size_t>(best - result.values.begin())];
    CHECK(at[0] == Approx(0.3).margin(0.01));
    CHECK(at[1] == Approx(0.7).margin(0.01));
    CHECK(result.largest >= 8);
}

TEST_CASE("hypervolumes of boxes") {
    CHECK(hypervolume({{0.5, 0.5}}, {1, 1}) == Approx(0.25));
    CHECK(hypervolume({{0.25, 0.75}, {0.75, 0.25}}, {1, 1}) == Approx(0.1875 * 2 - 0.0625));
    CHECK(hypervolume({{2, 0.5}}, {1, 1}) == 0);
}

TEST_CASE("strategies refuse what they cannot do") {
    const auto error = [](const std::string& name, const Space& space,
                          std::size_t objectives) -> std::string {
        StrategyOptions options;
        options.name = name;
        try {
            (void)make_strategy(options, space, objectives);
        } catch (const heddle::Error& failure) {
            return failure.what();
        }
        return "";
    };
    CHECK(error("gird", grid_space(), 2).find("did you mean `grid`") != std::string::npos);
    CHECK(error("grid", continuous_space(), 2).find("needs steps") != std::string::npos);
    CHECK(error("cmaes", grid_space(), 2).find("take nsga2") != std::string::npos);
    CHECK(error("nsga2", grid_space(), 1).find("take cmaes") != std::string::npos);
    CHECK(error("grid", Space("h100-sxm", {}, {}, {}, {}), 1).find("nothing is varied") != std::string::npos);
}
