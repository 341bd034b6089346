// Tags of a set-associative cache whose lines are filled sector by sector. Tags only: values live in isa/ptx.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "models/memory/address_hash.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

/// The lines of a set in the order in which they go: first those of EvictionPolicy::first, never used ones
/// before them; then normal ones; then those of EvictionPolicy::last. Each by the time of its last use.
class EvictionOrder {
  public:
    static constexpr unsigned kMostWays = 16;  ///< four bits name a way

    /// Ways 0 to `ways` - 1 in ascending order, all among those that are to go first.
    void reset(unsigned ways) {
        order_ = ways == kMostWays ? kAscending : kAscending & ((1ull << 4 * ways) - 1);
        first_ = static_cast<std::uint8_t>(ways);
        last_ = 0;
    }
    /// The way at `place`, 0: the next to go.
    unsigned way(unsigned place) const { return order_ >> 4 * place & 15u; }
    unsigned last() const { return last_; }
    bool is_last(unsigned way, unsigned ways) const { return last_ != 0 && place_of(way) >= ways - last_; }

    /// Marks a way as used and as one of those that are replaced first, or last, whatever is used later.
    void use_first(unsigned way, unsigned ways) {
        leave(way, ways);
        insert(way, first_++);
    }
    void use(unsigned way, unsigned ways) {
        if ((order_ & 15u) == way && last_ == 0) {  // the next to go, mostly since it was replaced
            first_ -= first_ != 0;
            order_ = order_ >> 4 | std::uint64_t{way} << 4 * (ways - 1);
            return;
        }
        leave(way, ways);
        insert(way, ways - 1 - last_);
    }
    /// See use_first().
    void use_last(unsigned way, unsigned ways) {
        leave(way, ways);
        insert(way, ways - 1);
        ++last_;
    }

  private:
    static constexpr std::uint64_t kAscending = 0xfedc'ba98'7654'3210ull, kOnes = 0x1111'1111'1111'1111ull;

    unsigned place_of(unsigned way) const {
        const std::uint64_t differs = order_ ^ way * kOnes;
        // The lowest digit of 0 borrows first.
        return static_cast<unsigned>(std::countr_zero((differs - kOnes) & ~differs & 8 * kOnes)) / 4 % 16;
    }
    void leave(unsigned way, unsigned ways) {
        const unsigned place = place_of(way);
        if (place < first_) --first_;
        if (place >= ways - last_) --last_;
        const std::uint64_t before = (1ull << 4 * (place % 16)) - 1;
        order_ = (order_ & before) | (order_ >> 4 & ~before);
    }
    void insert(unsigned way, unsigned place) {
        const unsigned shift = 4 * (place % 16);
        const std::uint64_t before = (1ull << shift) - 1;
        order_ = (order_ & before) | std::uint64_t{way} << shift | (order_ & ~before) << 4;
    }

    std::uint64_t order_;        // digits of four bits
    std::uint8_t first_, last_;  // so many at the beginning are to go first, at the end last
};

/// Least recently used replacement among lines of the same priority; EvictionPolicy gives a line its
/// priority. A line is named by a key, of which the low 32 bits must be unique (with 128-byte lines that
/// covers 512 GiB of addresses); sets are chosen by hash.
class SectoredCache {
  public:
    /// Where a line lies: set * 16 + way.
    using Index = std::uint32_t;
    static constexpr Index kNone = ~Index{0};
    static constexpr unsigned kMostWays = EvictionOrder::kMostWays;
    static constexpr unsigned kMostSlots = 2048;

    /// State of the four sectors of a line, one bit each.
    struct Sectors {
        std::uint16_t valid : 4 = 0;      ///< filled
        std::uint16_t dirty : 4 = 0;      ///< stored to, and not yet written back
        std::uint16_t pending : 4 = 0;    ///< on their way here
        std::uint16_t copied : 1 = 0;     ///< L2: other partitions may have copies
        std::uint16_t slot_high : 3 = 0;  ///< upper bits of the slot's number
    };
    static_assert(sizeof(Sectors) == 2);

    SectoredCache() = default;
    /// `bytes` is rounded down to whole sets; may be 0: nothing is ever found and no victim given. `ways`: 1
    /// to 16. `slots`: lines with pending sectors have a number of the owner's own.
    SectoredCache(std::uint64_t bytes, unsigned ways, bool slots = false) { resize(bytes, ways, slots); }
    /// Empties the cache and gives it another size.
    void resize(std::uint64_t bytes, unsigned ways, bool slots = false);
    void clear();

    /// The set of a key. It costs a hash, so callers compute it once and pass it to the other functions.
    std::uint32_t set_of(std::uint64_t key) const { return hash_.slice(key); }
    Index find(std::uint64_t key) const { return find(set_of(key), key); }
    Index find(std::uint32_t set, std::uint64_t key) const {
        if (sets_ == 0) return kNone;
        const std::uint32_t tag = tag_of(key);
        const std::uint32_t* const tags = tags_of(set);
#ifdef __SSE2__
        if (ways_ % 8 == 0) {
            std::uint32_t matches = eight(tags, tag);
            if (ways_ == 16) matches |= eight(tags + 8, tag) << 16;
            return matches == 0 ? kNone : set * kMostWays + static_cast<Index>(std::countr_zero(matches)) / 2;
        }
#endif
        for (Index way = 0; way < ways_; ++way) {
            if (tags[way] == tag) return set * kMostWays + way;
        }
        return kNone;
    }
    /// Brings a set into the caches of the host.
    void prefetch_set(std::uint32_t set) const {
        const std::byte* const block = block_of(set);
        __builtin_prefetch(block);
        __builtin_prefetch(block + order_at_);
    }
    /// Brings the state that sectors() returns for a line into the caches of the host.
    void prefetch_sectors(Index index) const {
        __builtin_prefetch(block_of(index / kMostWays) + order_at_);
    }

