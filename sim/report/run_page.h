// report.html of a run: the report for a browser, in one file without links to anything outside it.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// The step over time, memory, where the time goes, roofline, energy, losses, ops and kernels:
/// docs/reports.md says what to read from each. Same bytes in every run of the same thing.
std::string report_html(const RunResult& result);

}  // namespace heddle::sim
