// Where time and energy go, as charts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/report/chart.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// A row of parts by name.
struct PartsRow {
    std::string label;
    std::map<std::string, double> parts;
};

/// Stacked bars. Parts of time have their colours and their order (colours.h), however large they are; of
/// other parts the largest have a series each, and the rest is "other".
void add_stacked(Chart& chart, const std::vector<PartsRow>& rows);

/// What issue slots (GPU) or matrix units (TPU) did, by kind of op, weighted with time.
Chart stalls_by_kind(const RunResult& result);
/// The same of the slowest distinct kernels.
Chart stalls_by_kernel(const RunResult& result);
/// TPU: of each kind of unit over the whole step. Without series on a GPU.
Chart stalls_by_unit(const RunResult& result);
/// Joules by kind of op and by where they went. Without series where power is not modelled.
Chart energy_by_kind(const RunResult& result);

/// By falling time; equal times in the order of the step.
std::vector<const KernelResult*> slowest_kernels(const RunResult& result);

}  // namespace heddle::sim
