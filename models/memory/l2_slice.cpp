#include "models/memory/l2_slice.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::models {
namespace {

/// From a request's or answer's arrival to the earliest arrival elsewhere of what it causes.
Cycle lookahead(const L2Config& config, std::uint32_t crossbar_latency) {
    std::uint32_t least = std::min(
        {config.miss_latency, config.fill_latency + crossbar_latency, config.latency + crossbar_latency});
    if (config.partitions > 1)
        least = std::min(least, config.link_latency + std::min(1u, config.fill_latency));
    return std::max(1u, least);
}

}  // namespace

L2Slice::L2Slice(const sc_core::sc_module_name& name, ClockDomain& clock, const L2Config& config,
                 std::uint32_t crossbar_latency, std::uint32_t position, std::uint32_t fill_bytes,
                 MemoryRequestPool& pool)
    : L2Block(name, clock),
      config_(config),
      crossbar_latency_(crossbar_latency),
      position_(position),
      partition_(position / (config.slices / config.partitions)),
      fill_bytes_(fill_bytes),
      hash_(config.slices, config.partitions, chunk_bits_of(config.interleave_bytes)),
      chunk_lines_(config.interleave_bytes / kLineBytes),
      group_lines_(std::min(chunk_lines_, kMostLines)),
      pool_(pool),
      sector_time_(fine(kSectorBytes / config.bytes_per_cycle)),
      write_sector_time_(fine(kSectorBytes / config.bytes_per_cycle * config.write_cost)),
      atomic_time_(fine(config.atomic_interval)),
      link_sector_time_(fine(kSectorBytes / config.link_bytes_per_cycle)),
      cache_(config.bytes / config.slices, config.ways, true),
      inbox_(lookahead(config, crossbar_latency)) {
    cache_.limit_last(static_cast<unsigned>(config.persisting * config.ways));
    reset();
}

void L2Slice::end_of_elaboration() {
    issuers_.clear();
    twins_.clear();
    twin_issuers_.clear();
    for (int i = 0; i < responses.size(); ++i) issuers_.emplace_back(responses[i]);
    for (int i = 0; i < twin_requests.size(); ++i) twins_.emplace_back(twin_requests[i]);
    for (int i = 0; i < twin_responses.size(); ++i) twin_issuers_.emplace_back(twin_responses[i]);
    memory_ = Peer<RequestInterface>(memory_requests[0]);
}

void L2Slice::reset() {
    cache_.clear();
    if (!std::exchange(used_, false)) return;
    // At most one line for each read, from memory and from other partitions.
    waiting_.reset(2 * std::size_t{config_.mshrs});
    free_slots_.clear();
    for (std::size_t slot = waiting_.slots(); slot-- > 0;)
        free_slots_.push_back(static_cast<std::uint16_t>(slot));
    inbox_.reset();
    stalled_ = stalled_twins_ = Queue{};
    data_.reset();
    link_out_.reset();
    link_in_.reset();
    misses_ = copies_under_way_ = 0;
    write_backs_ = 0;
    write_back_ends_.clear();
    statistics_ = {};
}

void L2Slice::send(MemoryRequest& request, Cycle arrival) {
    used_ = true;
    wake(inbox_.push(request, arrival, cache_.set_of(request.key)));
}

// Nobody looks at the end of a write-back but requests that found no room.
void L2Slice::respond(MemoryRequest& request, Cycle arrival) {
    if (request.kind == RequestKind::write_back) {
        const unsigned lines = line_count(request.sectors);
        pool_.give_back(request);
        auto place = write_back_ends_.end();
        while (place != write_back_ends_.begin() && *std::prev(place) > arrival) --place;
        write_back_ends_.insert(place, lines, arrival);
        if (stalled()) wake(inbox_.end_of(arrival));
        return;
    }
    request.returning = true;
    wake(inbox_.push(request, arrival, index_of(request) / SectoredCache::kMostWays));
}

void L2Slice::acknowledge(Cycle, unsigned) {}  // memory answers write-backs with respond()

bool L2Slice::can_act(Cycle now) const {
    if (inbox_.due(now)) return true;
    if (stalled() && inbox_.end_of(now) == now && !write_back_ends_.empty() &&
        write_back_ends_.front() <= now)
        return true;
    if (stalled_twins_.first != nullptr && can_serve(*stalled_twins_.first)) return true;
    return stalled_.first != nullptr && can_serve(*stalled_.first);
}

