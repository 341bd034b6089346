// report.html of a run, in one file without links to anything outside it.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns a page with the step over time, memory, where the time goes, roofline, energy, losses, ops and
/// kernels; docs/reports.md explains each part. The page has the same bytes in every run of the same input.
std::string report_html(const RunResult& result);

}  // namespace heddle::sim
