// Requests under way to a block, by the cycle in which they arrive.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "models/memory/memory_request.h"

namespace heddle::models {

/// A hashed timing wheel of linked requests: push and pop take constant time and allocate nothing. Requests
/// that arrive in the same cycle come out in the order in which they were pushed.
class DelayQueue {
  public:
    void push(MemoryRequest& request, Cycle arrival) {
        request.arrival = arrival;
        request.next = nullptr;
        const std::size_t bucket = arrival % kBuckets;
        Bucket& list = buckets_[bucket];
        if (list.last != nullptr) {
            list.last->next = &request;
        } else {
            list.first = &request;
            used_[bucket / 64] |= 1ull << (bucket % 64);
        }
        list.last = &request;
        ++size_;
    }

    /// Takes out the requests that arrive in cycle `now`, as a linked list in order of pushing.
    MemoryRequest* pop(Cycle now) {
        if (size_ == 0) return nullptr;
        Bucket& list = buckets_[now % kBuckets];
        MemoryRequest* due = nullptr;
        MemoryRequest** due_end = &due;
        MemoryRequest* kept_last = nullptr;
        MemoryRequest** kept_end = &list.first;
        for (MemoryRequest* request = list.first; request != nullptr;) {
            MemoryRequest* const following = request->next;
            request->next = nullptr;
            if (request->arrival <= now) {
                *due_end = request;
                due_end = &request->next;
                --size_;
            } else {
                *kept_end = request;
                kept_end = &request->next;
                kept_last = request;
            }
            request = following;
        }
        *kept_end = nullptr;
        list.last = kept_last;
        if (list.first == nullptr) used_[(now % kBuckets) / 64] &= ~(1ull << (now % 64));
        return due;
    }

    /// Cycle of the earliest arrival, kNever when empty. `now` must not be later than it.
    Cycle next(Cycle now) const {
        if (size_ == 0) return kNever;
        Cycle best = kNever;
        const std::size_t start = now % kBuckets;
        for (std::size_t step = 0; step <= kWords; ++step) {
            const std::size_t word = (start / 64 + step) % kWords;
            std::uint64_t bits = used_[word];
            if (step == 0) bits &= ~0ull << (start % 64);
            if (step == kWords) bits &= (1ull << (start % 64)) - 1;
            while (bits != 0) {
                const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
                bits &= bits - 1;
                const Cycle candidate = now + (bucket + kBuckets - start) % kBuckets;
                if (candidate >= best) return best;
                // A bucket may hold only requests of later turns of the wheel.
                for (const MemoryRequest* r = buckets_[bucket].first; r != nullptr; r = r->next) {
                    if (r->arrival < best) best = r->arrival;
                    if (best == candidate) return best;
                }
            }
        }
        return best;
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void reset() { *this = DelayQueue(); }

  private:
    static constexpr std::size_t kBuckets = 512;
    static constexpr std::size_t kWords = kBuckets / 64;
    struct Bucket {
        MemoryRequest* first = nullptr;
        MemoryRequest* last = nullptr;
    };
    std::array<Bucket, kBuckets> buckets_{};
    std::array<std::uint64_t, kWords> used_{};
    std::size_t size_ = 0;
};

}  // namespace heddle::models
