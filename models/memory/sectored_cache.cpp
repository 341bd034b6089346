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

SectoredCache::Index SectoredCache::victim(std::uint64_t key) const {
    if (sets_ == 0) return kNone;
    const Index first = set_of(key) * ways_;
    Index best = kNone;
    for (Index i = first; i < first + ways_; ++i) {
        if (used_[i] == 0) return i;
        if (sectors_[i].pending != 0) continue;
        if (best == kNone || used_[i] < used_[best]) best = i;
    }
    return best;
}

}  // namespace heddle::models
