// mbarrier objects: 64 bits in shared memory that only mbarrier instructions and the ends of asynchronous
// copies touch. A phase is complete when no arrival is pending and the transaction count is zero (PTX manual,
// "mbarrier"); the next begins at once, with the count that init gave.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The value of an mbarrier object, taken apart.
struct MemoryBarrier {
    bool phase = false;             ///< parity of the phase that is going on
    std::uint32_t pending = 0;      ///< arrivals that it still needs
    std::uint32_t expected = 0;     ///< arrivals that the next one needs
    std::int32_t transactions = 0;  ///< bytes that are under way

    /// Also the opaque state that arrive returns.
    static std::uint64_t encode(const MemoryBarrier& barrier);
    /// std::nullopt: not the state of an mbarrier.
    static std::optional<MemoryBarrier> decode(std::uint64_t bits);
};
inline constexpr std::uint32_t kMaximumArrivals = (1u << 20) - 1;  // PTX manual, "mbarrier contents"

/// The object at an aligned address inside of the CTA's shared memory; std::nullopt when there is none.
std::optional<MemoryBarrier> find_memory_barrier(const Cta::Implementation& cta, std::uint64_t address);
void store_memory_barrier(Cta::Implementation& cta, std::uint64_t address, const MemoryBarrier& barrier);

/// First the transaction count grows by `expected_bytes` and shrinks by `arrived_bytes`, then `arrivals`
/// arrive; `drop`: for all later phases too. When that completes the phase, the paths that wait for it wake.
/// Returns the state before, or std::nullopt when there is no mbarrier or the counts leave their range: the
/// caller knows whom to blame.
std::optional<MemoryBarrier> arrive_at_memory_barrier(Cta::Implementation& cta, std::uint64_t address,
                                                      std::uint32_t arrivals, std::int64_t expected_bytes = 0,
                                                      std::int64_t arrived_bytes = 0, bool drop = false);

}  // namespace heddle::ptx
