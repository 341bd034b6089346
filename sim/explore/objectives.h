// What is made small or large, computed from what workloads did on a design.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/explore/exploration.h"
#include "sim/explore/space.h"

namespace heddle::explore {

/// Every objective that there is.
const std::vector<Objective>& known_objectives();

/// The objectives named by --minimise and --maximise ("time,area"), in that order. Throws heddle::Error for
/// unknown names, one that is named twice, one that the other option is for, and one that this device has no
/// figures for (energy of a TPU, cost without a price).
std::vector<Objective> choose_objectives(const std::string& minimise, const std::string& maximise,
                                         const sim::Hardware& base);

/// By objective. Times, energies and costs are sums over workloads by their weights; headroom is that of the
/// tightest. `training_steps`: of a training run. Throws heddle::Error when a figure is missing.
std::vector<double> evaluate_objectives(const std::vector<Objective>& objectives,
                                        const std::vector<WorkloadResult>& workloads,
                                        const std::map<std::string, double>& derived, double training_steps);

/// Whether `a` is nowhere worse than `b` and somewhere better.
bool dominates(const std::vector<double>& a, const std::vector<double>& b,
               const std::vector<Objective>& objectives);

/// Sets Point::on_front, among the points of each fidelity that are done.
void mark_front(std::vector<Point>& points, const std::vector<Objective>& objectives);

}  // namespace heddle::explore
