#include "models/memory/sectored_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace heddle::models {
namespace {

/// Four lines as one number.
std::uint64_t bits_of(const std::array<SectoredCache::Sectors, 4>& lines) {
    static_assert(sizeof lines == sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, lines.data(), sizeof bits);
    return bits;
}

}  // namespace

void SectoredCache::resize(std::uint64_t bytes, unsigned ways, bool slots) {
    const auto sets = static_cast<std::uint32_t>(bytes / kLineBytes / ways);
    clear();
    if (sets == sets_ && ways == ways_ && slots == slots_) return;
    if (ways != ways_ || slots != slots_) fresh_ = 0;
    ways_ = ways;
    sets_ = sets;
    slots_ = slots;
    hash_ = SliceHash(sets_ == 0 ? 1 : sets_);
    order_at_ = (4 * ways_ + 7) / 8 * 8;
    sectors_at_ = order_at_ + sizeof(EvictionOrder);
    slots_at_ = sectors_at_ + 2 * ways_;
    const std::uint32_t used = slots_at_ + (slots ? ways_ : 0);
    block_shift_ = static_cast<unsigned>(std::bit_width(std::max<std::size_t>(sizeof(Chunk), used) - 1));
    const std::size_t chunks = (std::size_t{sets_} << block_shift_) / sizeof(Chunk);
    if (chunks > storage_.size()) storage_.resize(chunks);
    touched_.resize((sets_ + 63) / 64);
    for (; fresh_ < sets_; ++fresh_) clear_set(fresh_);
}

// Most kernels are small beside the caches: what was not assigned to is as it was.
void SectoredCache::clear() {
    for (std::size_t word = 0; word < touched_.size(); ++word) {
        for (std::uint64_t left = std::exchange(touched_[word], 0); left != 0; left &= left - 1)
            clear_set(static_cast<std::uint32_t>(word * 64) +
                      static_cast<std::uint32_t>(std::countr_zero(left)));
    }
}

void SectoredCache::clear_set(std::uint32_t set) {
    std::fill_n(tags_of(set), ways_, kUnused);
    order_of(set).reset(ways_);
    std::fill_n(&sectors(set * kMostWays), ways_, Sectors{});
}

void SectoredCache::forget_oldest(unsigned ways) {
    for (std::uint32_t set = 0; set < sets_; ++set) {
        for (unsigned place = 0; place < std::min(ways, ways_); ++place) {
            Sectors& line = sectors(set * kMostWays + order_of(set).way(place));
            line.valid &= line.dirty;
        }
    }
}

/// Lines of a set with pending sectors.
unsigned SectoredCache::pending_lines(std::uint32_t set) const {
    unsigned count = 0;
    if (ways_ % 4 == 0) {  // four lines at once
        SectoredCache::Sectors waits;
        waits.pending = kWholeLine;
        const std::uint64_t mask = bits_of({waits, waits, waits, waits});
        const std::byte* const at = block_of(set) + sectors_at_;
        for (unsigned way = 0; way < ways_; way += 4) {
            std::array<Sectors, 4> four;
            std::memcpy(four.data(), at + way * sizeof(Sectors), sizeof four);
            std::uint64_t pending = bits_of(four) & mask;
            pending |= pending >> 2;
            pending |= pending >> 1;
            count += static_cast<unsigned>(std::popcount(pending & mask & ~(mask << 1)));
        }
        return count;
    }
    for (Index i = set * kMostWays; i < set * kMostWays + ways_; ++i)
        count += sectors(i).pending != 0 ? 1u : 0u;
    return count;
}

SectoredCache::Index SectoredCache::victim_in(std::uint32_t set, unsigned most_pending) const {
    if (sets_ == 0) return kNone;
    const Index first = set * kMostWays;
    const EvictionOrder& order = order_of(set);
    const Index next = first + order.way(0);
    if (key(next) == kUnused) return next;
    if (most_pending < ways_ && pending_lines(set) > most_pending) return kNone;
    for (unsigned place = 0; place < ways_; ++place) {
        const Index index = first + order.way(place);
        if (sectors(index).pending == 0) return index;
    }
    return kNone;
}

void SectoredCache::touch_hinted(Index index, EvictionPolicy policy) {
    EvictionOrder& order = order_of(index / kMostWays);
    const unsigned way = index % kMostWays;
    const bool is_last = order.is_last(way, ways_);
    switch (policy) {
        case EvictionPolicy::unchanged:
            return;
        case EvictionPolicy::first:
            return order.use_first(way, ways_);
        case EvictionPolicy::last:
            if (order.last() - (is_last ? 1u : 0u) < most_last_) return order.use_last(way, ways_);
            return order.use(way, ways_);
        case EvictionPolicy::none:
            return is_last ? order.use_last(way, ways_) : order.use(way, ways_);
        case EvictionPolicy::normal:
            return order.use(way, ways_);
    }
}

}  // namespace heddle::models
