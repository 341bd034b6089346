// The effect of an instruction on an mbarrier, encoded as an immediate. Traces that Heddle writes contain it;
// for traces with values of registers it follows from these.
#pragma once

#include <cstdint>

namespace heddle::sass {

/// Encodes arrivals, and bytes that are expected (negative: bytes that have arrived).
inline std::int64_t encode_arrival(std::int64_t arrivals, std::int64_t transactions) {
    return transactions * (std::int64_t{1} << 20) + arrivals;
}
/// The decoded form of such an immediate.
struct Arrival {
    std::uint32_t arrivals = 0;
    std::int64_t transactions = 0;
};
inline Arrival decode_arrival(std::int64_t immediate) {
    return {static_cast<std::uint32_t>(immediate & 0xFFFFF), immediate >> 20};
}

}  // namespace heddle::sass
