// An exploration as text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "sim/explore/exploration.h"

namespace heddle::sim {

/// Lists the Pareto front, the base device for comparison, and the points that failed. `width` is the largest
/// number of columns of a line; 0: no limit.
std::string format_exploration(const explore::Exploration& exploration, std::size_t width = 0);

}  // namespace heddle::sim
