// The parts of a run's page that concern the step as a whole: what ran when, how its time divides, and its
// memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns the picture of the step and the division of its time as HTML.
std::string step_section(const RunResult& result);

/// Returns memory over time and its parts at the peak as HTML; empty when memory is not known.
std::string memory_section(const RunResult& result);

/// Returns memory over time with at most `points` points, each of which is the largest of those that it
/// replaces: its start in microseconds and bytes by part (MemoryReport::parts).
std::vector<std::pair<double, std::vector<double>>> memory_over_time(const MemoryReport& memory,
                                                                     std::size_t points);

}  // namespace heddle::sim
