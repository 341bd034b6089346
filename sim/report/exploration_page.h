// report.html of an exploration: which designs are worth building, and what decides about them.
#pragma once

#include <string>

#include "sim/explore/exploration.h"

namespace heddle::sim {

/// Pareto front, parallel coordinates, sensitivity, the winner beside the base, all points. One file without
/// links to anything outside it; the same bytes for the same points.
std::string exploration_html(const explore::Exploration& exploration);

/// The point that the page shows beside the base: of one objective the best; of several the point of the
/// front that is nearest to having the best of each, all scaled to the front's extent. nullptr when no point
/// is done.
const explore::Point* exploration_winner(const explore::Exploration& exploration);

}  // namespace heddle::sim
