// Chart.js (MIT licence) as the distribution installs it: Debian's libjs-chart.js.
#pragma once

#include <string>

namespace heddle::sim {

/// Returns the path of the library, or an empty text when it is not found: $HEDDLE_CHART_JS, the path that
/// CMake found, then the usual places. HEDDLE_CHART_JS=none disables the library.
std::string chart_library_path();

/// Returns the library's text when it is version 3 or 4; empty when there is none or it cannot be put into a
/// page.
std::string chart_library();

}  // namespace heddle::sim
