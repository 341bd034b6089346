// Requests under way to a block that looks at its arrivals once per window of cycles.
//
// A block whose shortest answer takes L cycles may take what arrives in L cycles at once, at their end:
// nobody can have been waiting for it before. It does so cycle by cycle, in order of arrival, so the result
// is that of looking in every cycle. This is the lookahead of conservative parallel simulation, used here for
// the caches of the host: a block's state is fetched once for many requests, which also can be looked at
// ahead.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "models/memory/memory_request.h"

namespace heddle::models {

/// Sorts requests into buckets by the window of cycles in which they arrive, so that the block takes a whole
/// window at once. It does not own the requests.
class ArrivalWindows {
  public:
    /// One request on its way.
    struct Arrival {
        MemoryRequest* request;  ///< not owned
        std::uint32_t at;        ///< cycle
        std::uint32_t hint;      ///< the receiver's own
    };
    /// Cycles of a window.
    static constexpr Cycle kLongest = 16;

    /// `lookahead`: cycles from an arrival to the earliest arrival elsewhere of what it causes, at least 1.
    explicit ArrivalWindows(Cycle lookahead = 1) { set_lookahead(lookahead); }
    /// Changes the length of the windows. To be called only when nothing is under way.
    void set_lookahead(Cycle lookahead) {
        shift_ = static_cast<unsigned>(std::bit_width(std::clamp<Cycle>(lookahead, 1, kLongest)) - 1);
    }

    /// The last cycle of the window in which `cycle` lies: when the block looks at it.
    Cycle end_of(Cycle cycle) const { return cycle | ((Cycle{1} << shift_) - 1); }

    /// Adds a request that arrives in a window that has not been taken yet. Returns the cycle in which take()
    /// gives it out.
    Cycle push(MemoryRequest& request, Cycle arrival, std::uint32_t hint = 0) {
        const std::size_t bucket = bucket_of(arrival);
        buckets_[bucket].push_back({&request, static_cast<std::uint32_t>(arrival), hint});
        used_ |= 1ull << bucket;
        return end_of(arrival);
    }

    /// The requests that have arrived, if `now` is the end of a window, by cycle of arrival and then in the
    /// order of pushing; else nothing. Valid until the next call.
    std::span<Arrival> take(Cycle now) {
        const std::size_t bucket = bucket_of(now);
        if (end_of(now) != now || (used_ >> bucket & 1u) == 0) return {};
        std::vector<Arrival>& arrivals = buckets_[bucket];
        const std::size_t count =
            arrivals.size() <= kFew ? take_few(arrivals, now) : take_many(arrivals, now);
        if (arrivals.empty()) used_ &= ~(1ull << bucket);
        return {sorted_.data(), count};
    }

    /// The end of a window after that of `now`, not later than that of the earliest arrival; kNever when
    /// nothing is under way.
    Cycle next(Cycle now) const {
        if (used_ == 0) return kNever;
        const std::uint64_t window = (now >> shift_) + 1;
        const std::uint64_t turned = std::rotr(used_, static_cast<int>(window % kBuckets));
        return end_of((window + static_cast<std::uint64_t>(std::countr_zero(turned))) << shift_);
    }

    /// Whether take(now) would give something out.
    bool due(Cycle now) const {
        if (end_of(now) != now) return false;
        const std::vector<Arrival>& bucket = buckets_[bucket_of(now)];
        return std::any_of(bucket.begin(), bucket.end(), [now](const Arrival& a) { return a.at <= now; });
    }
    /// What take(now) will give out, and perhaps more, in no order.
    std::span<const Arrival> peek(Cycle now) const { return buckets_[bucket_of(now)]; }
    /// Brings that into the caches of the host, in two stages.
    void prefetch(Cycle now, unsigned stage) const {
        const std::vector<Arrival>& bucket = buckets_[bucket_of(now)];
        if (stage == 0)
            __builtin_prefetch(&bucket);
        else
            for (std::size_t i = 0; i < bucket.size(); i += 4) __builtin_prefetch(bucket.data() + i);
    }

    /// Forgets all requests.
    void reset() {
        for (std::vector<Arrival>& bucket : buckets_) bucket.clear();
        used_ = 0;
    }

  private:
    static constexpr std::size_t kFew = 8;
    static constexpr std::size_t kBuckets = 64;  // windows of a turn; later ones wait for their turn

    std::size_t bucket_of(Cycle cycle) const { return (cycle >> shift_) % kBuckets; }

    // What is of this window goes to sorted_, in order; the rest, of a later turn, stays. Returns how many
    // went.
    std::size_t take_few(std::vector<Arrival>& bucket, Cycle now) {
        if (sorted_.size() < kFew) sorted_.resize(kFew);
        std::size_t kept = 0, count = 0;
        for (const Arrival& arrival : bucket) {
            if (arrival.at > now) {
                bucket[kept++] = arrival;
                continue;
            }
            std::size_t place = count++;  // mostly it is the last
            for (; place > 0 && sorted_[place - 1].at > arrival.at; --place)
                sorted_[place] = sorted_[place - 1];
            sorted_[place] = arrival;
        }
        bucket.resize(kept);
        return count;
    }
    std::size_t take_many(std::vector<Arrival>& bucket, Cycle now) {
        std::array<std::uint32_t, kLongest + 1> place{};
        const std::uint32_t mask = (1u << shift_) - 1;
        for (const Arrival& a : bucket)
            if (a.at <= now) ++place[(a.at & mask) + 1];
        for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
        const std::size_t count = place.back();
        if (sorted_.size() < count) sorted_.resize(count);
        std::size_t kept = 0;
        for (const Arrival& a : bucket) {
            if (a.at <= now)
                sorted_[place[a.at & mask]++] = a;
            else
                bucket[kept++] = a;
        }
        bucket.resize(kept);
        return count;
    }

    unsigned shift_ = 0;
    std::uint64_t used_ = 0;  // one bit per bucket
    std::array<std::vector<Arrival>, kBuckets> buckets_;
    std::vector<Arrival> sorted_;
};

}  // namespace heddle::models
