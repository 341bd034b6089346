#include "models/tpu/tpu_result.h"

#include <algorithm>

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

std::vector<std::pair<std::string, double>> shares_of(const MatrixBreakdown& where) {
    const double told = where.raw_stall + where.input_stall + where.dma_wait + where.result_stall;
    return {{"useful", where.useful},
            {"unused", where.unused},
            {"weight stall", where.weight_stall},
            {"weight shift", where.weight_shift},
            {"RAW stall", where.raw_stall},
            {"input stall", where.input_stall},
            {"DMA wait", where.dma_wait},
            {"results", where.result_stall},
            {"no instruction", std::max(0.0, where.non_matrix - told)}};
}

std::map<std::string, std::map<std::string, double>> time_by_unit(const TpuResult& result) {
    std::map<std::string, std::map<std::string, double>> units;
    for (const auto& [reason, share] : shares_of(result.where)) units["matrix units"][reason] = share;
    const double all = static_cast<double>(result.cycles) * static_cast<double>(result.cores.size());
    const auto add = [&](const std::string& unit, const UnitTimes& times) {
        for (std::size_t state = 0; state < kUnitStates; ++state) {
            if (times[state] > 0)
                units[unit][name_of(static_cast<UnitState>(state))] +=
                    static_cast<double>(times[state]) / all;
        }
    };
    for (const TpuCoreResult& core : result.cores) {
        add("sequencer", core.sequencer.times);
        add("vector unit", core.vector.times);
        add("transpose unit", core.transposes.times);
        add("DMA loads", core.dma.load_times);
        add("DMA stores", core.dma.store_times);
        if (core.sparse_cores.loads + core.sparse_cores.stores == 0) continue;
        add("SparseCore loads", core.sparse_cores.load_times);
        add("SparseCore stores", core.sparse_cores.store_times);
    }
    // A core whose SparseCores had nothing to do counts, too.
    for (const char* const unit : {"SparseCore loads", "SparseCore stores"}) {
        if (units.count(unit) == 0) continue;
        double told = 0;
        for (const auto& [state, share] : units[unit]) told += share;
        units[unit][name_of(UnitState::empty)] += std::max(0.0, 1 - told);
    }
    return units;
}

}  // namespace heddle::models