void L2Slice::prefetch(Cycle now, unsigned stage) const {
    if (stage == 0) {
        __builtin_prefetch(&inbox_);
        __builtin_prefetch(&data_);
    }
    if (stage < 2) return inbox_.prefetch(now, stage);
    for (const ArrivalWindows::Arrival& arrival : inbox_.peek(now)) {
        const MemoryRequest& request = *arrival.request;
        if (stage == 2) {
            __builtin_prefetch(&request);
            cache_.prefetch_set(arrival.hint);
        } else if (stage == 3) {
            if (request.returning) waiting_.prefetch_slot(cache_.slot(index_of(request)));
            if (request.sectors <= kWholeLine) continue;
            const bool filled = request.returning && !request.from_slice;
            const std::uint32_t key = filled ? hash_.key_of(request.tag, partition_) : request.key;
            for (unsigned i = 1; i < kMostLines; ++i) {
                if (sectors_of(request.sectors, i) != 0)
                    cache_.prefetch_set(cache_.set_of(key_of_line(key, i)));
            }
        } else if (stage == 4 && request.returning) {
            waiting_.prefetch_requests(cache_.slot(index_of(request)));
        }
    }
}

Cycle L2Slice::tick(Cycle now) {
    const std::span<const ArrivalWindows::Arrival> arrivals = inbox_.take(now);
    for (std::size_t i = 0; i < arrivals.size();) {
        const Cycle cycle = arrivals[i].at;
        retry_before(cycle);
        end_write_backs(cycle);
        for (; i < arrivals.size() && arrivals[i].at == cycle; ++i)
            take(*arrivals[i].request, arrivals[i].hint, cycle);
        retry_stalled(cycle);
        if (probe() != nullptr) [[unlikely]]
            tell_signals(cycle);
    }
    retry_before(now + 1);
    const Cycle next = inbox_.next(now);
    return stalled() && !write_back_ends_.empty() ? std::min(next, inbox_.end_of(write_back_ends_.front()))
                                                  : next;
}

void L2Slice::end_write_backs(Cycle now) {
    for (; !write_back_ends_.empty() && write_back_ends_.front() <= now; write_back_ends_.pop_front())
        --write_backs_;
}

void L2Slice::retry_stalled(Cycle now) {
    if (stalled_twins_.first != nullptr) retry(stalled_twins_, now);
    if (stalled_.first != nullptr) retry(stalled_, now);
}

/// Requests that wait for room, in the cycles before `end` in which write-backs end.
void L2Slice::retry_before(Cycle end) {
    while (stalled() && !write_back_ends_.empty() && write_back_ends_.front() < end) {
        const Cycle cycle = write_back_ends_.front();
        end_write_backs(cycle);
        retry_stalled(cycle);
        if (probe() != nullptr) tell_signals(cycle);
    }
}

std::vector<SignalDeclaration> L2Slice::signals() const {
    constexpr SignalKind kAmount = SignalKind::amount;
    return {{"requests", 8, "lines", "Lines of SMs' requests that are served.", kAmount},
            {"load_sectors", 8, "sectors", "Sectors of 32 B that are loaded.", kAmount},
            {"hit_sectors", 8, "sectors", "Sectors of loads and atomics that are found.", kAmount},
            {"store_sectors", 8, "sectors", "Sectors that are stored.", kAmount},
            {"stalled", 1, "", "1: the first request waits for a line, an MSHR or a write-back buffer."},
            {"misses", 16, "lines", "Lines that wait for memory, of l2.mshrs."},
            {"copies", 16, "lines", "Lines that wait for another partition, of l2.mshrs."},
            {"write_backs", 16, "lines", "Evicted lines on their way to memory, of l2.write_backs."}};
}

void L2Slice::tell_signals(Cycle now) {
    std::size_t signal = 0;
    for (const std::uint64_t total :
         {statistics_.requests, statistics_.load_sectors, statistics_.hit_sectors, statistics_.store_sectors})
        probe()->add_to_total(signal++, now, total);
    for (const std::uint32_t level : {stalled() ? 1u : 0u, misses_, copies_under_way_, write_backs_})
        probe()->set(signal++, now, level);
}

void L2Slice::take(MemoryRequest& request, std::uint32_t set, Cycle now) {
    if (request.returning) return fill(request, now);
    if (request.kind == RequestKind::invalidate) return invalidate(request);
    Queue& queue = request.from_slice ? stalled_twins_ : stalled_;
    if (queue.first == nullptr && serve(request, set, now)) return;
    ++statistics_.stalls;
    request.next = nullptr;
    (queue.first == nullptr ? queue.first : queue.last->next) = &request;
    queue.last = &request;
}

