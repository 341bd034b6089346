// Which operands previous kernels left in the L2 cache. Kernels are simulated one at a time; this pass over
// the step determines, at the granularity of whole buffers, what each kernel finds in L2.
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

/// A list of buffers with least-recently-used replacement. A kernel that touched a buffer leaves the buffer's
/// last bytes most recently used; the oldest bytes are evicted when the capacity is exceeded.
class L2Residency {
  public:
    /// `capacity_bytes` is the capacity of one partition of L2. Data that SMs read is copied into each
    /// partition; data that a kernel wrote is held by only one of the `partitions`.
    explicit L2Residency(std::uint64_t capacity_bytes, unsigned partitions = 1)
        : capacity_(capacity_bytes), partitions_(partitions) {}

    /// Returns how many bytes at the end of the buffer are still in the cache, in whole sixteenths of the
    /// buffer, so that nearly equal situations give the same kernel time.
    std::uint64_t resident_bytes(std::uint64_t buffer, std::uint64_t size) const;
    /// Returns whether the resident bytes of a buffer were written and not yet written back to memory. Only
    /// touch_together() records writes.
    bool dirty(std::uint64_t buffer) const;
    /// Records that one kernel used `size` bytes of a buffer.
    void touch(std::uint64_t buffer, std::uint64_t size);
    /// Records that one kernel used several buffers at the same time: where they exceed the capacity, the
    /// same fraction of each stays resident.
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
