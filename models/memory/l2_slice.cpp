#include "models/memory/l2_slice.h"

#include <algorithm>

namespace heddle::models {
namespace {

/// A sector written occupies the data array this many times longer than one read: a kernel that copies within
/// L2 moves 6.1 TB/s on an H200 where one that reads moves 9.7 (gpu-benches, gpu-small-kernels and
/// gpu-l2-cache).
constexpr FineCycles kWriteCost = 2;

}  // namespace

void describe(L2Config& c, ParameterList& list) {
    list.add("l2.size", c.bytes, Quantity::bytes, 1 << 16, 1ull << 33, "Capacity of all slices.");
    list.add("l2.slices", c.slices, Quantity::count, 1, 512, "Slices; lines divide among them by hash.");
    list.add("l2.ways", c.ways, Quantity::count, 1, 64, "Associativity of a slice.");
    list.add("l2.bytes_per_cycle", c.bytes_per_cycle, Quantity::per_cycle, 1, 1024,
             "Effective data rate of one slice.");
    list.add("l2.latency", c.latency, Quantity::cycles, 1, 10000,
             "From arrival at the slice to the response leaving it, hit.");
    list.add("l2.miss_latency", c.miss_latency, Quantity::cycles, 1, 10000,
             "From arrival at the slice to the read leaving for memory.");
    list.add("l2.fill_latency", c.fill_latency, Quantity::cycles, 1, 10000,
             "From the arrival of data from memory to the response leaving.");
    list.add("l2.mshrs", c.mshrs, Quantity::count, 1, 65536, "Lines of one slice that may wait for memory.");
    list.add("l2.write_backs", c.write_backs, Quantity::count, 1, 65536,
             "Evicted lines of one slice that may be on their way to memory.");
    list.add("l2.partitions", c.partitions, Quantity::count, 1, 8,
             "Partitions; SMs and slices divide evenly among them.");
    list.add("l2.far_latency", c.far_latency, Quantity::cycles, 0, 10000,
             "Added to responses from a slice in another partition than the SM.");
    list.add("l2.atomic_interval", c.atomic_interval, Quantity::cycles, 0, 1000,
             "Cycles per atomic operation on one word.");
    list.add("crossbar.latency", c.crossbar_latency, Quantity::cycles, 1, 10000,
             "One way between an SM and an L2 slice.");
    list.add("crossbar.request_bytes", c.crossbar_request_bytes, Quantity::per_cycle, 1, 1024,
             "Store data that one SM sends per cycle.");
    list.add("crossbar.response_bytes", c.crossbar_response_bytes, Quantity::per_cycle, 1, 1024,
             "Data that one SM receives per cycle.");
}

L2Slice::L2Slice(const sc_core::sc_module_name& name, ClockDomain& clock, const L2Config& config,
                 std::uint32_t position, std::uint32_t fill_bytes, MemoryRequestPool& pool)
    : Block(name, clock),
      requests("requests"),
      responses("responses"),
      memory_requests("memory_requests"),
      memory_responses("memory_responses"),
      config_(config),
      position_(position),
      fill_bytes_(fill_bytes),
      hash_(config.slices),
      pool_(pool),
      sector_time_(fine(kSectorBytes / config.bytes_per_cycle)),
      atomic_time_(fine(config.atomic_interval)),
      cache_(config.bytes / config.slices, config.ways) {
    requests.bind(*this);
    memory_responses.bind(*this);
    reset();
}

void L2Slice::end_of_elaboration() {
    issuers_.clear();
    for (int i = 0; i < responses.size(); ++i) issuers_.push_back(responses[i]);
    memory_ = memory_requests[0];
}

void L2Slice::reset() {
    cache_.clear();
    waiting_.assign(cache_.lines(), nullptr);
    inbox_.reset();
    stalled_first_ = stalled_last_ = nullptr;
    data_.reset();
    misses_ = 0;
    write_backs_ = 0;
    statistics_ = {};
}

void L2Slice::send(MemoryRequest& request, Cycle arrival) {
    inbox_.push(request, arrival);
    wake(arrival);
}

void L2Slice::respond(MemoryRequest& request, Cycle arrival) {
    request.returning = true;
    inbox_.push(request, arrival);
    wake(arrival);
}

void L2Slice::acknowledge(Cycle) {}  // memory answers write-backs with respond()

bool L2Slice::can_act(Cycle now) const {
    if (inbox_.due(now)) return true;
    return stalled_first_ != nullptr && can_serve(*stalled_first_);
}

Cycle L2Slice::tick(Cycle now) {
    for (MemoryRequest* request = inbox_.pop(now); request != nullptr;) {
        MemoryRequest* const following = request->next;
        request->next = nullptr;
        if (request->returning) {
            if (request->kind == RequestKind::write_back) {
                --write_backs_;
                pool_.give_back(*request);
            } else {
                fill(*request, now);
            }
        } else if (stalled_first_ != nullptr || !serve(*request, now)) {
            ++statistics_.stalls;
            (stalled_first_ == nullptr ? stalled_first_ : stalled_last_->next) = request;
            stalled_last_ = request;
        }
        request = following;
    }
    while (stalled_first_ != nullptr) {
        MemoryRequest& request = *stalled_first_;
        MemoryRequest* const following = request.next;
        if (!serve(request, now)) break;
        stalled_first_ = following;
        if (following == nullptr) stalled_last_ = nullptr;
    }
    return inbox_.next(now + 1);
}

bool L2Slice::can_serve(const MemoryRequest& request) const {
    const std::uint64_t row = hash_.row(request.line);
    const SectoredCache::Index index = cache_.find(row);
    return has_room(request, index, index == SectoredCache::kNone ? cache_.victim(row) : index);
}

/// `index`: the request's line, or kNone when `victim` is to become it.
bool L2Slice::has_room(const MemoryRequest& request, SectoredCache::Index index,
                       SectoredCache::Index victim) const {
    const bool reads = request.kind != RequestKind::store;
    if (index != SectoredCache::kNone) {
        const SectoredCache::Sectors& sectors = cache_.sectors(index);
        const SectorMask absent =
            request.sectors & static_cast<SectorMask>(~(sectors.valid | sectors.pending));
        return !reads || absent == 0 || misses_ < config_.mshrs;
    }
    if (reads && misses_ >= config_.mshrs) return false;
    if (victim == SectoredCache::kNone) return false;
    return cache_.sectors(victim).dirty == 0 || write_backs_ < config_.write_backs;
}

FineCycles L2Slice::duration(const MemoryRequest& request) const {
    FineCycles time = sector_count(request.sectors) * sector_time_;
    if (request.kind != RequestKind::load) time *= kWriteCost;
    time = std::max<FineCycles>(1u << kFineBits, time);
    if (request.kind == RequestKind::atomic) time = std::max(time, request.atomic_conflicts * atomic_time_);
    return time;
}

/// False: there is no room now, and nothing has changed.
bool L2Slice::serve(MemoryRequest& request, Cycle now) {
    const std::uint64_t row = hash_.row(request.line);
    SectoredCache::Index index = cache_.find(row);
    if (index == SectoredCache::kNone) {
        const SectoredCache::Index victim = cache_.victim(row);
        if (!has_room(request, index, victim)) return false;
        evict(victim, now);
        cache_.assign(victim, row);
        index = victim;
    } else {
        if (!has_room(request, index, index)) return false;
        cache_.touch(index);
    }
    request.next = nullptr;
    const FineCycles time = duration(request);
    const Cycle begin = data_.take(now, time);
    ++statistics_.requests;
    const unsigned count = sector_count(request.sectors);
    SectoredCache::Sectors& sectors = cache_.sectors(index);
    if (request.kind == RequestKind::store) {
        statistics_.store_sectors += count;
        sectors.valid |= request.sectors;
        sectors.dirty |= request.sectors;
        finish(request, begin + config_.latency);
        return true;
    }
    (request.kind == RequestKind::load ? statistics_.load_sectors : statistics_.atomic_sectors) += count;
    const SectorMask missing = request.sectors & static_cast<SectorMask>(~sectors.valid);
    statistics_.hit_sectors += count - sector_count(missing);
    if (missing == 0) {
        if (request.kind == RequestKind::atomic) sectors.dirty |= request.sectors;
        finish(request, begin + config_.latency);
        return true;
    }
    const SectorMask absent = missing & static_cast<SectorMask>(~sectors.pending);
    statistics_.merged_sectors += sector_count(missing) - sector_count(absent);
    request.missing = missing;
    request.next = waiting_[index];
    waiting_[index] = &request;
    if (absent != 0) fetch(index, row, absent, begin + config_.miss_latency);
    return true;
}

void L2Slice::evict(SectoredCache::Index index, Cycle now) {
    if (cache_.sectors(index).dirty == 0) return;
    MemoryRequest& request = pool_.take();
    request.kind = RequestKind::write_back;
    request.sectors = cache_.sectors(index).dirty;
    request.issuer = static_cast<std::uint16_t>(position_);
    request.tag = cache_.key(index);
    statistics_.write_back_sectors += sector_count(request.sectors);
    ++write_backs_;
    memory_->send(request, now + config_.miss_latency);
}

void L2Slice::fetch(SectoredCache::Index index, std::uint64_t row, SectorMask sectors, Cycle at) {
    SectoredCache::Sectors& state = cache_.sectors(index);
    if (fill_bytes_ >= kLineBytes) {
        sectors = kWholeLine;
    } else if (fill_bytes_ >= 2 * kSectorBytes) {
        const SectorMask low = (sectors | (sectors >> 1)) & 0x5;
        sectors = static_cast<SectorMask>(low | (low << 1));
    }
    sectors &= static_cast<SectorMask>(~(state.valid | state.pending));
    state.pending |= sectors;
    MemoryRequest& request = pool_.take();
    request.kind = RequestKind::load;
    request.sectors = sectors;
    request.issuer = static_cast<std::uint16_t>(position_);
    request.line = row;
    request.tag = static_cast<std::uint32_t>(row);
    ++misses_;
    statistics_.fill_sectors += sector_count(sectors);
    memory_->send(request, at);
}

void L2Slice::fill(MemoryRequest& response, Cycle now) {
    const SectoredCache::Index index = cache_.find(response.line);
    SectoredCache::Sectors& sectors = cache_.sectors(index);
    sectors.valid |= response.sectors;
    sectors.pending &= static_cast<SectorMask>(~response.sectors);
    --misses_;
    MemoryRequest** link = &waiting_[index];
    MemoryRequest* done = nullptr;  // reversed here: oldest first
    while (*link != nullptr) {
        MemoryRequest& request = **link;
        request.missing &= static_cast<SectorMask>(~response.sectors);
        if (request.missing != 0) {
            link = &request.next;
            continue;
        }
        *link = request.next;
        request.next = done;
        done = &request;
    }
    while (done != nullptr) {
        MemoryRequest& request = *done;
        done = request.next;
        if (request.kind == RequestKind::atomic) sectors.dirty |= request.sectors;
        finish(request, now + config_.fill_latency);
    }
    pool_.give_back(response);
}

void L2Slice::finish(MemoryRequest& request, Cycle at) {
    if (request.kind != RequestKind::load) statistics_.last_store = std::max(statistics_.last_store, at);
    Cycle arrival = at + config_.crossbar_latency;
    if (config_.far_latency != 0) {
        const auto sm_partition =
            request.issuer * config_.partitions / static_cast<std::uint32_t>(issuers_.size());
        const auto own_partition = position_ * config_.partitions / config_.slices;
        if (sm_partition != own_partition) arrival += config_.far_latency;
    }
    ResponseInterface& issuer = *issuers_[request.issuer];
    if (request.wants_data) {
        issuer.respond(request, arrival);
    } else {
        issuer.acknowledge(arrival);
        pool_.give_back(request);
    }
}

void L2Slice::preload(std::uint64_t line, bool dirty) {
    const std::uint64_t row = hash_.row(line);
    SectoredCache::Index index = cache_.find(row);
    if (index == SectoredCache::kNone) {
        index = cache_.victim(row);
        if (index == SectoredCache::kNone) return;
        cache_.assign(index, row);
    } else {
        cache_.touch(index);
    }
    cache_.sectors(index).valid = kWholeLine;
    cache_.sectors(index).dirty = dirty ? kWholeLine : 0;
}

L2SliceStatistics L2Slice::statistics() const {
    L2SliceStatistics result = statistics_;
    result.busy_cycles = data_.busy_cycles();
    return result;
}

}  // namespace heddle::models
