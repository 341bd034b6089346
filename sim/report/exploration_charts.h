// Pictures of an exploration.
#pragma once

#include <string>
#include <vector>

#include "sim/explore/exploration.h"
#include "sim/report/chart.h"

namespace heddle::sim {

/// Points that have objectives, of the highest fidelity at which their design was run, by id.
std::vector<const explore::Point*> shown_points(const explore::Exploration& exploration);

/// "17: sm.count=132, l2.size=50 MiB"
std::string name_of_point(const explore::Exploration& exploration, const explore::Point& point);

/// The first objective against each other one: all points, the front, the base and the winner. Of one
/// objective: its value by point.
std::vector<Chart> front_charts(const explore::Exploration& exploration);

/// How much each parameter decides about each objective, one chart. Where each point differs from the base in
/// one parameter: by how much the objective moves, at most, up and down. Else the part of the objective's
/// variance that the parameter explains alone (correlation ratio over at most six classes of its values).
Chart sensitivity_chart(const explore::Exploration& exploration);

/// Objectives of the winner beside the base, as relative change.
Chart winner_chart(const explore::Exploration& exploration);

/// Time by kind of op of both, of all workloads weighted together.
Chart winner_kinds_chart(const explore::Exploration& exploration);

/// A vertical axis for each parameter and objective, a line for each point: <svg> and legend. Empty without
/// points.
std::string parallel_coordinates(const explore::Exploration& exploration);

}  // namespace heddle::sim
