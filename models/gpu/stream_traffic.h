// What thread blocks of a stream move between memory and L2: kernels that touch each line of global memory
// once, such as optimizers, casts and elementwise operations on tensors larger than L2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::models::gpu {

/// Mean traffic of a thread block with memory, once L2 has to write back stored lines.
struct StreamTraffic {
    double read = 0, written = 0;                    ///< lines of 128 bytes, of one thread block
    double lines() const { return read + written; }  ///< read and written
};

/// Runs thread blocks of `launch`, by their numbers `blocks`, in timing mode without time. They are a stream
/// when each reads and writes whole lines that no other one of them touches, but for a few that many read,
/// does nothing atomically, and when all move as much (0.2 %). None: they are not.
std::optional<StreamTraffic> stream_traffic(const ptx::LaunchContext& launch,
                                            const std::vector<std::uint64_t>& blocks);

}  // namespace heddle::models::gpu
