// The report for people, on a terminal.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Step time, time by op kind with rates and limits, the slowest ops, utilisation, coverage and notes.
/// Everything in it is the same in every run of the same thing. `width`: of its lines, 0: no limit.
std::string format_report(const RunResult& result, std::size_t width = 0);

/// The answer to a step that does not fit: "does not fit: 83.1 of 79.6 GiB, activations 61 %", and the parts.
std::string format_does_not_fit(const MemoryReport& memory);

/// What is wrong when values left the bounds that the number formats allow (or are no numbers); empty when
/// all is well.
std::string numerics_failure(const NumericsResult& numerics);

/// One line about the simulation itself: how many kernels, instructions and seconds.
std::string format_simulation(const RunResult& result);

}  // namespace heddle::sim
