#include "sim/sass/memory_barriers.h"

namespace heddle::sass {

void MemoryBarriers::initialise(std::uint32_t address, std::uint32_t arrivals) {
    barriers_[address] = {arrivals, arrivals, 0, 0, 0};
}

std::uint32_t MemoryBarriers::count(std::uint32_t address, std::uint32_t arrivals,
                                    std::int64_t transactions) {
    Barrier& barrier = barriers_[address];
    barrier.transactions += transactions;
    barrier.pending -= arrivals < barrier.pending ? arrivals : barrier.pending;
    if (barrier.pending != 0 || barrier.transactions != 0) return 0;
    ++barrier.phase;
    barrier.pending = barrier.expected;
    const std::uint32_t released = barrier.waiting;
    barrier.waiting = 0;
    return released;
}

bool MemoryBarriers::passes(std::uint32_t address, unsigned parity, unsigned warp) {
    Barrier& barrier = barriers_[address];
    if ((barrier.phase & 1u) != parity) return true;
    barrier.waiting |= 1u << warp;
    return false;
}

std::uint32_t MemoryBarriers::open_all() {
    std::uint32_t released = 0;
    for (auto& [address, barrier] : barriers_) {
        if (barrier.waiting == 0) continue;
        released |= barrier.waiting;
        barrier.waiting = 0;
        ++barrier.phase;
    }
    return released;
}

}  // namespace heddle::sass
