#include "models/cpu/core_memory.h"

#include <algorithm>

namespace heddle::models {

CoreMemory::CoreMemory(const CpuConfig& config) : config_(config) {
    l1_fills_.resize(config.l1.fills);
    l2_fills_.resize(config.l2.fills);
}

void CoreMemory::clear() {
    l1_.clear();
    l2_.clear();
    l3_.clear();
    l3_shared_.clear();
    seen_.clear();
    counts_ = {};
    // Nothing is under way.
    l1_fills_.resize(config_.l1.fills);
    l2_fills_.resize(config_.l2.fills);
    streams_.fill({});
    stream_clock_ = 0;
    l2_next_ = l3_next_ = memory_next_ = 0;
}

void CoreMemory::begin_program(unsigned threads) {
    // Threads that share a core share its caches; an L3 is divided among the threads that have their data in it, and lines that all
    // of them read lie in it once.
    threads = std::max(1u, threads);
    if (threads == program_threads_) return;
    const unsigned cores = std::min(threads, config_.all_cores());
    const unsigned on_core = (threads + cores - 1) / cores;
    const unsigned l3_cores = config_.l3_cores != 0 ? config_.l3_cores : config_.cores;
    const unsigned per_l3 = std::max(1u, std::min(cores, l3_cores) * on_core);
    l1_.resize(config_.l1.bytes / on_core, config_.l1.ways, true);
    l2_.resize(config_.l2.bytes / on_core, config_.l2.ways, true);
    l3_.resize(config_.l3.bytes / per_l3 / (per_l3 > 1 ? 2 : 1), config_.l3.ways, false);
    l3_shared_.resize(config_.l3.bytes / 2, config_.l3.ways, false);
    seen_.clear();
    program_threads_ = threads;
}

void CoreMemory::begin_region(unsigned threads, double hertz) {
    threads_ = threads;
    const unsigned cores_of_l3 = config_.l3_cores != 0 ? config_.l3_cores : config_.cores;
    l3_threads_ = std::max(1u, std::min(threads, cores_of_l3));
    const double far = config_.numa_nodes > 1 ? config_.remote_latency * (config_.numa_nodes - 1) / config_.numa_nodes : 0;
    l3_latency_ = config_.l3.latency * hertz;
    memory_latency_ = (config_.memory_latency + far) * hertz;
    // Threads spread over the sockets from the first on.
    const unsigned sockets = std::min(config_.sockets, (threads + config_.cores - 1) / config_.cores);
    const double bandwidth = config_.memory_bandwidth * config_.memory_efficiency * std::max(1u, sockets);
    memory_interval_ = 64 * hertz * threads / bandwidth;
}

bool CoreMemory::first_time(std::uint64_t line) {
    const std::uint64_t word = line / 64, bit = std::uint64_t{1} << (line % 64);
    if (word >= seen_.size()) seen_.resize(word + word / 2 + 1, 0);
    const bool first = (seen_[word] & bit) == 0;
    seen_[word] |= bit;
    return first;
}

double CoreMemory::access(std::uint64_t line, double now, bool write, double sharers, bool resident, std::uint64_t source) {
    ++counts_.accesses;
    const double here = l1_.find(line, write);
    if (here >= 0) return std::max(now, here) + config_.l1.latency;
    ++counts_.l1_misses;
    const double begin = l1_fills_.earliest(now);
    const double ready = from_l2(line, begin, sharers, resident, true);
    if (config_.prefetch_lines != 0) prefetch(line, begin, sharers, resident, source);
    l1_fills_.take(ready);
    const CacheTags::Victim victim = l1_.insert(line, ready - config_.l1.latency, write);
    if (victim.any && victim.dirty) {
        // What was stored goes back over the same way.
        l2_next_ = std::max(l2_next_, begin) + 64 / config_.l2.bandwidth;
        if (l2_.find(victim.line, true) < 0) put_in_l2(victim.line, ready, true, 1, true, begin);
    }
    return ready;
}

void CoreMemory::touch(std::uint64_t line, bool write, double sharers, bool resident) {
    ++counts_.accesses;
    if (l1_.find(line, write) >= 0) return;
    from_l2(line, 0, sharers, resident, false);
    const CacheTags::Victim victim = l1_.insert(line, 0, write);
    if (victim.any && victim.dirty && l2_.find(victim.line, true) < 0) put_in_l2(victim.line, 0, true, 1, false, 0);
}

double CoreMemory::from_l2(std::uint64_t line, double now, double sharers, bool resident, bool timed) {
    const double here = l2_.find(line, false);
    if (!timed) {
        if (here < 0) put_in_l2(line, 0, false, sharers, false, (from_below(line, 0, sharers, resident, false), 0));
        return 0;
    }
    double ready;
    if (here >= 0) {
        ready = std::max(now + config_.l2.latency, here);
    } else {
        ++counts_.l2_misses;
        ready = from_below(line, now + config_.l2.latency, sharers, resident, true);
        put_in_l2(line, ready, false, sharers, true, now);
    }
    const double moved = std::max(ready, l2_next_);
    l2_next_ = std::max(l2_next_, now) + 64 / config_.l2.bandwidth;
    return moved;
}

double CoreMemory::from_below(std::uint64_t line, double now, double sharers, bool resident, bool timed) {
    CacheTags& l3 = is_shared(sharers) ? l3_shared_ : l3_;
    const bool first = first_time(line);
    const bool held = l3.find(line, false) >= 0 || (first && resident);
    if (!timed) {
        if (!held) l3.insert(line, 0, false);
        return 0;
    }
    const double begin = l2_fills_.earliest(now);
    double ready = std::max(begin, l3_next_) + l3_latency_;
    l3_next_ = std::max(l3_next_, begin) + 64 / config_.l3.bandwidth;
    if (!held) {
        ++counts_.l3_misses;
        // One of the threads that share a line brings it for all.
        const double part = 1 / std::max(1.0, std::min<double>(sharers, l3_threads_));
        counts_.memory_bytes += 64 * part;
        const double served = std::max(begin, memory_next_);
        memory_next_ = served + memory_interval_ * part;
        ready = std::max(ready, served) + memory_latency_;
        l3.insert(line, 0, false);
    }
    l2_fills_.take(ready);
    return ready;
}

void CoreMemory::put_in_l2(std::uint64_t line, double ready, bool dirty, double sharers, bool timed, double now) {
    const CacheTags::Victim victim = l2_.insert(line, ready, dirty);
    if (!victim.any) return;
    // What leaves the L2 goes to the L3, and what is dirty there, later, to memory.
    CacheTags& l3 = is_shared(sharers) ? l3_shared_ : l3_;
    if (!victim.dirty) {
        if (l3.find(victim.line, false) < 0) l3.insert(victim.line, 0, false);
        return;
    }
    if (timed) l3_next_ = std::max(l3_next_, now) + 64 / config_.l3.bandwidth;
    if (l3_.find(victim.line, true) >= 0) return;
    const CacheTags::Victim last = l3_.insert(victim.line, 0, true);
    if (!last.any || !last.dirty) return;
    counts_.memory_bytes += 64;
    if (timed) memory_next_ = std::max(memory_next_, now) + memory_interval_;
}

double CoreMemory::stream_out(double now) {
    ++counts_.accesses;
    counts_.memory_bytes += 64;
    const double begin = l1_fills_.earliest(now);
    const double served = std::max(begin, memory_next_);
    memory_next_ = served + memory_interval_;
    const double done = served + memory_latency_ / 2;
    l1_fills_.take(done);
    return done;
}

void CoreMemory::prefetch(std::uint64_t line, double now, double sharers, bool resident, std::uint64_t source) {
    const std::uint64_t page = (line >> 6) + (source << 44);
    Stream* found = nullptr;
    for (Stream& stream : streams_)
        if (stream.page == page) found = &stream;
    if (found == nullptr) {
        found = &*std::min_element(streams_.begin(), streams_.end(), [](const Stream& a, const Stream& b) { return a.used < b.used; });
        // A stream that goes on from page to page stays a stream.
        const auto before = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& stream) { return stream.page + 1 == page && stream.run > 2; });
        const bool continued = before != streams_.end();
        const std::uint64_t ahead = continued ? std::max(before->ahead, line + 1) : line + 1;
        *found = {page, line - 1, ahead, continued ? before->run : 0, 0};
    }
    found->used = ++stream_clock_;
    if (line == found->last) return;
    found->run = line == found->last + 1 || line == found->last + 2 ? found->run + 1 : 0;
    found->last = line;
    if (found->run < 2) {
        found->ahead = line + 1;
        return;
    }
    const std::uint64_t until = line + std::min<std::uint64_t>(config_.prefetch_lines, static_cast<std::uint64_t>(found->run) * 2);
    found->ahead = std::max(found->ahead, line + 1);
    for (; found->ahead <= until; ++found->ahead) {
        if (l2_.find(found->ahead, false) >= 0) continue;
        // The prefetcher gives way when the queue is full.
        if (l2_fills_.earliest(now) > now) break;
        ++counts_.l2_misses;
        put_in_l2(found->ahead, from_below(found->ahead, now, sharers, resident, true), false, sharers, true, now);
    }
}

}  // namespace heddle::models