    /// The line of the key's set to replace: an unused one, else the first to go without pending sectors.
    /// None when more than `most_pending` lines of the set wait already.
    Index victim(std::uint64_t key, unsigned most_pending = ~0u) const {
        return victim_in(set_of(key), most_pending);
    }
    Index victim_in(std::uint32_t set, unsigned most_pending = ~0u) const;
    /// Gives line `index` to `key`, with no sector valid.
    void assign(Index index, std::uint64_t key, EvictionPolicy policy = EvictionPolicy::none) {
        const std::uint32_t set = index / kMostWays;
        touched_[set / 64] |= std::uint64_t{1} << set % 64;
        tags_of(set)[index % kMostWays] = tag_of(key);
        sectors(index) = Sectors{};
        EvictionOrder& order = order_of(set);
        if (policy == EvictionPolicy::first)
            order.use_first(index % kMostWays, ways_);
        else
            order.use(index % kMostWays, ways_);
        if (policy == EvictionPolicy::last) touch_hinted(index, policy);
    }
    /// Marks a line as used, with the eviction policy of the access.
    void touch(Index index, EvictionPolicy policy = EvictionPolicy::none) {
        EvictionOrder& order = order_of(index / kMostWays);
        if (policy == EvictionPolicy::none && order.last() == 0)
            order.use(index % kMostWays, ways_);
        else
            touch_hinted(index, policy);
    }
    /// Limits how many lines of a set may have EvictionPolicy::last; further ones count as normal.
    void limit_last(unsigned ways) {
        most_last_ = ways;
    }
    /// The `ways` lines of each set that would be replaced first lose their valid sectors, except for dirty
    /// ones.
    void forget_oldest(unsigned ways);
    std::size_t lines() const {
        return std::size_t{sets_} * ways_;
    }
    /// Low 32 bits of the line's key.
    std::uint32_t key(Index index) const {
        return tags_of(index / kMostWays)[index % kMostWays];
    }
    Sectors& sectors(Index index) {
        return reinterpret_cast<Sectors*>(block_of(index / kMostWays) + sectors_at_)[index % kMostWays];
    }
    const Sectors& sectors(Index index) const {
        return reinterpret_cast<const Sectors*>(block_of(index / kMostWays) + sectors_at_)[index % kMostWays];
    }
    /// A number below kMostSlots that stays with the line.
    unsigned slot(Index index) const {
        return sectors(index).slot_high * 256u +
               static_cast<unsigned>(block_of(index / kMostWays)[slots_at_ + index % kMostWays]);
    }
    void set_slot(Index index, unsigned slot) {
        sectors(index).slot_high = static_cast<std::uint16_t>(slot / 256 & 7u);
        block_of(index / kMostWays)[slots_at_ + index % kMostWays] = static_cast<std::byte>(slot % 256);
    }

  private:
    // A set is one block: its tags, their order, what is said of their sectors, their slots. With 16 ways it
    // fills two lines of the host's cache, with 8 and no slots one.
    struct alignas(64) Chunk {
        std::byte bytes[64];
    };
    static constexpr std::uint32_t kUnused = ~std::uint32_t{0};

    static std::uint32_t tag_of(std::uint64_t key) {
        const auto tag = static_cast<std::uint32_t>(key);
        return tag == kUnused ? tag - 1 : tag;
    }
#ifdef __SSE2__
    /// Two bits for each of eight tags.
    static std::uint32_t eight(const std::uint32_t* tags, std::uint32_t tag) {
        const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
        const auto four = [&](const std::uint32_t* at) {
            return _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(at)), wanted);
        };
        return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi32(four(tags), four(tags + 4))));
    }
#endif
    std::byte* block_of(std::uint32_t set) {
        return reinterpret_cast<std::byte*>(storage_.data()) + (std::size_t{set} << block_shift_);
    }
    const std::byte* block_of(std::uint32_t set) const {
        return reinterpret_cast<const std::byte*>(storage_.data()) + (std::size_t{set} << block_shift_);
    }
    std::uint32_t* tags_of(std::uint32_t set) {
        return reinterpret_cast<std::uint32_t*>(block_of(set));
    }
    const std::uint32_t* tags_of(std::uint32_t set) const {
        return reinterpret_cast<const std::uint32_t*>(block_of(set));
    }
    EvictionOrder& order_of(std::uint32_t set) {
        return *reinterpret_cast<EvictionOrder*>(block_of(set) + order_at_);
    }
    const EvictionOrder& order_of(std::uint32_t set) const {
        return *reinterpret_cast<const EvictionOrder*>(block_of(set) + order_at_);
    }
    void touch_hinted(Index index, EvictionPolicy policy);
    void clear_set(std::uint32_t set);
    unsigned pending_lines(std::uint32_t set) const;

    SliceHash hash_{1};
    std::uint32_t sets_ = 0, ways_ = 0;
    unsigned block_shift_ = 6;
    std::uint32_t order_at_ = 0, sectors_at_ = 0, slots_at_ = 0;  // bytes from the block's beginning
    unsigned most_last_ = ~0u;
    bool slots_ = false;
    std::uint32_t fresh_ = 0;  // so many blocks of storage_ were cleared in the present layout, once
    std::vector<Chunk> storage_;
    std::vector<std::uint64_t> touched_;  // sets in which a line was assigned since clear(), one bit each
};

}  // namespace heddle::models
