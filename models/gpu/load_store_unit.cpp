#include "models/gpu/load_store_unit.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heddle::models::gpu {
namespace {

/// Half of the 512 GiB that tags tell apart: buffers lie in the lower half, local memory in the upper.
constexpr std::uint64_t kLocalLines = (256ull << 30) / kLineBytes;

/// Lines that L1 looks up in a cycle.
constexpr unsigned kTagsPerCycle = 4;

/// Lanes of a cp.async of fewer than 16 bytes, which goes through L1, that are copied in a cycle. Read off
/// cuBLAS's products of single elements on an A100 (a recording of PyTorch's profiler;
/// HolisticTraceAnalysis): 25 kernels with tiles of 64x64 to 256x128 take 9.3 to 20 cycles of an SM for each
/// warp's copy of 32 floats, 13.9 in the median, and reading the floats from shared memory takes up to 2.7 of
/// them.
constexpr unsigned kNarrowLanesPerCycle = 4;

/// Cycles for which a global load or store occupies L1: four lines are looked up per cycle, and data pass
/// through the same 32 banks as shared memory. Both are measured on an H200 (gpu-benches, gpu-strides): loads
/// of floats 1, 2, 4 and 8 apart take 1, 2, 4 and 8 cycles, 15 apart 4.6, and 32 lanes in 32 lines 9.3.
unsigned global_wavefronts(const ptx::MemoryAccess& access, AccessPattern& pattern,
                           const CoalescedAccess& lines) {
    return std::max((lines.count + kTagsPerCycle - 1) / kTagsPerCycle,
                    pattern.wavefronts_of_coalesced(access));
}

/// A load also passes the path to the registers, a word for each lane, equal ones too: loads of one double by
/// all lanes take 2 cycles on an H200, of one float 2 on an A40, whose path is half as wide (gpu-strides).
unsigned load_wavefronts(const ptx::MemoryAccess& access, AccessPattern& pattern,
                         const CoalescedAccess& lines, unsigned bytes_per_cycle) {
    const auto bytes = static_cast<unsigned>(std::popcount(access.lanes)) * access.bytes_per_lane;
    return std::max(global_wavefronts(access, pattern, lines),
                    (bytes + bytes_per_cycle - 1) / bytes_per_cycle);
}

}  // namespace

LoadStoreUnit::LoadStoreUnit(const GpuConfig& config, CrossbarPort& port)
    : config_(config),
      port_(port),
      address_cycles_(static_cast<Cycle>(config.load_store.address_interval)),
      register_bytes_(static_cast<unsigned>(config.l1.bytes_per_cycle)),
      instruction_time_(fine(config.load_store.instruction_interval)),
      wavefront_time_(fine(128 / config.load_store.wavefront_bytes)),
      fill_time_(fine(128 / config.load_store.wavefront_bytes * config.bulk_copy.write_conflict)) {
    begin(config.l1.unified_bytes);
    reset();
}

void LoadStoreUnit::reset() {
    l1_.clear();
    unit_.reset();
    loads_.clear();
    followers_.clear();
    waiters_.clear();
    mshrs_.assign(config_.l1.mshrs, Mshr{});
    for (std::uint32_t i = 0; i < mshrs_.size(); ++i) mshrs_[i].next = i + 1 < mshrs_.size() ? i + 1 : kNone;
    free_mshr_ = 0;
    free_load_ = free_followers_ = free_waiters_ = kNone;
    chains_.assign(1024, kNone);
    recent_.assign(config_.sm.warps, RecentMiss{});
    mshrs_in_use_ = 0;
    stores_ = 0;
    acknowledged_ = 0;
    acknowledgements_.reset();
    statistics_ = {};
}

Cycle LoadStoreUnit::accept(Cycle now, unsigned wavefronts) {
    return unit_.take(now + address_cycles_, std::max(instruction_time_, wavefronts * wavefront_time_));
}

