// Cycles of one clock domain.
#pragma once

#include <cstdint>
#include <limits>

namespace heddle::models {

using Cycle = std::uint64_t;
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

}  // namespace heddle::models
