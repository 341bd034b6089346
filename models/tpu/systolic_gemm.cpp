#include "models/tpu/systolic_gemm.h"

#include <algorithm>

namespace heddle::models {
OutputStationaryTimes time_output_stationary(const MatrixUnitConfig& config,
                                             const std::vector<OutputStationaryFold>& folds) {
    OutputStationaryTimes times;
    const std::uint64_t across = std::uint64_t{config.rows} + config.columns - 2;
    for (std::size_t i = 0; i < folds.size(); ++i) {
        const OutputStationaryFold& fold = folds[i];
        Cycle begin = fold.visible;
        if (i > 0) {
            const Cycle streamed = times.begin[i - 1] + folds[i - 1].depth;
            begin = std::max(
                begin, config.weight_buffering == WeightBuffering::single ? streamed + across : streamed);
            const Cycle results_out = streamed + 2 * config.rows - 1;
            if (results_out > fold.depth) begin = std::max(begin, results_out - fold.depth);
        }
        times.begin.push_back(begin);
        times.last_result.push_back(begin + 2 * (fold.rows - 1) + fold.columns - 1 + fold.depth);
        times.last_array_cycle = begin + fold.depth + across - 1;
    }
    return times;
}

std::vector<OutputStationaryFold> output_stationary_folds(const MatrixUnitConfig& config, std::uint32_t m,
                                                          std::uint32_t n, std::uint32_t k) {
    std::vector<OutputStationaryFold> folds;
    for (std::uint32_t row = 0; row < m; row += config.rows) {
        for (std::uint32_t column = 0; column < n; column += config.columns)
            folds.push_back({std::min(config.rows, m - row), std::min(config.columns, n - column), k, 0});
    }
    return folds;
}

Cycle systolic_gemm_cycles(Dataflow dataflow, const MatrixUnitConfig& config, MatrixUnitBench& bench,
                           std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    switch (dataflow) {
        case Dataflow::weight_stationary:
            return bench.run(weight_stationary_folds(config, m, n, k));
        case Dataflow::input_stationary:
            return bench.run(weight_stationary_folds(config, n, m, k));
        case Dataflow::output_stationary:
            return time_output_stationary(config, output_stationary_folds(config, m, n, k)).last_array_cycle;
    }
    return 0;
}

}  // namespace heddle::models
