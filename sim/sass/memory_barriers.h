// The mbarriers of a thread block that is replayed: PTX ISA, "mbarrier". Only traces that say what each
// instruction did to them (KernelHeader::complete) have any.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace heddle::sass {

/// The mbarriers by shared-memory address. Sets of warps are bit masks.
class MemoryBarriers {
  public:
    void reset() { barriers_.clear(); }
    void initialise(std::uint32_t address, std::uint32_t arrivals);
    /// Counts arrivals and transaction bytes (positive: bytes that are expected; negative: bytes that have
    /// arrived). Returns the warps of this thread block that continue.
    std::uint32_t count(std::uint32_t address, std::uint32_t arrivals, std::int64_t transactions);
    /// Returns whether the phase of this parity is complete. If not, the warp waits at this barrier.
    bool passes(std::uint32_t address, unsigned parity, unsigned warp);
    /// Releases all warps, for when nothing else can make progress.
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
