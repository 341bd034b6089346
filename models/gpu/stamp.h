// The cycle in which a register's value is ready, and whether memory delivers it, in 32 bits.
#pragma once

#include <cstdint>

#include "models/common/cycle.h"

namespace heddle::models::gpu {

/// `cycle * 2 + 1` when memory delivers the value, `cycle * 2` otherwise. The larger stamp is the later one,
/// so the maximum over operands also says whether the wait is for memory. Runs are limited to 2^31 - 2
/// cycles.
using Stamp = std::uint32_t;
inline constexpr Stamp kPending = ~Stamp{0};  ///< not known yet
inline constexpr std::uint32_t kPendingCycle = kPending >> 1;
inline constexpr Cycle kLastCycle = kPendingCycle - 1;

/// Pack a cycle into a Stamp and take it out again; from_memory() says which kind of wait it is.
inline Stamp fixed_stamp(Cycle cycle) {
    return static_cast<Stamp>(cycle << 1);
}
inline Stamp memory_stamp(Cycle cycle) {
    return static_cast<Stamp>(cycle << 1 | 1);
}
inline std::uint32_t cycle_of(Stamp stamp) {
    return stamp >> 1;
}
inline bool from_memory(Stamp stamp) {
    return (stamp & 1) != 0;
}

}  // namespace heddle::models::gpu
