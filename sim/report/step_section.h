// The parts of a run's page about the step as a whole: what ran when, how its time divides, its memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Picture of the step, and how its time divides.
std::string step_section(const RunResult& result);

/// Memory over time and what takes it at the peak; empty when memory is not known.
std::string memory_section(const RunResult& result);

/// Memory over time with at most `points` points, each the largest of those that it stands for: start and
/// bytes by part (MemoryReport::parts).
std::vector<std::pair<double, std::vector<double>>> memory_over_time(const MemoryReport& memory,
                                                                     std::size_t points);

}  // namespace heddle::sim
