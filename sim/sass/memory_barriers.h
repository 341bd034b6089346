// mbarriers of a thread block that is replayed: PTX ISA, "mbarrier". Only traces that say what each
// instruction did to them (KernelHeader::complete) have any.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace heddle::sass {

class MemoryBarriers {
  public:
    void reset() { barriers_.clear(); }
    void initialise(std::uint32_t address, std::uint32_t arrivals);
    /// `arrivals` and `transactions` (bytes still to come, or negative: that have come) are counted. Returns
    /// the warps of this thread block that go on.
    std::uint32_t count(std::uint32_t address, std::uint32_t arrivals, std::int64_t transactions);
    /// Whether the phase of this parity is over. If not, the warp waits here.
    bool passes(std::uint32_t address, unsigned parity, unsigned warp);
    /// Nothing else can happen: everybody goes on.
    std::uint32_t open_all();

  private:
    struct Barrier {
        std::uint32_t expected = 1, pending = 1;
        std::int64_t transactions = 0;
        std::uint32_t phase = 0;
        std::uint32_t waiting = 0;  // warps
    };
    std::unordered_map<std::uint32_t, Barrier> barriers_;
};

}  // namespace heddle::sass