LoadStoreUnit::Outcome LoadStoreUnit::shuffle(Cycle now) {
    const Cycle start = accept(now, 1);
    return {start, start - address_cycles_ + config_.shared.shuffle_latency};
}

LoadStoreUnit::Outcome LoadStoreUnit::access_shared(const ptx::MemoryAccess& access, AccessPattern& pattern,
                                                    Cycle now) {
    const unsigned wavefronts =
        access.atomic ? shared_atomic_wavefronts(access) : pattern.shared_wavefronts(access);
    ++statistics_.shared_accesses;
    statistics_.shared_wavefronts += wavefronts;
    const Cycle start = accept(now, wavefronts);
    const Cycle latency = access.atomic ? config_.shared.atomic_latency : config_.shared.latency;
    return {start, start - address_cycles_ + latency + wavefronts - 1};
}

LoadStoreUnit::Outcome LoadStoreUnit::access_barrier(const ptx::MemoryAccess& access, AccessPattern& pattern,
                                                     Cycle latency, Cycle now) {
    const unsigned wavefronts =
        access.atomic ? shared_atomic_wavefronts(access) : pattern.shared_wavefronts(access);
    ++statistics_.shared_accesses;
    statistics_.shared_wavefronts += wavefronts;
    const Cycle start = accept(now, wavefronts);
    return {start, start - address_cycles_ + latency + wavefronts - 1};
}

LoadStoreUnit::Outcome LoadStoreUnit::load(const ptx::MemoryAccess& access, AccessPattern& pattern,
                                           const CacheUse& use, const LoadOwner& owner, Cycle now) {
    pattern.coalesce(access, lines_);
    if (!owner.async_copy)
        return load_lines(use, owner, now, load_wavefronts(access, pattern, lines_, register_bytes_));
    // The data do not pass through registers: only the banks that they are written to count, and how L1
    // passes words on.
    const unsigned shared = pattern.shared_wavefronts_of_copy(access);
    const auto lanes = static_cast<unsigned>(std::popcount(access.lanes));
    const unsigned words =
        access.bytes_per_lane < 16 ? (lanes + kNarrowLanesPerCycle - 1) / kNarrowLanesPerCycle : 0;
    ++statistics_.shared_accesses;
    statistics_.shared_wavefronts += shared;
    return load_lines(use, owner, now,
                      std::max({(lines_.count + kTagsPerCycle - 1) / kTagsPerCycle, shared, words}));
}

// Texture units and load-store unit share L1. A unit serves a quad of four texels, as a linear filter in two
// dimensions reads them, each cycle; L1 looks up lines and moves data as for loads. No measurement of the
// latency of a texture unit of these generations is public, so that of a hit is L1's.
LoadStoreUnit::Outcome LoadStoreUnit::fetch_texels(const ptx::MemoryAccess* access, unsigned lanes,
                                                   const CacheUse& use, const LoadOwner& owner, Cycle now) {
    constexpr unsigned kQuad = 4;
    lines_.count = 0;
    unsigned quads = lanes, bytes = 0;
    if (access != nullptr) {
        coalesce(*access, lines_);
        if (access->texels != nullptr) quads *= (access->texels->count + kQuad - 1) / kQuad;
    }
    for (unsigned i = 0; i < lines_.count; ++i)
        bytes += sector_count(lines_.lines[i].sectors) * static_cast<unsigned>(kSectorBytes);
    const auto filtering = static_cast<unsigned>(std::ceil(quads / config_.texture.quads_per_cycle));
    const unsigned wavefronts =
        std::max({1u, filtering, (lines_.count + kTagsPerCycle - 1) / kTagsPerCycle,
                  (bytes + register_bytes_ - 1) / register_bytes_});
    return load_lines(use, owner, now, wavefronts);
}

