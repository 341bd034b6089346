// Which lines does a cache hold? Tags of one cache with the least recently used replacement; fast, since a run asks for every line that it touches.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace heddle::models {

/// A set-associative cache of 64-byte lines. Lines are told apart by their number, address / 64, below 2^40. clear() takes no time, and
/// memory of the host is taken as lines come in.
class CacheTags {
  public:
    /// What an access found and displaced.
    struct Victim {
        std::uint64_t line = 0;
        bool any = false, dirty = false;
    };

    /// `bytes` is rounded down to whole sets, at least one. `timed`: lines have a time of arrival; otherwise find() says 0 for those
    /// that are here. Nothing is in the cache then.
    void resize(std::uint64_t bytes, unsigned ways, bool timed) {
        ways_ = ways;
        sets_ = bytes / 64 / ways;
        if (sets_ == 0) sets_ = 1;
        power_of_two_ = (sets_ & (sets_ - 1)) == 0;
        tags_ = zeros<std::uint64_t>();
        used_ = zeros<std::uint32_t>();
        ready_ = timed ? zeros<double>() : nullptr;
        epoch_ = 1;
        now_ = 0;
    }
    void clear() { ++epoch_; }

    /// The time at which the line is or will be here; negative: it is not here. Marks it as used, and as dirty where told.
    double find(std::uint64_t line, bool dirty) {
        const std::uint64_t first = first_of(line), tag = tag_of(line);
        for (std::uint64_t at = first; at < first + ways_; ++at) {
            if (tags_[at] >> 1 != tag) continue;
            used_[at] = ++now_;
            if (dirty) tags_[at] |= 1;
            return ready_ ? ready_[at] : 0;
        }
        return -1;
    }

    /// Puts a line in that find() did not find. `ready`: when it arrives.
    Victim insert(std::uint64_t line, double ready, bool dirty) {
        const std::uint64_t first = first_of(line);
        std::uint64_t oldest = first;
        for (std::uint64_t at = first; at < first + ways_; ++at) {
            if (!is_present(at)) {
                oldest = at;
                break;
            }
            if (used_[at] < used_[oldest]) oldest = at;
        }
        const Victim victim{tags_[oldest] >> 24, is_present(oldest), (tags_[oldest] & 1) != 0};
        tags_[oldest] = tag_of(line) << 1 | (dirty ? 1 : 0);
        used_[oldest] = ++now_;
        if (ready_) ready_[oldest] = ready;
        return victim;
    }

  private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    template <class Number>
    using Array = std::unique_ptr<Number[], Free>;

    // Zero pages of the system: nothing is touched before it is used.
    template <class Number>
    Array<Number> zeros() const {
        void* const memory = std::calloc(sets_ * ways_, sizeof(Number));
        if (memory == nullptr) throw std::bad_alloc();
        return Array<Number>(static_cast<Number*>(memory));
    }
    // A tag is line (40 bits), epoch (23), dirty (1).
    std::uint64_t tag_of(std::uint64_t line) const { return line << 23 | epoch_; }
    bool is_present(std::uint64_t at) const { return (tags_[at] >> 1 & 0x7FFFFFu) == epoch_; }
    // Pages lie anywhere in memory: the set follows from a hash of the page and the line's place in it.
    std::uint64_t first_of(std::uint64_t line) const {
        std::uint64_t hash = line;
        if (sets_ > 64) hash = ((line >> 6) * 0x9E3779B97F4A7C15u >> 20) * 64 + (line & 63);
        return (power_of_two_ ? hash & (sets_ - 1) : hash % sets_) * ways_;
    }

    Array<std::uint64_t> tags_;
    Array<std::uint32_t> used_;
    Array<double> ready_;
    std::uint64_t sets_ = 1;
    std::uint32_t now_ = 0;
    unsigned ways_ = 1;
    std::uint64_t epoch_ = 1;
    bool power_of_two_ = true;
};

}  // namespace heddle::models
