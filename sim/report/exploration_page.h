// report.html of an exploration: which designs are worth building, and which parameters matter.
#pragma once

#include <string>

#include "sim/explore/exploration.h"

namespace heddle::sim {

/// Returns a page with the Pareto front, parallel coordinates, sensitivity, the winner beside the base
/// device, and all points. It is one file without links to anything outside it, and has the same bytes for
/// the same points.
std::string exploration_html(const explore::Exploration& exploration);

/// Returns the point that the page compares with the base device. With one objective it is the best point;
/// with several, the point of the front that is nearest to the best value of every objective, where each
/// objective is scaled to the front's extent. Returns nullptr when no point is done.
const explore::Point* exploration_winner(const explore::Exploration& exploration);

}  // namespace heddle::sim
