// Charts of a comparison.
#pragma once

#include <string>
#include <vector>

#include "sim/report/chart.h"
#include "validation/compare/result.h"

namespace heddle::validation {

/// Simulated over captured, both on logarithmic axes, with the diagonal; a series for each category. One
/// chart for each unit; none when no row has both figures. `prefix` begins the charts' ids.
std::vector<sim::Chart> scatter_charts(const std::vector<ComparisonRow>& rows, const std::string& prefix);

/// Signed error over the captured figure: are small or large ones further off? One chart for each unit.
std::vector<sim::Chart> error_charts(const std::vector<ComparisonRow>& rows, const std::string& prefix);

/// How many rows are how far off, in signed per cent. Without series when no row has both figures.
sim::Chart error_histogram(const std::vector<ComparisonRow>& rows, const std::string& prefix);

}  // namespace heddle::validation