LoadStoreUnit::Outcome LoadStoreUnit::load_lines(const CacheUse& use, const LoadOwner& owner, Cycle now,
                                                 unsigned wavefronts) {
    // The caches of the host fetch all at once.
    for (unsigned i = 0; i < lines_.count; ++i) __builtin_prefetch(&chain(lines_.lines[i].line));
    const Cycle start = accept(now, wavefronts);
    const Cycle delay = start - address_cycles_ - now;
    const Cycle hit = now + delay + config_.l1.latency + std::max(1u, wavefronts) - 1;
    std::array<std::uint8_t, CoalescedAccess::kMostLines> place;  // of missing_ among all lines
    missing_.count = 0;
    for (unsigned i = 0; i < lines_.count; ++i) {
        const LineAccess& access = lines_.lines[i];
        const unsigned count = sector_count(access.sectors);
        ++statistics_.l1_requests;
        statistics_.l1_load_sectors += count;
        SectorMask missing = access.sectors;
        if (!use.bypass_l1) {
            const SectoredCache::Index index = l1_.find(access.line);
            if (index != SectoredCache::kNone) {
                l1_.touch(index, eviction_policy(use.policy.l1));
                missing &= static_cast<SectorMask>(~l1_.sectors(index).valid);
            }
        }
        statistics_.l1_hit_sectors += count - sector_count(missing);
        if (missing == 0) continue;
        place[missing_.count] = static_cast<std::uint8_t>(i);
        missing_.lines[missing_.count++] = {access.line, missing};
    }
    if (missing_.count == 0) return {start, hit};
    RecentMiss& recent = recent_[owner.warp];
    if (follows(recent, use, owner, hit)) return {start, kNever};
    const std::uint32_t load = new_load(owner, hit);
    remember(recent, load, use);
    loads_[load].lines_left = missing_.count;
    MemoryRequest* request = nullptr;
    std::uint64_t first = 0;
    Cycle leave = 0;
    for (unsigned i = 0; i < missing_.count; ++i) {
        const LineAccess& access = missing_.lines[i];
        const Wanted wanted = wait_for(access.line, access.sectors, use, load);
        if (wanted.sectors == 0) continue;
        if (request == nullptr || access.line < first || !port_.may_join(first, access.line, use.policy)) {
            if (request != nullptr) port_.send(*request, leave);
            first = access.line;
            request = &port_.make(RequestKind::load, first, wanted.sectors, use.policy);
            request->wants_data = true;
            request->tag = wanted.mshr;
        } else {
            request->sectors |= at_line(wanted.sectors, static_cast<unsigned>(access.line - first));
        }
        leave = now + delay + config_.l1.miss_latency + place[i];
    }
    if (request != nullptr) port_.send(*request, leave);
    return {start, kNever};
}

/// Whether missing_ is what the load waits for, of which nothing has come: then it has one more follower.
bool LoadStoreUnit::follows(const RecentMiss& recent, const CacheUse& use, const LoadOwner& owner,
                            Cycle earliest) {
    if (recent.load == kNone || recent.lines != missing_.count || recent.use != use) return false;
    Load& load = loads_[recent.load];
    if (load.serial != recent.serial || load.owner.async_copy != owner.async_copy ||
        !std::equal(recent.line.begin(), recent.line.begin() + recent.lines, missing_.lines.begin()))
        return false;
    if (load.followers == kNone) {
        if (free_followers_ == kNone) {
            free_followers_ = static_cast<std::uint32_t>(followers_.size());
            followers_.emplace_back();
        }
        load.followers = free_followers_;
        free_followers_ = followers_[load.followers].next_free;
        followers_[load.followers].count = 0;
    }
    Followers& followers = followers_[load.followers];
    if (followers.count == followers.list.size()) return false;
    followers.list[followers.count++] = {owner.instruction,
                                         static_cast<std::uint32_t>(earliest - load.earliest)};
    return true;
}

