// A matrix product on one systolic array and nothing else, in any dataflow: for comparison with other
// simulators and with closed formulas.
//
// Weight-stationary and input-stationary are one array with the operands exchanged; its time is MatrixUnit's.
// The output-stationary array is modelled per fold here, proved equal to one cell by cell
// (output_stationary_cells.h). With R rows and C columns, in cycles:
//  - a fold of K products begins when both edges are free: K after the beginning of the fold before, or, when
//    folds do not overlap, when the array is empty, K + R + C - 2 after it.
//  - it waits, too, until its results cannot meet those of the fold before on their way out: its end lies at
//    least 2 R - 1 after the other's.
//  - its last result has left m + m + n + K - 2 after its beginning, for m rows and n columns.
#pragma once

#include <cstdint>
#include <vector>

#include "models/tpu/tpu_config.h"
#include "models/tpu/weight_stationary_gemm.h"

namespace heddle::models {

/// A block of rows x columns results over `depth` products each.
struct OutputStationaryFold {
    std::uint32_t rows = 0, columns = 0, depth = 0;  ///< of the fold's product
    Cycle visible = 0;                               ///< first cycle in which it may begin
};
/// Cycles in which each fold ran.
struct OutputStationaryTimes {
    std::vector<Cycle> begin, last_result;  ///< per fold
    Cycle last_array_cycle = 0;             ///< in which the last processing element worked
};
/// Runs the folds in order on one array, in closed form by the rules above; no SystemC is involved.
OutputStationaryTimes time_output_stationary(const MatrixUnitConfig& config,
                                             const std::vector<OutputStationaryFold>& folds);

/// c[m, n] = a[m, k] b[k, n]: a fold for each block of outputs.
std::vector<OutputStationaryFold> output_stationary_folds(const MatrixUnitConfig& config, std::uint32_t m,
                                                          std::uint32_t n, std::uint32_t k);

/// The cycle in which the last processing element works, counted from 0 (SCALE-Sim's convention). `bench` is
/// a matrix unit of the same configuration, used for the weight- and input-stationary dataflows.
Cycle systolic_gemm_cycles(Dataflow dataflow, const MatrixUnitConfig& config, MatrixUnitBench& bench,
                           std::uint32_t m, std::uint32_t n, std::uint32_t k);

}  // namespace heddle::models
