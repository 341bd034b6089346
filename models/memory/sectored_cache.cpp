#include "models/memory/sectored_cache.h"

#include <algorithm>

namespace heddle::models {

void SectoredCache::resize(std::uint64_t bytes, unsigned ways) {
    ways_ = ways;
    sets_ = static_cast<std::uint32_t>(bytes / kLineBytes / ways);
    hash_ = SliceHash(sets_ == 0 ? 1 : sets_);
    const std::size_t lines = std::size_t{sets_} * ways_;
    tags_.assign(lines, kUnused);
    used_.assign(lines, 0);
    sectors_.assign(lines, Sectors{});
    stamp_ = 0;
}

void SectoredCache::clear() {
    std::fill(tags_.begin(), tags_.end(), kUnused);
    std::fill(used_.begin(), used_.end(), 0u);
    std::fill(sectors_.begin(), sectors_.end(), Sectors{});
    stamp_ = 0;
}

SectoredCache::Index SectoredCache::victim(std::uint64_t key, unsigned most_pending) const {
    if (sets_ == 0) return kNone;
    const Index first = set_of(key) * ways_;
    Index best = kNone;
    std::uint32_t best_used = ~std::uint32_t{0};
    unsigned pending = 0;
    for (Index i = first; i < first + ways_; ++i) {
        if (used_[i] == 0) return i;
        if (sectors_[i].pending != 0) {
            ++pending;
        } else if (used_[i] < best_used) {
            best = i;
            best_used = used_[i];
        }
    }
    return pending > most_pending ? kNone : best;
}

void SectoredCache::touch_hinted(Index index, EvictionPolicy policy) {
    std::uint32_t priority = kNormal;
    if (policy == EvictionPolicy::none) {
        priority = kLast;
    } else if (policy == EvictionPolicy::unchanged) {
        return;
    } else if (policy == EvictionPolicy::first) {
        priority = kFirst;
    } else if (policy == EvictionPolicy::last) {
        const Index first = index / ways_ * ways_;
        unsigned last = 0;
        for (Index i = first; i < first + ways_; ++i) last += i != index && used_[i] >= kLast ? 1u : 0u;
        if (last < most_last_) priority = kLast;
    }
    used_[index] = priority | next_stamp();
}

// Once in a thousand million uses: all times become small, in the same order.
void SectoredCache::renumber() {
    std::vector<Index> order;
    for (Index i = 0; i < used_.size(); ++i)
        if (used_[i] != 0) order.push_back(i);
    const auto time = [this](Index i) { return used_[i] & (kNormal - 1); };
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return time(a) < time(b); });
    stamp_ = 0;
    for (const Index i : order) used_[i] = (used_[i] & ~(kNormal - 1)) | ++stamp_;
    ++stamp_;
}

}  // namespace heddle::models
