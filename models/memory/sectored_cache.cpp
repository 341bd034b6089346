#include "models/memory/sectored_cache.h"

#include <algorithm>

namespace heddle::models {

void SectoredCache::resize(std::uint64_t bytes, unsigned ways) {
    constexpr std::uint32_t kWordsPerChunk = sizeof(Chunk) / sizeof(std::uint32_t);
    ways_ = ways;
    sets_ = static_cast<std::uint32_t>(bytes / kLineBytes / ways);
    set_words_ = 3 * ways_;
    hash_ = SliceHash(sets_ == 0 ? 1 : sets_);
    const std::size_t words = std::size_t{sets_} * set_words_;
    storage_.resize((words + kWordsPerChunk - 1) / kWordsPerChunk);
    clear();
}

void SectoredCache::clear() {
    for (Index first = 0; first < sets_ * set_words_; first += set_words_) {
        std::fill_n(word(first), ways_, kUnused);
        std::fill_n(word(first + ways_), 2 * ways_, 0u);  // never used, no sector valid
    }
    stamp_ = 0;
}

SectoredCache::Index SectoredCache::victim(std::uint64_t key, unsigned most_pending) const {
    if (sets_ == 0) return kNone;
    const Index first = set_of(key);
    const auto* const used = reinterpret_cast<const std::int32_t*>(word(first + ways_));
    std::int32_t least = used[0];
    for (Index i = 1; i < ways_; ++i) least = std::min(least, used[i]);
    Index best = 0;
    while (used[best] != least) ++best;
    if (least == 0 || (sectors(first + best).pending == 0 && most_pending >= ways_)) return first + best;
    Index found = kNone;
    unsigned pending = 0;
    for (Index i = 0; i < ways_; ++i) {
        if (sectors(first + i).pending != 0) {
            ++pending;
        } else if (found == kNone || used[i] < used[found - first]) {
            found = first + i;
        }
    }
    return pending > most_pending ? kNone : found;
}

void SectoredCache::touch_hinted(Index index, EvictionPolicy policy) {
    std::int32_t priority = kNormal;
    if (policy == EvictionPolicy::none) {
        priority = kLast;
    } else if (policy == EvictionPolicy::unchanged) {
        return;
    } else if (policy == EvictionPolicy::first) {
        priority = kFirst;
    } else if (policy == EvictionPolicy::last) {
        const Index first = index / set_words_ * set_words_;
        unsigned last = 0;
        for (Index i = first; i < first + ways_; ++i) last += i != index && used(i) >= kLast ? 1u : 0u;
        if (last < most_last_) priority = kLast;
    }
    used(index) = priority | next_stamp();
}

// Once in half a thousand million uses: all times become small, in the same order.
void SectoredCache::renumber() {
    std::vector<Index> order;
    for (Index first = 0; first < sets_ * set_words_; first += set_words_) {
        for (Index i = first; i < first + ways_; ++i)
            if (used(i) != 0) order.push_back(i);
    }
    const auto time = [this](Index i) { return used(i) & (kNormal - 1); };
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return time(a) < time(b); });
    stamp_ = 0;
    for (const Index i : order) used(i) = (used(i) & ~(kNormal - 1)) | ++stamp_;
    ++stamp_;
}

}  // namespace heddle::models
