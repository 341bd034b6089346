// An exploration as text for scripts and spreadsheets.
#pragma once

#include <string>

#include "sim/explore/exploration.h"

namespace heddle::explore {

/// One JSON object: what was asked, and every point with its parameters, objectives, statistics and error.
/// The same bytes for every run of the same exploration, however many workers and interruptions it had;
/// `times` adds what differs.
std::string exploration_json(const Exploration& exploration, bool times = false);

/// A row for each point: id, fidelity, status, front, parameters (as a hardware file writes them), derived
/// values, objectives, error.
std::string points_csv(const Exploration& exploration, bool times = false);

/// A row for each point, workload and statistic.
std::string statistics_csv(const Exploration& exploration);

}  // namespace heddle::explore
