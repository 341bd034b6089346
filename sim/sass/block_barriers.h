// The 16 barriers of a thread block whose warps are replayed.
//
// A trace says that a warp reached BAR number b, but not how many warps the barrier waits for. Because the
// whole trace of the thread block is known, so are the warps that will reach it: a barrier opens when every
// warp that has yet to reach it has arrived. For __syncthreads() and for barriers between fixed groups of
// warps this is what the hardware does.
#pragma once

#include <array>
#include <cstdint>

namespace heddle::sass {

/// The state of the barriers. Sets of warps are bit masks.
class BlockBarriers {
  public:
    static constexpr unsigned kBarriers = 16;

    void reset() { barriers_ = {}; }
    /// Announces, before the block starts, that warp `warp` will arrive at `barrier` once more.
    void expect(unsigned barrier, unsigned warp) {
        if (barriers_[barrier].coming[warp]++ == 0) barriers_[barrier].expected |= 1u << warp;
    }
    /// Records an arrival; with `waits` the warp waits for the others. Returns the warps that continue,
    /// including this one when it does not wait.
    std::uint32_t arrive(unsigned barrier, unsigned warp, bool waits);
    /// Opens all barriers, for when nothing else can make progress. Returns the warps that continue.
    std::uint32_t open_all();

  private:
    struct Barrier {
        std::array<std::uint32_t, 32> coming{};  // by warp: times that it has yet to come
        std::uint32_t expected = 0;              // warps that have yet to come
        std::uint32_t arrived = 0, waiting = 0;
    };
    static std::uint32_t open(Barrier& barrier);
    std::array<Barrier, kBarriers> barriers_{};
};

}  // namespace heddle::sass
