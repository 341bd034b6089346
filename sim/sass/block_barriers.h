// The 16 barriers of a thread block whose warps are replayed.
//
// A trace says that a warp came to BAR number b, and not how many a barrier waits for. The thread block's
// trace is there as a whole, so that it is known who will come: a barrier opens when every warp that has yet
// to come to it is there. With __syncthreads() and with barriers between fixed groups of warps that is what
// the hardware does.
#pragma once

#include <array>
#include <cstdint>

namespace heddle::sass {

class BlockBarriers {
  public:
    static constexpr unsigned kBarriers = 16;

    void reset() { barriers_ = {}; }
    /// Before the start: warp `warp` will come once more to `barrier`.
    void expect(unsigned barrier, unsigned warp) {
        if (barriers_[barrier].coming[warp]++ == 0) barriers_[barrier].expected |= 1u << warp;
    }
    /// It is there; with `waits` it stays. Returns the warps that go on, this one among them when it need not
    /// stay.
    std::uint32_t arrive(unsigned barrier, unsigned warp, bool waits);
    /// Nothing else can happen: opens all barriers. Returns the warps that go on.
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
