// report.html: the report for a browser, in one file without links to anything outside it.
#pragma once

#include <string>

#include "sim/run/result.h"

namespace heddle::sim {

/// Tables and inline SVG charts: time by op kind (beside the measured one), where the slowest kernels spend
/// their time, utilisation. Same bytes in every run of the same thing.
std::string report_html(const RunResult& result);

}  // namespace heddle::sim
