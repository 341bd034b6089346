// Translation of addresses: a small buffer of pages in each SM, a large one in each GPC, and page walks.
#pragma once

#include <cstdint>
#include <vector>

#include "models/common/cycle.h"
#include "models/common/parameter.h"
#include "models/memory/address_hash.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// The defaults describe an H100. L1 needs no translation; what leaves the SM does.
struct TranslationConfig {
    std::uint64_t page_bytes = 2ull << 20;  ///< 0: translation takes no time
    std::uint32_t sm_entries = 16;          ///< pages that an SM knows
    std::uint32_t sm_miss_latency = 8;      ///< cycles to ask the GPC
    std::uint32_t gpc_entries = 32768;      ///< pages that a GPC knows
    std::uint32_t walk_latency = 600;       ///< cycles of a page walk
    std::uint32_t walks = 16;               ///< of a GPC at the same time
};
void describe(TranslationConfig& config, ParameterList& list);

/// Pages in sets of `ways`, the least recently used of a set is replaced. Each page may be used from a cycle
/// on.
class TranslationBuffer {
  public:
    TranslationBuffer(std::uint32_t entries, std::uint32_t ways);
    /// A page (address / page size) and the cycle from which it may be used.
    struct Entry {
        std::uint64_t page = 0;   ///< address / page size
        Cycle ready = 0;          ///< cycle from which it may be used
        std::uint32_t used = 0;   // when last used
        std::uint32_t epoch = 0;  // of the run; another one: empty
    };
    /// Null when the page is not there.
    Entry* find(std::uint64_t page);
    /// Puts the page in place of another. True when that one was in use.
    bool insert(std::uint64_t page, Entry*& entry);
    /// Empties the buffer in constant time.
    void reset() { ++epoch_; }

  private:
    Entry* set_of(std::uint64_t page) {
        return &entries_[sets_ == 1 ? 0 : (mix_bits(page) >> 32) * sets_ >> 32 << shift_];
    }
    std::uint32_t sets_, ways_, shift_;
    std::uint32_t epoch_ = 1, stamp_ = 0;
    std::vector<Entry> entries_;
};

/// The buffer of a GPC. A kernel's pages count as known at its start, as far as there is room: earlier work,
/// if only that which filled its buffers, has touched them. Each page that comes when its set is full costs a
/// walk.
class GpcTranslation {
  public:
    explicit GpcTranslation(const TranslationConfig& config);
    /// The cycle from which a page can be used that is asked for in cycle `now`.
    Cycle translate(std::uint64_t page, Cycle now);
    /// Page walks since reset().
    std::uint64_t walks() const { return walks_; }
    void reset();

  private:
    const TranslationConfig config_;
    TranslationBuffer pages_;
    BandwidthServer walker_;
    FineCycles walk_interval_;
    std::uint64_t walks_ = 0;
};

/// The buffer of an SM. `Ask(page, cycle)` is the GPC's translate().
class SmTranslation {
  public:
    explicit SmTranslation(const TranslationConfig& config);
    /// Whether translation takes time at all.
    bool enabled() const { return enabled_; }
    /// The cycle from which a request for `line` can go on that is ready in cycle `now`.
    template <class Ask>
    Cycle translate(std::uint64_t line, Cycle now, Ask&& ask) {
        const std::uint64_t page = line >> page_shift_;
        if (page != last_page_) {
            TranslationBuffer::Entry* entry = pages_.find(page);
            if (entry == nullptr) {
                const Cycle ready = ask(page, now + miss_latency_);
                pages_.insert(page, entry);
                entry->ready = ready;
            }
            last_page_ = page;
            last_ready_ = entry->ready;
        }
        return now > last_ready_ ? now : last_ready_;
    }
    void reset();

  private:
    bool enabled_;
    unsigned page_shift_;
    Cycle miss_latency_;
    TranslationBuffer pages_;
    std::uint64_t last_page_ = ~std::uint64_t{0};
    Cycle last_ready_ = 0;
};

}  // namespace heddle::models::gpu
