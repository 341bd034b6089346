// Without overlap of folds the arrays take exactly the cycles that SCALE-Sim counts, in all three dataflows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "models/tpu/systolic_gemm.h"
#include "scale_sim_formula.h"

using namespace heddle;
using namespace heddle::models;

namespace {

MatrixUnitConfig array_of(unsigned rows, unsigned columns) {
    MatrixUnitConfig config;
    config.rows = rows;
    config.columns = columns;
    config.weight_buffering = WeightBuffering::single;
    config.accumulator_rows = 16384;
    return config;
}

struct Row {
    Dataflow dataflow = Dataflow::weight_stationary;
    unsigned rows, columns, m, n, k;
    Cycle cycles;
};

constexpr Dataflow kWeights = Dataflow::weight_stationary, kOutputs = Dataflow::output_stationary,
                   kInputs = Dataflow::input_stationary;

}  // namespace

TEST_CASE("folds take SCALE-Sim's cycles in all three dataflows") {
    ClockDomain clock("clock", 1e9);
    MatrixUnitBench small("small", clock, array_of(128, 128)), large("large", clock, array_of(256, 256));
    // Counted by SCALE-Sim v3 (no memory stalls).
    std::vector<Row> rows{
        {kWeights, 128, 128, 128, 128, 128, 509},   {kWeights, 256, 256, 256, 256, 256, 1021},
        {kWeights, 128, 128, 512, 512, 512, 14303}, {kWeights, 128, 128, 100, 200, 300, 2891},
        {kWeights, 128, 128, 1, 1024, 1024, 24511}, {kOutputs, 128, 128, 100, 200, 300, 1107},
        {kInputs, 128, 128, 100, 200, 300, 1745}};
    const std::size_t known = rows.size();
    const char* const given = std::getenv("HEDDLE_DATA");
    const std::string data = given != nullptr ? given : HEDDLE_SOURCE_DIR "/../shared/data";
    std::ifstream file(data + "/gemm/systolic_cycles.csv");
    if (!file) std::cout << "skipped: " << data << "/gemm/systolic_cycles.csv is not there\n";
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::replace(line.begin(), line.end(), ',', ' ');
        std::istringstream words(line);
        Row row{};
        std::string dataflow;
        words >> row.rows >> row.columns >> dataflow >> row.m >> row.n >> row.k >> row.cycles;
        REQUIRE((words && (dataflow == "ws" || dataflow == "os" || dataflow == "is")));
        row.dataflow = dataflow == "ws" ? kWeights : dataflow == "os" ? kOutputs : kInputs;
        rows.push_back(row);
    }
    if (rows.size() > known) CHECK(rows.size() - known >= 40);
    for (const bool every_cycle : {false, true}) {
        clock.set_tick_every_cycle(every_cycle);
        for (const Row& row : rows) {
            if (every_cycle && row.cycles > 20000) continue;
            MatrixUnitBench& bench = row.rows == 128 ? small : large;
            REQUIRE(row.rows == row.columns);
            INFO(row.rows << " x " << row.columns << ": " << row.m << " " << row.n << " " << row.k);
            const Cycle cycles = systolic_gemm_cycles(row.dataflow, array_of(row.rows, row.columns), bench,
                                                      row.m, row.n, row.k);
            CHECK(cycles == row.cycles);
        }
    }
}

TEST_CASE("with shadow weights a block costs the larger of its rows and the array's height") {
    // "in steady state a block costs max(rows, array height) and the preload is hidden"; the TPU's MXU takes
    // bf16[8,128] @ bf16[128,128] every 8 cycles once its weights are in.
    ClockDomain clock("clock", 1e9);
    MatrixUnitConfig config = array_of(128, 128);
    config.weight_buffering = WeightBuffering::dual;
    MatrixUnitBench bench("bench", clock, config);
    for (const unsigned m : {1u, 8u, 127u, 128u, 129u, 1000u}) {
        const Cycle one = bench.run(weight_stationary_folds(config, m, 128, 128));
        const Cycle ten = bench.run(weight_stationary_folds(config, m, 1280, 128));
        CHECK(one == 2 * 128 + 128 + m - 3);
        CHECK(ten - one == 9 * std::max(m, 128u));
    }
}

TEST_CASE("the published formulas hold over a random grid") {
    std::mt19937 random(11);
    const auto pick = [&](unsigned low, unsigned high) {
        return std::uniform_int_distribution<unsigned>(low, high)(random);
    };
    ClockDomain clock("clock", 1e9);
    // SystemC elaborates before it runs: all benches first.
    std::vector<MatrixUnitConfig> configs;
    std::vector<std::unique_ptr<MatrixUnitBench>> benches;
    for (unsigned array = 0; array < 40; ++array) {
        configs.push_back(array_of(pick(1, 300), pick(1, 300)));
        const std::string name = "bench_" + std::to_string(array);
        benches.push_back(std::make_unique<MatrixUnitBench>(name.c_str(), clock, configs.back()));
    }
    for (std::size_t array = 0; array < configs.size(); ++array) {
        const unsigned rows = configs[array].rows, columns = configs[array].columns;
        for (unsigned shape = 0; shape < 25; ++shape) {
            const unsigned m = pick(1, 1000), n = pick(1, 1000);
            // Results of shallower folds than this meet on their way out; the formula knows no way out.
            const unsigned k = pick(rows > columns ? rows - columns + 1 : 1, 1300);
            INFO(rows << " x " << columns << ": " << m << " " << n << " " << k);
            for (const Dataflow dataflow : {kWeights, kOutputs, kInputs}) {
                CHECK(systolic_gemm_cycles(dataflow, configs[array], *benches[array], m, n, k) ==
                      test::scale_sim_formula(dataflow, rows, columns, m, n, k));
            }
        }
    }
}
