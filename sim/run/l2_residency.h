// Which operands previous kernels left in the L2 cache. A kernel is simulated alone; what it finds in L2 is
// supplied by this pass over the step, at the grain of whole buffers.
#pragma once

#include <cstdint>
#include <deque>

namespace heddle::sim {

/// Least-recently-used list of buffers. A kernel that touched a buffer leaves its last bytes most recently
/// used; what does not fit falls out, oldest first.
class L2Residency {
  public:
    /// `capacity_bytes`: of one partition of L2. All SMs read what lies there, so that each partition has its copy.
    explicit L2Residency(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

    /// Bytes of the buffer that are still in the cache: its tail, in whole sixteenths of the buffer so that
    /// nearly equal situations have the same kernel time.
    std::uint64_t resident_bytes(std::uint64_t buffer, std::uint64_t size) const;
    void touch(std::uint64_t buffer, std::uint64_t size);

  private:
    struct Entry {
        std::uint64_t buffer, bytes;
    };
    std::uint64_t capacity_;
    std::deque<Entry> entries_;  // most recent first
};

}  // namespace heddle::sim
