// Which operands previous kernels left in the L2 cache. A kernel is simulated alone; what it finds in L2 is
// supplied by this pass over the step, at the grain of whole buffers.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace heddle::sim {

/// A buffer that a kernel reads, writes, or both.
struct BufferUse {
    std::uint64_t buffer = 0, size = 0;
    bool written = false;
};

/// Least-recently-used list of buffers. A kernel that touched a buffer leaves its last bytes most recently
/// used; what does not fit falls out, oldest first.
class L2Residency {
  public:
    /// `capacity_bytes`: of one partition of L2. All SMs read what lies there, so that each partition has its
    /// copy. What a kernel wrote lies in one of `partitions` alone.
    explicit L2Residency(std::uint64_t capacity_bytes, unsigned partitions = 1)
        : capacity_(capacity_bytes), partitions_(partitions) {}

    /// Bytes of the buffer that are still in the cache: its tail, in whole sixteenths of the buffer so that
    /// nearly equal situations have the same kernel time.
    std::uint64_t resident_bytes(std::uint64_t buffer, std::uint64_t size) const;
    /// A kernel wrote to it, and what is left of it is still to be written to memory. (Only touch_together()
    /// knows who writes.)
    bool dirty(std::uint64_t buffer) const;
    void touch(std::uint64_t buffer, std::uint64_t size);
    /// By one kernel, which goes through all of them at once: where there is too little room, each leaves the
    /// same part.
    void touch_together(const std::vector<BufferUse>& uses);

  private:
    struct Entry {
        std::uint64_t buffer, bytes;
        bool dirty = false;
        unsigned partitions = 1;  ///< over which it is divided; 1: each has a copy
        std::uint64_t room() const { return bytes / partitions; }
    };
    const Entry* find(std::uint64_t buffer) const;
    void forget_oldest();
    std::uint64_t capacity_;
    unsigned partitions_;
    std::deque<Entry> entries_;  // most recent first
};

}  // namespace heddle::sim