void L2Slice::retry(Queue& queue, Cycle now) {
    while (queue.first != nullptr) {
        MemoryRequest& request = *queue.first;
        MemoryRequest* const following = request.next;
        if (!serve(request, cache_.set_of(request.key), now)) return;
        queue.first = following;
    }
    queue.last = nullptr;
}

SectoredCache::Index L2Slice::victim(std::uint32_t set, bool home) const {
    return home ? cache_.victim_in(set) : cache_.victim_in(set, config_.ways / 2 - 1);
}

bool L2Slice::can_serve(const MemoryRequest& request) const {
    const std::uint32_t key = key_of_line(request.key, request.done_lines);
    const std::uint32_t set = cache_.set_of(key);
    const bool home = is_home(key);
    const SectoredCache::Index index = cache_.find(set, key);
    return has_room(request.kind, sectors_of(request.sectors, request.done_lines), home, index,
                    index == SectoredCache::kNone ? victim(set, home) : index);
}

/// `index`: the line's, or kNone when `victim` is to become it.
bool L2Slice::has_room(RequestKind kind, SectorMask sectors, bool home, SectoredCache::Index index,
                       SectoredCache::Index victim) const {
    const bool reads = kind != RequestKind::store;
    const bool may_miss = (home ? misses_ : copies_under_way_) < config_.mshrs;
    if (index != SectoredCache::kNone) {
        if (!reads || may_miss) return true;
        const SectoredCache::Sectors& state = cache_.sectors(index);
        return (sectors & static_cast<SectorMask>(~(state.valid | state.pending))) == 0;
    }
    if (reads && !may_miss) return false;
    if (victim == SectoredCache::kNone) return false;
    return write_backs_ < config_.write_backs || cache_.sectors(victim).dirty == 0;
}

/// Of one line, of which so many sectors are accessed.
FineCycles L2Slice::duration(const MemoryRequest& request, unsigned sectors) const {
    FineCycles time = sectors * (request.kind == RequestKind::load ? sector_time_ : write_sector_time_);
    time = std::max<FineCycles>(1u << kFineBits, time);
    if (request.kind == RequestKind::atomic) time = std::max(time, request.atomic_conflicts * atomic_time_);
    return time;
}

/// Where the i-th line lies, or lies from now on; kNone: there is no room now, and nothing has changed.
SectoredCache::Index L2Slice::place_for(const MemoryRequest& request, unsigned i, bool home,
                                        std::uint32_t set, Cycle now) {
    const std::uint32_t key = key_of_line(request.key, i);
    const SectorMask sectors = sectors_of(request.sectors, i);
    const SectoredCache::Index index = cache_.find(set, key);
    if (index != SectoredCache::kNone) {
        if (!has_room(request.kind, sectors, home, index, index)) return SectoredCache::kNone;
        cache_.touch(index, request.policy);
        return index;
    }
    const SectoredCache::Index replaced = victim(set, home);
    if (!has_room(request.kind, sectors, home, SectoredCache::kNone, replaced)) return SectoredCache::kNone;
    if (cache_.sectors(replaced).dirty != 0) evict(replaced, now);
    cache_.assign(replaced, key, request.policy);
    return replaced;
}

