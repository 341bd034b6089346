// The objectives, computed from the results of workloads on a design.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/explore/exploration.h"
#include "sim/explore/space.h"

namespace heddle::explore {

/// Returns every objective.
const std::vector<Objective>& known_objectives();

/// Returns the objectives that --minimise and --maximise name ("time,area"), in that order. Throws
/// heddle::Error for unknown names, for one that is named twice or belongs to the other option, and for one
/// that this device has no values for (energy of a TPU, cost without a price).
std::vector<Objective> choose_objectives(const std::string& minimise, const std::string& maximise,
                                         const sim::Hardware& base);

/// Returns one value for each objective. Times, energies and costs are sums over workloads with their
/// weights; headroom is the smallest of all workloads. `training_steps` is the number of steps of a training
/// run. Throws heddle::Error when a statistic is missing.
std::vector<double> evaluate_objectives(const std::vector<Objective>& objectives,
                                        const std::vector<WorkloadResult>& workloads,
                                        const std::map<std::string, double>& derived, double training_steps);

/// Returns whether `a` is worse than `b` in no objective and better in at least one.
bool dominates(const std::vector<double>& a, const std::vector<double>& b,
               const std::vector<Objective>& objectives);

/// Sets Point::on_front for the points that are done, separately for each fidelity.
void mark_front(std::vector<Point>& points, const std::vector<Objective>& objectives);

}  // namespace heddle::explore
