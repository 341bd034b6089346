// What an instruction does to an mbarrier, as an immediate: traces that Heddle writes have it there, for
// those with values of registers it follows from them.
#pragma once

#include <cstdint>

namespace heddle::sass {

/// Arrivals, and bytes that are still to come (negative: that have come).
inline std::int64_t encode_arrival(std::int64_t arrivals, std::int64_t transactions) {
    return transactions * (std::int64_t{1} << 20) + arrivals;
}
struct Arrival {
    std::uint32_t arrivals = 0;
    std::int64_t transactions = 0;
};
inline Arrival decode_arrival(std::int64_t immediate) {
    return {static_cast<std::uint32_t>(immediate & 0xFFFFF), immediate >> 20};
}

}  // namespace heddle::sass