void LoadStoreUnit::remember(RecentMiss& recent, std::uint32_t load, const CacheUse& use) const {
    if (missing_.count > RecentMiss::kMostLines) {
        recent.load = kNone;
        return;
    }
    recent.serial = loads_[load].serial;
    recent.load = load;
    recent.lines = missing_.count;
    recent.use = use;
    std::copy_n(missing_.lines.begin(), missing_.count, recent.line.begin());
}

LoadStoreUnit::Wanted LoadStoreUnit::wait_for(std::uint64_t line, SectorMask missing, const CacheUse& use,
                                              std::uint32_t load) {
    std::uint32_t index = mshr_of(line);
    if (index == kNone) {
        std::uint32_t& head = chain(line);
        if (free_mshr_ == kNone) add_mshr();
        index = free_mshr_;
        free_mshr_ = mshrs_[index].next;
        mshrs_[index] = Mshr{line, 0, false, EvictionPolicy::none, head, 0, {}, kNone};
        head = index;
        ++mshrs_in_use_;
    }
    Mshr& mshr = mshrs_[index];
    add_waiter(mshr, {load, missing});
    mshr.fill_l1 |= use.fills_l1();
    mshr.l1_policy = eviction_policy(use.policy.l1);
    const SectorMask absent = missing & static_cast<SectorMask>(~mshr.pending);
    mshr.pending |= absent;
    statistics_.requested_sectors += sector_count(absent);
    statistics_.loaded_sectors += sector_count(absent);
    return {index, absent};
}

// room_for_load() sees to it that other instructions never find none: what a texture instruction reads beyond
// a line for each lane waits in the texture units.
void LoadStoreUnit::add_mshr() {
    free_mshr_ = static_cast<std::uint32_t>(mshrs_.size());
    mshrs_.emplace_back();
}

std::uint32_t LoadStoreUnit::mshr_of(std::uint64_t line) {
    std::uint32_t index = chain(line);
    while (index != kNone && mshrs_[index].line != line) index = mshrs_[index].next;
    return index;
}

LoadStoreUnit::Outcome LoadStoreUnit::store(const ptx::MemoryAccess& access, AccessPattern& pattern,
                                            const CacheUse& use, Cycle now) {
    pattern.coalesce(access, lines_);
    const Cycle start = accept(now, global_wavefronts(access, pattern, lines_));
    MemoryRequest* request = nullptr;
    std::uint64_t first = 0;
    Cycle leave = 0;
    for (unsigned i = 0; i < lines_.count; ++i) {
        const LineAccess& line = lines_.lines[i];
        const unsigned count = sector_count(line.sectors);
        ++statistics_.l1_requests;
        statistics_.l1_store_sectors += count;
        ++stores_;
        if (request == nullptr || line.line < first || !port_.may_join(first, line.line, use.policy)) {
            if (request != nullptr) port_.send_data(*request, leave);
            first = line.line;
            leave = start - address_cycles_ + config_.l1.miss_latency + i;
            request = &port_.make(RequestKind::store, first, line.sectors, use.policy);
        } else {
            request->sectors |= at_line(line.sectors, static_cast<unsigned>(line.line - first));
        }
    }
    if (request != nullptr) port_.send_data(*request, leave);
    return {start, start};
}

LoadStoreUnit::Outcome LoadStoreUnit::access_atomic(const ptx::MemoryAccess& access, AccessPattern& pattern,
                                                    const CacheUse& use, bool wants_result,
                                                    const LoadOwner& owner, Cycle now) {
    pattern.coalesce(access, lines_);
    std::array<std::uint16_t, ptx::kWarpSize> conflicts;
    count_conflicts(access, lines_, conflicts);
    const Cycle start = accept(now, global_wavefronts(access, pattern, lines_));
    std::uint32_t load = kNone;
    for (unsigned i = 0; i < lines_.count; ++i) {
        const LineAccess& line = lines_.lines[i];
        const unsigned count = sector_count(line.sectors);
        ++statistics_.l1_requests;
        statistics_.atomic_sectors += count;
        MemoryRequest& request = port_.make(RequestKind::atomic, line.line, line.sectors, use.policy);
        request.atomic_conflicts = static_cast<std::uint8_t>(conflicts[i]);
        if (wants_result) {
            if (load == kNone) load = new_load(owner, start);
            ++loads_[load].lines_left;
            request.wants_data = true;
            request.tag = load;
            statistics_.requested_sectors += count;
        } else {
            ++stores_;
        }
        port_.send_data(request, start - address_cycles_ + config_.l1.miss_latency + i);
    }
    return {start, load == kNone ? start : kNever};
}

