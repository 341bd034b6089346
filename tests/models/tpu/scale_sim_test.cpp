// Without shadow weights the matrix unit takes exactly the cycles that SCALE-Sim counts (weight-stationary).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "models/tpu/weight_stationary_gemm.h"

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
    unsigned rows, columns, m, n, k;
    Cycle cycles;
};

}  // namespace

TEST_CASE("weight-stationary folds take SCALE-Sim's cycles") {
    ClockDomain clock("clock", 1e9);
    MatrixUnitBench small("small", clock, array_of(128, 128)), large("large", clock, array_of(256, 256));
    // Counted by SCALE-Sim v3 (weight-stationary, no memory stalls).
    std::vector<Row> rows{{128, 128, 128, 128, 128, 509},
                          {256, 256, 256, 256, 256, 1021},
                          {128, 128, 512, 512, 512, 14303},
                          {128, 128, 100, 200, 300, 2891},
                          {128, 128, 1, 1024, 1024, 24511}};
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
        if (dataflow == "ws") rows.push_back(row);
    }
    for (const bool every_cycle : {false, true}) {
        clock.set_tick_every_cycle(every_cycle);
        for (const Row& row : rows) {
            if (every_cycle && row.cycles > 20000) continue;
            MatrixUnitBench& bench = row.rows == 128 ? small : large;
            REQUIRE(row.rows == row.columns);
            INFO(row.rows << " x " << row.columns << ": " << row.m << " " << row.n << " " << row.k);
            const Cycle cycles =
                bench.run(weight_stationary_folds(array_of(row.rows, row.columns), row.m, row.n, row.k));
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
