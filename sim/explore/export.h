// An exploration as text: for people, for scripts, for spreadsheets.
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

/// The front, the base device beside it, and what failed. `columns`: width of the terminal.
std::string format_exploration(const Exploration& exploration, unsigned columns);

}  // namespace heddle::explore