/// Serves one line after the other; they are answered together. `set`: of the first. False: there is no room
/// for one of them now, and serving goes on there.
bool L2Slice::serve(MemoryRequest& request, std::uint32_t set, Cycle now) {
    const bool home = is_home(request.key);
    unsigned i = request.done_lines;
    const bool resumed = i != 0;
    if (!resumed) request.missing = 0;
    Cycle begin = now, done = now;
    LinesMask absent = 0;  // what nobody has asked for yet
    SectoredCache::Index first_absent = SectoredCache::kNone, first_missing = SectoredCache::kNone;
    for (auto rest = static_cast<unsigned>(request.sectors) >> i * kSectorsPerLine; rest != 0;
         rest >>= kSectorsPerLine, ++i) {
        const auto wanted = static_cast<SectorMask>(rest & kWholeLine);
        if (wanted == 0) continue;
        const std::uint32_t key = key_of_line(request.key, i);
        if (i != 0) set = cache_.set_of(key);
        const SectoredCache::Index index = place_for(request, i, home, set, now);
        if (index == SectoredCache::kNone) {
            request.done_lines = static_cast<std::uint8_t>(i & 3u);
            if (absent != 0) fetch(request, absent, first_absent, begin + config_.miss_latency);
            return false;
        }
        const unsigned count = sector_count(wanted);
        begin = data_.take(now, duration(request, count));
        if (request.crosses) begin = std::max(begin, link_in_.take(now, count * link_sector_time_));
        SectoredCache::Sectors& state = cache_.sectors(index);
        if (request.from_slice)
            state.copied = true;
        else
            ++statistics_.requests;
        if (request.kind == RequestKind::store) {
            statistics_.store_sectors += count;
            done = std::max(done, store(key, wanted, state, begin));
            continue;
        }
        if (request.kind == RequestKind::atomic)
            statistics_.atomic_sectors += count;
        else if (!request.from_slice)
            statistics_.load_sectors += count;
        const SectorMask missing = wanted & static_cast<SectorMask>(~state.valid);
        statistics_.hit_sectors += count - sector_count(missing);
        if (missing == 0) {
            done = request.kind == RequestKind::atomic ? store(key, wanted, state, begin)
                                                       : begin + config_.latency;
            continue;
        }
        request.missing |= at_line(missing, i);
        if (first_missing == SectoredCache::kNone) first_missing = index;
        const SectorMask asked = miss(index, missing, home);
        if (asked != 0 && absent == 0) first_absent = index;
        absent |= at_line(asked, i);
    }
    request.done_lines = 0;
    request.next = nullptr;
    if (absent != 0) fetch(request, absent, first_absent, begin + config_.miss_latency);
    if (request.missing == 0)
        finish(request, done, now);
    else if (!resumed)
        wait_at(first_missing, request);
    else if (!wait(request))
        finish(request, begin + config_.latency, now);
    return true;
}

/// Sectors are not there: the line waits for them. Returns those that are to be asked for.
SectorMask L2Slice::miss(SectoredCache::Index index, SectorMask missing, bool home) {
    SectoredCache::Sectors& state = cache_.sectors(index);
    SectorMask absent = missing & static_cast<SectorMask>(~state.pending);
    statistics_.merged_sectors += sector_count(missing) - sector_count(absent);
    if (state.pending == 0) {
        cache_.set_slot(index, free_slots_.back());
        free_slots_.pop_back();
    }
    if (absent == 0) return 0;
    if (home) absent = filled(absent) & static_cast<SectorMask>(~(state.valid | state.pending));
    state.pending |= absent;
    ++(home ? misses_ : copies_under_way_);
    return absent;
}

void L2Slice::wait_at(SectoredCache::Index index, MemoryRequest& request) {
    waiting_.add(cache_.slot(index), request);
}

/// Has the request wait at the first of its lines that still lacks some of what was missing. False: none
/// does.
bool L2Slice::wait(MemoryRequest& request) {
    for (unsigned i = 0; i < kMostLines; ++i) {
        const SectorMask missing = sectors_of(request.missing, i);
        if (missing == 0) continue;
        const SectoredCache::Index index = cache_.find(key_of_line(request.key, i));
        const unsigned pending = index == SectoredCache::kNone ? 0u : cache_.sectors(index).pending;
        request.missing &= static_cast<LinesMask>(~at_line(static_cast<SectorMask>(missing & ~pending), i));
        if ((missing & pending) == 0) continue;
        wait_at(index, request);
        return true;
    }
    return false;
}

/// A store, or an atomic whose old value is here, is performed. Returns when it is.
Cycle L2Slice::store(std::uint32_t key, SectorMask sectors, SectoredCache::Sectors& state, Cycle begin) {
    statistics_.dirtied_sectors += sector_count(sectors & static_cast<SectorMask>(~state.dirty));
    state.valid |= sectors;
    state.dirty |= sectors;
    if (!state.copied) return begin + config_.latency;
    invalidate_copies(key, state, begin + config_.miss_latency);
    return begin + config_.latency + 2 * Cycle{config_.link_latency};
}

void L2Slice::invalidate_copies(std::uint32_t key, SectoredCache::Sectors& state, Cycle at) {
    for (std::uint32_t partition = 0; partition < twins_.size(); ++partition) {
        if (partition == partition_) continue;
        MemoryRequest& message = pool_.take();
        message.kind = RequestKind::invalidate;
        message.key = key;
        message.sectors = kWholeLine;
        ++statistics_.invalidations;
        twins_[partition].send(*this, message, at + config_.link_latency);
    }
    state.copied = false;
}

void L2Slice::invalidate(MemoryRequest& request) {
    const SectoredCache::Index index = cache_.find(request.key);
    if (index != SectoredCache::kNone)
        cache_.sectors(index).valid &= static_cast<SectorMask>(~request.sectors);
    pool_.give_back(request);
}

