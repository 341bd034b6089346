// The cycles of a product on a systolic array by the published formulas (SCALE-Sim, "a systolic CNN
// accelerator simulator", 2020), without overlap of folds.
#pragma once

#include <cstdint>

#include "models/tpu/systolic_gemm.h"

namespace heddle::models::test {

/// c[m, n] = a[m, k] b[k, n] on an array of `rows` x `columns`: the cycle in which the last processing
/// element works, counted from 0.
inline Cycle scale_sim_formula(Dataflow dataflow, std::uint64_t rows, std::uint64_t columns, std::uint64_t m,
                               std::uint64_t n, std::uint64_t k) {
    const auto folds = [](std::uint64_t extent, std::uint64_t part) { return (extent + part - 1) / part; };
    switch (dataflow) {
        case Dataflow::weight_stationary:
            return folds(k, rows) * folds(n, columns) * (2 * rows + columns + m - 2) - 1;
        case Dataflow::input_stationary:
            return folds(k, rows) * folds(m, columns) * (2 * rows + columns + n - 2) - 1;
        case Dataflow::output_stationary:
            return folds(m, rows) * folds(n, columns) * (rows + columns + k - 2) - 1;
    }
    return 0;
}

}  // namespace heddle::models::test
