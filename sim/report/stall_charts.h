// Where time and energy go, as charts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/report/chart.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// One bar of a stacked chart: its label and its parts by name.
struct PartsRow {
    std::string label;
    std::map<std::string, double> parts;
};

/// Adds rows of stacked bars to a chart. Parts of time have fixed colours and a fixed order (colours.h). Of
/// other parts the largest become a series each, and the rest becomes "other".
void add_stacked(Chart& chart, const std::vector<PartsRow>& rows);

/// Shows the time of issue slots (GPU) or matrix units (TPU) by reason for each kind of op, weighted with
/// time.
Chart stalls_by_kind(const RunResult& result);
/// Shows the same for the slowest distinct kernels.
Chart stalls_by_kernel(const RunResult& result);
/// Shows the same for each kind of unit of a TPU over the whole step. Without series on a GPU.
Chart stalls_by_unit(const RunResult& result);
/// Shows joules by kind of op and consumer. Without series where power is not modelled.
Chart energy_by_kind(const RunResult& result);

/// Returns the kernels of a run, the longest time first; equal times stay in the order of the step. The
/// pointers refer to `result`.
std::vector<const KernelResult*> slowest_kernels(const RunResult& result);

}  // namespace heddle::sim