LoadStoreUnit::Outcome LoadStoreUnit::access_local(const ptx::MemoryAccess& access, AccessPattern& pattern,
                                                   bool spill, const LoadOwner& owner, Cycle now) {
    pattern.coalesce(access, lines_);
    // isa/ptx gives local memory a window of addresses of its own, which tags of 32 bits do not tell from
    // buffers.
    std::uint64_t sectors = 0;
    for (unsigned i = 0; i < lines_.count; ++i) {
        lines_.lines[i].line += kLocalLines;
        sectors += sector_count(lines_.lines[i].sectors);
    }
    if (spill) (access.write ? statistics_.spill_store_sectors : statistics_.spill_load_sectors) += sectors;
    if (!access.write)
        return load_lines(CacheUse(), owner, now, load_wavefronts(access, pattern, lines_, register_bytes_));
    const Cycle start = accept(now, global_wavefronts(access, pattern, lines_));
    for (unsigned i = 0; i < lines_.count; ++i) {
        const LineAccess& line = lines_.lines[i];
        ++statistics_.l1_requests;
        statistics_.local_store_sectors += sector_count(line.sectors);
        SectoredCache::Index index = l1_.find(line.line);
        if (index == SectoredCache::kNone) {
            index = l1_.victim(line.line);
            if (index == SectoredCache::kNone) continue;
            l1_.assign(index, line.line);
        }
        l1_.touch(index);
        l1_.sectors(index).valid |= line.sectors;
    }
    return {start, start};
}

void LoadStoreUnit::respond(MemoryRequest& response, Cycle now, std::vector<Completed>& completed) {
    const unsigned count = sector_count(response.sectors);
    statistics_.received_sectors += count;
    const Cycle ready = port_.receive(count, now) + config_.l1.return_latency;
    if (response.kind == RequestKind::atomic) {
        finish_line(response.tag, ready, completed);
        port_.give_back(response);
        return;
    }
    const std::uint64_t first = mshrs_[response.tag].line;
    fill(response.tag, sectors_of(response.sectors, 0), ready, completed);
    for (unsigned i = 1; i < kMostLines; ++i) {
        const SectorMask sectors = sectors_of(response.sectors, i);
        if (sectors != 0) fill(mshr_of(first + i), sectors, ready, completed);
    }
    port_.give_back(response);
}

/// Sectors of its line have come.
void LoadStoreUnit::fill(std::uint32_t number, SectorMask sectors, Cycle ready,
                         std::vector<Completed>& completed) {
    Mshr& mshr = mshrs_[number];
    mshr.pending &= static_cast<SectorMask>(~sectors);
    if (mshr.fill_l1) {
        SectoredCache::Index index = l1_.find(mshr.line);
        if (index == SectoredCache::kNone) {
            index = l1_.victim(mshr.line);
            if (index != SectoredCache::kNone) l1_.assign(index, mshr.line, mshr.l1_policy);
        }
        if (index != SectoredCache::kNone) l1_.sectors(index).valid |= sectors;
    }
    // Whether the waiter has got everything.
    serve_waiters(mshr, [&](Waiter& waiter) {
        const SectorMask left = waiter.sectors() & static_cast<SectorMask>(~sectors);
        if (left == waiter.sectors()) return false;
        loads_[waiter.load()].serial = kAnswered;
        if (left == 0) finish_line(waiter.load(), ready, completed);
        waiter = {waiter.load(), left};
        return left == 0;
    });
    if (mshr.pending == 0) {
        std::uint32_t* place = &chain(mshr.line);
        while (*place != number) place = &mshrs_[*place].next;
        *place = mshr.next;
        mshr.next = free_mshr_;
        free_mshr_ = number;
        --mshrs_in_use_;
    }
}

