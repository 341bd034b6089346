#include "models/gpu/translation.h"

#include <algorithm>
#include <bit>

namespace heddle::models::gpu {
namespace {

constexpr std::uint32_t kGpcWays = 8;  // assumption

}  // namespace

void describe(TranslationConfig& c, ParameterList& list) {
    using enum Quantity;
    list.add("tlb.page_size", c.page_bytes, bytes, 0, 1ull << 34,
             "Page of device memory, a power of two of at least 4 KiB; 0: translation takes no time.");
    list.add("tlb.sm_entries", c.sm_entries, count, 1, 1024, "Pages that an SM knows.");
    list.add("tlb.sm_miss_latency", c.sm_miss_latency, cycles, 1, 10000,
             "From a miss in the SM to the answer of its GPC, when that knows the page.");
    list.add("tlb.gpc_entries", c.gpc_entries, count, 8, 1 << 24, "Pages that a GPC knows.");
    list.add("tlb.walk_latency", c.walk_latency, cycles, 1, 100000, "Of a page walk.");
    list.add("tlb.walks", c.walks, count, 1, 1024, "Page walks of a GPC at the same time.");
}

TranslationBuffer::TranslationBuffer(std::uint32_t entries, std::uint32_t ways)
    : sets_(std::max(1u, entries / ways)),
      ways_(ways),
      shift_(static_cast<std::uint32_t>(std::countr_zero(ways))),
      entries_(std::size_t{sets_} * ways) {}

TranslationBuffer::Entry* TranslationBuffer::find(std::uint64_t page) {
    Entry* const set = set_of(page);
    for (Entry* entry = set; entry != set + ways_; ++entry) {
        if (entry->page != page || entry->epoch != epoch_) continue;
        entry->used = ++stamp_;
        return entry;
    }
    return nullptr;
}

bool TranslationBuffer::insert(std::uint64_t page, Entry*& entry) {
    Entry* const set = set_of(page);
    entry = set;
    for (Entry* other = set; other != set + ways_; ++other) {
        if (other->epoch != epoch_) {
            entry = other;
            break;
        }
        if (other->used < entry->used) entry = other;
    }
    const bool replaced = entry->epoch == epoch_;
    *entry = Entry{page, 0, ++stamp_, epoch_};
    return replaced;
}

GpcTranslation::GpcTranslation(const TranslationConfig& config)
    : config_(config),
      pages_(config.page_bytes == 0 ? kGpcWays : config.gpc_entries, kGpcWays),
      walk_interval_(fine(static_cast<double>(config.walk_latency) / config.walks)) {}

void GpcTranslation::reset() {
    pages_.reset();
    walker_.reset();
    walks_ = 0;
}

Cycle GpcTranslation::translate(std::uint64_t page, Cycle now) {
    TranslationBuffer::Entry* entry = pages_.find(page);
    if (entry == nullptr && pages_.insert(page, entry)) {
        ++walks_;
        entry->ready = walker_.take(now, walk_interval_) + config_.walk_latency;
    }
    return std::max(now, entry->ready);
}

SmTranslation::SmTranslation(const TranslationConfig& config)
    : enabled_(config.page_bytes != 0),
      page_shift_(enabled_ ? static_cast<unsigned>(std::countr_zero(config.page_bytes / kLineBytes)) : 0),
      miss_latency_(config.sm_miss_latency),
      pages_(std::bit_ceil(config.sm_entries), std::bit_ceil(config.sm_entries)) {}

void SmTranslation::reset() {
    pages_.reset();
    last_page_ = ~std::uint64_t{0};
    last_ready_ = 0;
}

}  // namespace heddle::models::gpu
