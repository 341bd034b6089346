// Requests under way to a block, by the cycle in which they arrive.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "models/memory/memory_request.h"

namespace heddle::models {

/// A hashed timing wheel of linked requests: push and pop take constant time and allocate nothing. Requests
/// that arrive in the same cycle come out in the order in which they were pushed. Cycles are below 2^32.
class DelayQueue {
  public:
    /// Takes a request that arrives in cycle `arrival`, which it writes into the request. The request stays
    /// linked until it is popped.
    void push(MemoryRequest& request, Cycle arrival) {
        request.arrival = static_cast<std::uint32_t>(arrival);
        const std::size_t bucket = arrival % kBuckets;
        MemoryRequest*& last = last_[bucket];
        if (last != nullptr) {
            request.next = last->next;
            last->next = &request;
        } else {
            request.next = &request;
            used_[bucket / 64] |= 1ull << (bucket % 64);
        }
        last = &request;
        ++size_;
    }

    /// Takes out the requests that arrive in cycle `now`, as a linked list in order of pushing.
    MemoryRequest* pop(Cycle now) {
        const std::size_t bucket = now % kBuckets;
        MemoryRequest* const last = last_[bucket];
        if (last == nullptr) return nullptr;
        MemoryRequest* due = nullptr;
        MemoryRequest** due_end = &due;
        MemoryRequest* kept = nullptr;
        MemoryRequest** kept_end = &kept;
        MemoryRequest* kept_last = nullptr;
        MemoryRequest* request = last->next;
        last->next = nullptr;
        while (request != nullptr) {
            MemoryRequest* const following = request->next;
            if (request->arrival <= now) {
                *due_end = request;
                due_end = &request->next;
                --size_;
            } else {  // of a later turn of the wheel
                *kept_end = request;
                kept_end = &request->next;
                kept_last = request;
            }
            request = following;
        }
        *due_end = nullptr;
        last_[bucket] = kept_last;
        if (kept_last != nullptr) {
            kept_last->next = kept;
        } else {
            used_[bucket / 64] &= ~(1ull << (bucket % 64));
        }
        return due;
    }

    /// A cycle from `now` on that is not later than the earliest arrival, kNever when empty. It is the
    /// earliest arrival unless that is more than 255 cycles ahead; then nothing may arrive in the cycle
    /// given.
    Cycle next(Cycle now) const {
        if (size_ == 0) return kNever;
        const std::size_t start = now % kBuckets;
        for (std::size_t step = 0; step <= kWords; ++step) {
            const std::size_t word = (start / 64 + step) % kWords;
            std::uint64_t bits = used_[word];
            if (step == 0) bits &= ~0ull << (start % 64);
            if (step == kWords) bits &= (1ull << (start % 64)) - 1;
            if (bits == 0) continue;
            const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            __builtin_prefetch(last_[bucket]);
            return now + (bucket + kBuckets - start) % kBuckets;
        }
        return kNever;
    }

    /// A request that pop(now) may give out, nullptr when there is none.
    const MemoryRequest* peek(Cycle now) const { return last_[now % kBuckets]; }

    /// Whether pop(now) would give something out.
    bool due(Cycle now) const {
        const MemoryRequest* const last = last_[now % kBuckets];
        for (const MemoryRequest* request = last; request != nullptr;) {
            if (request->arrival <= now) return true;
            request = request->next;
            if (request == last) break;
        }
        return false;
    }

    /// Requests under way; reset() forgets them without giving them back.
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void reset() { *this = DelayQueue(); }

  private:
    static constexpr std::size_t kBuckets = 256;
    static constexpr std::size_t kWords = kBuckets / 64;
    std::array<MemoryRequest*, kBuckets> last_{};  // of a circular list
    std::array<std::uint64_t, kWords> used_{};
    std::size_t size_ = 0;
};

}  // namespace heddle::models