void LoadStoreUnit::finish_line(std::uint32_t index, Cycle ready, std::vector<Completed>& completed) {
    Load& load = loads_[index];
    load.ready = std::max(load.ready, ready);
    if (--load.lines_left != 0) return;
    completed.push_back({load.owner, std::max(load.earliest, load.ready)});
    if (load.followers != kNone) {
        Followers& followers = followers_[load.followers];
        LoadOwner owner = load.owner;
        for (unsigned i = 0; i < followers.count; ++i) {
            owner.instruction = followers.list[i].instruction;
            completed.push_back({owner, std::max(load.earliest + followers.list[i].later, load.ready)});
        }
        followers.next_free = free_followers_;
        free_followers_ = load.followers;
    }
    load.serial = kAnswered;
    load.next_free = free_load_;
    free_load_ = index;
}

std::uint32_t LoadStoreUnit::new_load(const LoadOwner& owner, Cycle earliest) {
    std::uint32_t index = free_load_;
    if (index == kNone) {
        index = static_cast<std::uint32_t>(loads_.size());
        loads_.emplace_back();
    } else {
        free_load_ = loads_[index].next_free;
    }
    loads_[index] = Load{owner, 0, kNone, earliest, 0, loads_begun_++, kNone};
    return index;
}

void LoadStoreUnit::add_waiter(Mshr& mshr, Waiter waiter) {
    if (mshr.waiters++ == 0) {
        mshr.first = waiter;
        return;
    }
    const std::uint32_t place = (mshr.waiters - 2) % WaiterBlock::kSize;
    if (place == 0) {
        if (free_waiters_ == kNone) {
            free_waiters_ = static_cast<std::uint32_t>(waiters_.size());
            waiters_.emplace_back();
        }
        const std::uint32_t block = free_waiters_;
        free_waiters_ = waiters_[block].next;
        waiters_[block].next = mshr.block;
        mshr.block = block;
    }
    waiters_[mshr.block].list[place] = waiter;
}

LoadStoreUnit::Waiter LoadStoreUnit::take_last_waiter(Mshr& mshr) {
    if (--mshr.waiters == 0) return mshr.first;
    WaiterBlock& block = waiters_[mshr.block];
    const std::uint32_t place = (mshr.waiters - 1) % WaiterBlock::kSize;
    const Waiter last = block.list[place];
    if (place == 0) {
        const std::uint32_t empty = mshr.block;
        mshr.block = block.next;
        block.next = free_waiters_;
        free_waiters_ = empty;
    }
    return last;
}

/// `serve` is called for each waiter, the latest first; those for which it says true wait no longer.
template <typename Serve>
void LoadStoreUnit::serve_waiters(Mshr& mshr, const Serve& serve) {
    // A waiter that goes is replaced by the latest one, which has been asked already.
    std::uint32_t left = mshr.waiters;
    for (std::uint32_t block = mshr.block; block != kNone && left > 1;) {
        const std::uint32_t next = waiters_[block].next;
        for (std::uint32_t place = (left - 2) % WaiterBlock::kSize + 1; place-- > 0; --left) {
            Waiter& waiter = waiters_[block].list[place];
            if (serve(waiter)) waiter = take_last_waiter(mshr);
        }
        block = next;
    }
    if (left != 0 && serve(mshr.first)) mshr.first = take_last_waiter(mshr);
}

}  // namespace heddle::models::gpu
