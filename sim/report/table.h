// The report of a run as text for a terminal.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns step time, time by kind of op with rates and limits, the slowest ops, utilisation, coverage and
/// notes. The text is the same in every run of the same input. `width` is the largest number of columns of a
/// line; 0: no limit.
std::string format_report(const RunResult& result, std::size_t width = 0);

/// Returns the answer for a step that does not fit: "does not fit: 83.1 of 79.6 GiB, activations 61 %", and
/// the parts.
std::string format_does_not_fit(const MemoryReport& memory);

/// Returns what is wrong when values exceed the bounds that the number formats allow, or are not numbers;
/// empty when all is well.
std::string numerics_failure(const NumericsResult& numerics);

/// Returns one line about the simulation itself: numbers of kernels and instructions, and seconds.
std::string format_simulation(const RunResult& result);

}  // namespace heddle::sim
