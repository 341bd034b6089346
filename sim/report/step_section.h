// The step as a picture: streams over time, and memory over time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/run/result.h"

namespace heddle::sim {

/// What ran when: a lane for the host and one for each stream, coloured by kind of op. `width` pixels. Work
/// that is shorter than a pixel is drawn together with what follows it.
std::string timeline_picture(const RunResult& result, double width = 1200);

/// Heading, picture, and how the step's time divides.
std::string step_section(const RunResult& result);

/// Heading, memory over time and what takes it at the peak; empty when memory is not known.
std::string memory_section(const RunResult& result);

/// Memory over time with at most `points` points, each the largest of those that it stands for: start and
/// bytes by part (MemoryReport::parts).
std::vector<std::pair<double, std::vector<double>>> memory_over_time(const MemoryReport& memory,
                                                                     std::size_t points);

}  // namespace heddle::sim
