// Counts of things that happen in coming cycles.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "models/common/cycle.h"

namespace heddle::models::gpu {

/// Adding costs a few instructions; only what lies more than 1,023 cycles ahead goes through a heap.
class CycleCounter {
  public:
    /// `count` more in cycle `at`, later than the last take().
    void add(Cycle at, unsigned count = 1) {
        if (at < taken_ + kCycles) {
            counts_[at % kCycles] = static_cast<std::uint16_t>(counts_[at % kCycles] + count);
            used_[at % kCycles / 64] |= 1ull << (at % 64);
        } else {
            for (unsigned i = 0; i < count; ++i) later_.push(at);
        }
        total_ += count;
    }
    /// Number of those up to and including cycle `now` that were not taken before.
    std::uint32_t take(Cycle now) {
        if (total_ == 0) {
            taken_ = now;
            return 0;
        }
        std::uint32_t sum = 0;
        for (Cycle at = next(); at <= now; at = next()) {
            taken_ = at;
            sum += take_one_cycle(at);
        }
        taken_ = now;
        return sum;
    }
    /// Cycle of the earliest, kNever when none.
    Cycle next() const {
        if (total_ == 0) return kNever;
        Cycle best = later_.empty() ? kNever : later_.top();
        const std::size_t start = (taken_ + 1) % kCycles;
        for (std::size_t step = 0; step <= kWords; ++step) {
            const std::size_t word = (start / 64 + step) % kWords;
            std::uint64_t bits = used_[word];
            if (step == 0) bits &= ~0ull << (start % 64);
            if (step == kWords) bits &= (1ull << (start % 64)) - 1;
            if (bits == 0) continue;
            const std::size_t position = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            const Cycle candidate = taken_ + 1 + (position + kCycles - start) % kCycles;
            return candidate < best ? candidate : best;
        }
        return best;
    }
    void reset() { *this = CycleCounter(); }

  private:
    static constexpr std::size_t kCycles = 1024;
    static constexpr std::size_t kWords = kCycles / 64;
    std::uint32_t take_one_cycle(Cycle at) {
        std::uint32_t sum = counts_[at % kCycles];
        counts_[at % kCycles] = 0;
        used_[at % kCycles / 64] &= ~(1ull << (at % 64));
        while (!later_.empty() && later_.top() <= at) {
            later_.pop();
            ++sum;
        }
        total_ -= sum;
        return sum;
    }
    Cycle taken_ = 0;
    std::uint64_t total_ = 0;
    std::array<std::uint16_t, kCycles> counts_{};
    std::array<std::uint64_t, kWords> used_{};
    std::priority_queue<Cycle, std::vector<Cycle>, std::greater<>> later_;
};

}  // namespace heddle::models::gpu
