// Which lines lie in an L2 together. What only these touch takes as long, whatever larger size L2 has.
#pragma once

#include <cstdint>
#include <vector>

#include "models/memory/l2_config.h"

namespace heddle::models {

/// Consecutive lines of global memory.
struct LineRange {
    std::uint64_t first = 0, count = 0;  ///< 128-byte lines
};

/// Whether each set of each slice has room for all of these lines that may come to it, in `ways` of its ways
/// (0: in all of them): those whose home is there and copies of those whose home is in another partition.
/// Then no line is ever replaced, in whatever order they are asked for, so that L2's size has no influence on
/// what happens. Ranges may overlap; a line counts once for each.
bool has_room_for(const L2Config& config, const std::vector<LineRange>& lines, unsigned ways = 0);

}  // namespace heddle::models
