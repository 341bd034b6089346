#include "models/gpu/instruction_fetch.h"

#include <algorithm>

namespace heddle::models::gpu {

void describe(InstructionCacheConfig& config, ParameterList& list) {
    using enum Quantity;
    list.add("instruction_cache.enabled", config.enabled, count, 0, 1,
             "false: instructions are always there.");
    list.add("instruction_cache.l0_size", config.l0_bytes, bytes, 1024, 1 << 24,
             "Instruction cache of one sub-core.");
    list.add("instruction_cache.l1_size", config.l1_bytes, bytes, 1024, 1 << 28,
             "Instruction cache behind the sub-cores of an SM.");
    list.add("instruction_cache.latency", config.latency, cycles, 1, 1000,
             "A line of 8 instructions from there to a sub-core.");
    list.add(
        "instruction_cache.miss_latency", config.miss_latency, cycles, 1, 1000,
        "From a sub-core's request for a line that this cache lacks, of code or constants, to the request "
        "leaving the SM for L2.");
    list.add("instruction_cache.return_latency", config.return_latency, cycles, 1, 1000,
             "From L2's answer at the SM to the sub-cores that wait for it.");
    list.add("instruction_cache.interval", config.interval, cycles, 0.25, 64,
             "Cycles between two lines for the sub-cores of an SM.");
    list.add("instruction_cache.stream_buffer", config.stream_buffer, count, 0, 63,
             "Lines that a sub-core fetches ahead of its warps.");
    list.add("instruction_cache.launch_prefetch", config.launch_prefetch, bytes, 0, 1 << 28,
             "Code of a kernel that is fetched to the SMs before it starts.");
}

void InstructionFetch::Lines::clear(std::uint32_t lines, std::uint64_t bytes) {
    ready.assign(lines, kAbsent);
    held.clear();
    oldest = 0;
    capacity = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / kInstructionLineBytes));
}

void InstructionFetch::Lines::put(std::uint32_t line, std::uint32_t at) {
    ready[line] = at;
    if (held.size() < capacity) {
        held.push_back(line);
        return;
    }
    ready[held[oldest]] = kAbsent;
    held[oldest] = line;
    oldest = oldest + 1 == capacity ? 0 : oldest + 1;
}

void InstructionFetch::begin(const InstructionCacheConfig& config, std::uint32_t lines, unsigned sub_cores,
                             LineRequests& l2) {
    config_ = config;
    l2_ = &l2;
    line_count_ = lines;
    l0_.clear();
    l1_port_.reset();
    interval_ = fine(config.interval);
    if (!config.enabled) return;
    l0_.resize(sub_cores);
    for (L0& cache : l0_) cache.lines.clear(lines, config.l0_bytes);
    l1_.clear(lines, config.l1_bytes);
    for (std::uint32_t line = 0; line < std::min(lines, prefetched()); ++line) l1_.put(line, 0);
}

void InstructionFetch::prefetch(std::uint32_t first, std::uint32_t end) {
    if (l0_.empty()) return;
    for (std::uint32_t line = first; line < std::min(end, first + prefetched()); ++line)
        if (l1_.ready[line] == kAbsent) l1_.put(line, 0);
}

std::uint32_t InstructionFetch::prefetched() const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(l1_.capacity, config_.launch_prefetch / kInstructionLineBytes));
}

void InstructionFetch::grow(std::uint32_t lines) {
    const std::uint32_t known = line_count_;
    line_count_ = lines;
    if (l0_.empty()) return;
    for (L0& cache : l0_) cache.lines.ready.resize(lines, kAbsent);
    l1_.ready.resize(lines, kAbsent);
    for (std::uint32_t line = known; line < std::min(lines, prefetched()); ++line) l1_.put(line, 0);
}

/// A line for a sub-core's cache: when it is there.
std::uint32_t InstructionFetch::request(std::uint32_t line, std::uint32_t now) {
    const auto start = static_cast<std::uint32_t>(l1_port_.take(now, interval_));
    if (l1_.ready[line] == kAbsent) {
        l1_.put(line, kPendingCycle);
        l2_->ask(FetchKind::code, line, kWholeLine, Cycle{start} + config_.miss_latency);
    }
    if (l1_.ready[line] == kPendingCycle) return kPendingCycle;
    return std::max(start, l1_.ready[line]) + config_.latency;
}

std::uint32_t InstructionFetch::arrive(std::uint32_t line, Cycle at) {
    const auto ready = static_cast<std::uint32_t>(at + config_.return_latency);
    const auto settle = [ready](std::uint32_t& cycle) {
        if (cycle == kPendingCycle) cycle = ready;
    };
    settle(l1_.ready[line]);
    for (L0& cache : l0_) {
        settle(cache.lines.ready[line]);
        if (line >= cache.stream && line < cache.stream_end) settle(cache.coming[line % kLongestStream]);
    }
    return ready;
}

std::uint32_t InstructionFetch::miss(L0& cache, std::uint32_t line, std::uint32_t now) {
    std::uint32_t ready = 0;
    if (line >= cache.stream && line < cache.stream_end) {
        ready = cache.coming[line % kLongestStream];
    } else {
        ready = request(line, now);
        cache.stream_end = line + 1;
    }
    cache.lines.put(line, ready);
    cache.stream = line + 1;
    const std::uint32_t end = std::min(line_count_, cache.stream + config_.stream_buffer);
    for (; cache.stream_end < end; ++cache.stream_end)
        cache.coming[cache.stream_end % kLongestStream] = request(cache.stream_end, now);
    return ready;
}

}  // namespace heddle::models::gpu