/// What memory reads when it is asked for these sectors.
SectorMask L2Slice::filled(SectorMask sectors) const {
    if (fill_bytes_ >= kLineBytes) return kWholeLine;
    if (fill_bytes_ < 2 * kSectorBytes) return sectors;
    const SectorMask low = (sectors | (sectors >> 1)) & 0x5;
    return static_cast<SectorMask>(low | (low << 1));
}

/// Asks memory, or the lines' home, for `sectors` of the request's lines. `first`: where the first line of
/// them lies.
void L2Slice::fetch(const MemoryRequest& request, LinesMask sectors, SectoredCache::Index first, Cycle at) {
    const auto skipped = static_cast<unsigned>(std::countr_zero(sectors)) / kSectorsPerLine;
    const std::uint32_t key = key_of_line(request.key, skipped);
    MemoryRequest& read = pool_.take();
    read.kind = RequestKind::load;
    read.sectors = static_cast<LinesMask>(sectors >> skipped * kSectorsPerLine);
    read.issuer = static_cast<std::uint16_t>(position_);
    if (is_home(key)) {
        read.key = first;
        read.tag = hash_.row_of(key);
        statistics_.fill_sectors += sector_count(sectors);
        memory_.send(*this, read, at);
    } else {
        read.key = key;
        read.tag = first;
        read.from_slice = true;
        read.wants_data = true;
        read.policy = request.policy;
        statistics_.copy_sectors += sector_count(sectors);
        twins_[hash_.home_of(key)].send(*this, read, at + config_.link_latency);
    }
}

void L2Slice::fill(MemoryRequest& response, Cycle now) {
    const std::uint32_t key = response.from_slice ? response.key : hash_.key_of(response.tag, partition_);
    deliver(index_of(response), response, 0, key, now);
    for (unsigned i = 1; i < kMostLines; ++i) {
        if (sectors_of(response.sectors, i) != 0)
            deliver(cache_.find(key_of_line(key, i)), response, i, key, now);
    }
    pool_.give_back(response);
}

/// The i-th line of a response has come, whose first has `key`: whoever waits for it looks whether the
/// response brings all that it lacks.
void L2Slice::deliver(SectoredCache::Index index, const MemoryRequest& response, unsigned i,
                      std::uint32_t key, Cycle now) {
    SectoredCache::Sectors& state = cache_.sectors(index);
    const auto slot = static_cast<std::uint16_t>(cache_.slot(index));
    state.valid |= sectors_of(response.sectors, i);
    state.pending &= static_cast<SectorMask>(~sectors_of(response.sectors, i));
    --(response.from_slice ? copies_under_way_ : misses_);
    if (state.pending == 0) free_slots_.push_back(slot);
    const std::uint32_t row = hash_.row_of(key);
    MemoryRequest* left = waiting_.take(slot, [&](MemoryRequest& request) {
        const std::uint32_t base = hash_.row_of(request.key);  // both in one group of lines
        const LinesMask brought =
            row >= base ? static_cast<LinesMask>(response.sectors << (row - base) * kSectorsPerLine)
                        : static_cast<LinesMask>(response.sectors >> (base - row) * kSectorsPerLine);
        request.missing &= static_cast<LinesMask>(~brought);
        return sectors_of(request.missing, row + i - base) == 0;
    });
    while (left != nullptr) {
        MemoryRequest& request = *left;
        left = request.next;
        if (request.missing != 0 && wait(request)) continue;
        if (request.kind == RequestKind::atomic) {
            state.dirty |= sectors_of(request.sectors, 0);
            if (state.copied) invalidate_copies(request.key, state, now + 1);
        }
        finish(request, now + config_.fill_latency, now);
    }
}

/// The answer, which is known in cycle `now`, leaves the slice in cycle `at`.
void L2Slice::finish(MemoryRequest& request, Cycle at, Cycle now) {
    if (request.kind != RequestKind::load) statistics_.last_store = std::max(statistics_.last_store, at);
    if (request.from_slice || (request.crosses && request.wants_data)) {
        at += link_out_.take(now, sector_count(request.sectors) * link_sector_time_) - now;
    }
    if (request.from_slice) {
        twin_issuers_[hash_.partition_of(request.issuer)].respond(*this, request, at + config_.link_latency);
        return;
    }
    statistics_.answers += line_count(request.sectors);
    if (request.crosses) at += config_.link_latency;
    issuers_[request.port].respond(*this, request, at + crossbar_latency_);
}

L2SliceStatistics L2Slice::statistics() const {
    L2SliceStatistics result = statistics_;
    result.busy_cycles = data_.busy_cycles();
    return result;
}

}  // namespace heddle::models
