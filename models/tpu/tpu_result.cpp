#include "models/tpu/tpu_result.h"

namespace heddle::models {

void MatrixBreakdown::add(const MatrixUnitStatistics& unit) {
    const auto in = [&](UnitState state) {
        return static_cast<double>(unit.times[static_cast<std::size_t>(state)]);
    };
    active += in(UnitState::working);
    useful += unit.useful_cycles;
    weight_stall += in(UnitState::weights);
    weight_shift += in(UnitState::weight_shift);
    raw_stall += in(UnitState::results);
    input_stall += in(UnitState::input);
    dma_wait += in(UnitState::transfer);
    result_stall += in(UnitState::accumulator) + in(UnitState::on_chip_memory);
    for (std::size_t state = 0; state < kUnitStates; ++state)
        non_matrix += static_cast<double>(unit.times[state]);
}

void MatrixBreakdown::divide(double cycles) {
    non_matrix -= active + weight_stall + weight_shift;  // all times so far
    unused = active - useful;
    for (double* const share : {&active, &useful, &unused, &weight_stall, &weight_shift, &non_matrix,
                                &raw_stall, &input_stall, &dma_wait, &result_stall})
        *share /= cycles;
}

}  // namespace heddle::models
