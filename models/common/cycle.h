// Cycles of one clock domain.
#pragma once

#include <cstdint>
#include <limits>

namespace heddle::models {

/// Position in time or duration in cycles of one clock domain; ClockDomain::hertz() converts it.
using Cycle = std::uint64_t;
/// A cycle that never comes: nothing is due.
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

}  // namespace heddle::models
