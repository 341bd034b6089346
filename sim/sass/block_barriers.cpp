#include "sim/sass/block_barriers.h"

namespace heddle::sass {

std::uint32_t BlockBarriers::open(Barrier& barrier) {
    const std::uint32_t released = barrier.waiting;
    barrier.arrived = barrier.waiting = 0;
    return released;
}

std::uint32_t BlockBarriers::arrive(unsigned number, unsigned warp, bool waits) {
    Barrier& barrier = barriers_[number];
    const std::uint32_t bit = 1u << warp;
    barrier.arrived |= bit;
    if (waits) barrier.waiting |= bit;
    if (barrier.coming[warp] != 0 && --barrier.coming[warp] == 0) barrier.expected &= ~bit;
    if ((barrier.expected & ~barrier.arrived) != 0) return 0;
    return open(barrier);
}

std::uint32_t BlockBarriers::open_all() {
    std::uint32_t released = 0;
    for (Barrier& barrier : barriers_) released |= open(barrier);
    return released;
}

}  // namespace heddle::sass
