// An exploration for people, on a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "sim/explore/exploration.h"

namespace heddle::sim {

/// The front, the base device beside it, and what failed. `width`: of the lines, 0: no limit.
std::string format_exploration(const explore::Exploration& exploration, std::size_t width = 0);

}  // namespace heddle::sim
