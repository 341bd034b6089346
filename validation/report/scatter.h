// Charts of a comparison as inline SVG, which need no JavaScript.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// Simulated over captured, both on logarithmic axes, with the diagonal; a colour for each category, the
/// row's name when the mouse rests on a point. One chart for each unit; empty when no row has both figures.
std::string scatter_charts(const std::vector<ComparisonRow>& rows);

/// How many rows are how far off, in signed per cent. Empty when no row has both figures.
std::string error_histogram(const std::vector<ComparisonRow>& rows);

}  // namespace heddle::validation
