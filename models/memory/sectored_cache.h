// Tags of a set-associative cache whose lines are filled sector by sector. Tags only: values live in isa/ptx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/memory/address_hash.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

/// Least recently used replacement among lines of the same priority; EvictionPolicy gives a line its
/// priority. A line is named by a key, of which the low 32 bits must be unique (with 128-byte lines that
/// covers 512 GiB of addresses); sets are chosen by hash.
class SectoredCache {
  public:
    /// Where a line lies. Not dense.
    using Index = std::uint32_t;
    static constexpr Index kNone = ~Index{0};

    struct Sectors {
        SectorMask valid : 4 = 0;
        SectorMask dirty : 4 = 0;
        SectorMask pending : 4 = 0;  ///< on their way here
        bool copied : 1 = false;     ///< L2: other partitions may have copies
        std::uint16_t slot = 0;      ///< the owner's own, while sectors are pending
    };
    static_assert(sizeof(Sectors) == 4);

    SectoredCache() = default;
    /// `bytes` is rounded down to whole sets; may be 0: nothing is ever found and no victim given.
    SectoredCache(std::uint64_t bytes, unsigned ways) { resize(bytes, ways); }
    /// Empties the cache and gives it another size.
    void resize(std::uint64_t bytes, unsigned ways);
    void clear();

    Index find(std::uint64_t key) const {
        if (sets_ == 0) return kNone;
        const std::uint32_t tag = tag_of(key);
        const Index first = set_of(key);
        const std::uint32_t* const tags = word(first);
        for (Index i = 0; i < ways_; ++i) {
            if (tags[i] == tag) return first + i;
        }
        return kNone;
    }
    /// Brings the key's set into the caches of the host.
    void prefetch(std::uint64_t key) const {
        const std::uint32_t* const tags = word(set_of(key));
        __builtin_prefetch(tags);
        __builtin_prefetch(tags + ways_);
        __builtin_prefetch(tags + 2 * ways_);
    }
    void prefetch_sectors(Index index) const { __builtin_prefetch(&sectors(index)); }
    /// The line of the key's set to replace: an unused one, else the first to go without pending sectors.
    /// None when more than `most_pending` lines of the set wait already.
    Index victim(std::uint64_t key, unsigned most_pending = ~0u) const;
    /// Gives line `index` to `key`, with no sector valid.
    void assign(Index index, std::uint64_t key, EvictionPolicy policy = EvictionPolicy::none) {
        *word(index) = tag_of(key);
        sectors(index) = Sectors{};
        used(index) = 0;
        touch(index, policy == EvictionPolicy::unchanged ? EvictionPolicy::none : policy);
    }
    /// The line is used; what is said of its eviction.
    void touch(Index index, EvictionPolicy policy = EvictionPolicy::none) {
        if (policy == EvictionPolicy::none && used(index) < kLast) {
            used(index) = kNormal | next_stamp();
        } else {
            touch_hinted(index, policy);
        }
    }
    /// Lines of a set that may have EvictionPolicy::last; further ones count as normal.
    void limit_last(unsigned ways) { most_last_ = ways; }
    std::size_t lines() const { return std::size_t{sets_} * ways_; }
    /// Low 32 bits of the line's key.
    std::uint32_t key(Index index) const { return *word(index); }
    Sectors& sectors(Index index) { return *reinterpret_cast<Sectors*>(word(index) + 2 * ways_); }
    const Sectors& sectors(Index index) const {
        return *reinterpret_cast<const Sectors*>(word(index) + 2 * ways_);
    }

  private:
    // A set is one block: all its tags, then when its lines were last used (0: never), then their sectors.
    struct alignas(64) Chunk {
        std::byte bytes[64];
    };
    static constexpr std::uint32_t kUnused = ~std::uint32_t{0};
    // Order of eviction: priority, then time of the last use.
    static constexpr std::int32_t kFirst = 0, kNormal = 1 << 29, kLast = 2 << 29;

    static std::uint32_t tag_of(std::uint64_t key) {
        const auto tag = static_cast<std::uint32_t>(key);
        return tag == kUnused ? tag - 1 : tag;
    }
    Index set_of(std::uint64_t key) const { return hash_.slice(key) * set_words_; }
    std::uint32_t* word(Index index) { return reinterpret_cast<std::uint32_t*>(storage_.data()) + index; }
    const std::uint32_t* word(Index index) const {
        return reinterpret_cast<const std::uint32_t*>(storage_.data()) + index;
    }
    std::int32_t& used(Index index) { return *reinterpret_cast<std::int32_t*>(word(index) + ways_); }
    std::int32_t next_stamp() {
        if (++stamp_ == kNormal) renumber();
        return stamp_;
    }
    void touch_hinted(Index index, EvictionPolicy policy);
    void renumber();

    SliceHash hash_{1};
    std::uint32_t sets_ = 0, ways_ = 0, set_words_ = 0;
    std::int32_t stamp_ = 0;
    unsigned most_last_ = ~0u;
    std::vector<Chunk> storage_;
};

}  // namespace heddle::models
