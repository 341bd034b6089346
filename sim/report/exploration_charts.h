// Charts of an exploration.
#pragma once

#include <string>
#include <vector>

#include "sim/explore/exploration.h"
#include "sim/report/chart.h"

namespace heddle::sim {

/// Returns, ordered by id, the points that have objectives and the highest fidelity at which their design was
/// simulated. The pointers refer to `exploration`.
std::vector<const explore::Point*> shown_points(const explore::Exploration& exploration);

/// Returns the id and the parameters of a point: "17: sm.count=132, l2.size=50 MiB".
std::string name_of_point(const explore::Exploration& exploration, const explore::Point& point);

/// Returns plots of the first objective against each other objective, with all points, the Pareto front, the
/// base device and the winner. With one objective, the plot shows its value for each point.
std::vector<Chart> front_charts(const explore::Exploration& exploration);

/// Shows how strongly each parameter affects each objective. Where each point differs from the base in one
/// parameter, it shows the largest change of the objective upwards and downwards. Otherwise it shows the
/// fraction of the objective's variance that the parameter explains alone (the correlation ratio over at most
/// six classes of its values).
Chart sensitivity_chart(const explore::Exploration& exploration);

/// Shows the relative change of each objective from the base device to the winner.
Chart winner_chart(const explore::Exploration& exploration);

/// Shows the time by kind of op of the base device and of the winner, summed over all workloads with their
/// weights.
Chart winner_kinds_chart(const explore::Exploration& exploration);

/// Returns a parallel-coordinates plot with an axis for each parameter and objective and a line for each
/// point, as <svg> with a legend. Empty without points.
std::string parallel_coordinates(const explore::Exploration& exploration);

}  // namespace heddle::sim
