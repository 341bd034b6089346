// An exploration as JSON and CSV for scripts and spreadsheets.
#pragma once

#include <string>

#include "sim/explore/exploration.h"

namespace heddle::explore {

/// Returns one JSON object with the specification, and every point with its parameters, objectives,
/// statistics and error. The bytes do not depend on the number of workers or on interruptions; `times` adds
/// wall-clock times, which do.
std::string exploration_json(const Exploration& exploration, bool times = false);

/// Returns CSV with a row for each point: id, fidelity, status, front, parameters (as a hardware file writes
/// them), derived values, objectives, error.
std::string points_csv(const Exploration& exploration, bool times = false);

/// Returns CSV with a row for each point, workload and statistic.
std::string statistics_csv(const Exploration& exploration);

}  // namespace heddle::explore
