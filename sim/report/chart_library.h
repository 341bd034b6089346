// Chart.js (MIT licence) as the distribution installs it: Debian's libjs-chart.js.
#pragma once

#include <string>

namespace heddle::sim {

/// The file, or empty when there is none: $HEDDLE_CHART_JS, what CMake found, then the usual places.
/// HEDDLE_CHART_JS=none: as if there were none.
std::string chart_library_path();

/// Its text, of version 3 or 4; empty when there is none or it cannot stand in a page.
std::string chart_library();

}  // namespace heddle::sim
