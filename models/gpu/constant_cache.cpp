#include "models/gpu/constant_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace heddle::models::gpu {

void describe(ConstantCacheConfig& config, ParameterList& list) {
    using enum Quantity;
    list.add("constant_cache.enabled", config.enabled, count, 0, 1, "false: constants are always there.");
    list.add("constant_cache.miss_latency", config.miss_latency, cycles, 1, 1000,
             "First touch of a line by the operands of a sub-core, from the cache behind it.");
    list.add("constant_cache.load_latency", config.load_latency, cycles, 6, 1000,
             "Load to use of a constant, hit, all threads at one address.");
    list.add("constant_cache.address_interval", config.address_interval, cycles, 0, 64,
             "For each further address among the threads of a warp.");
    list.add("constant_cache.parameters_prefetched", config.parameters_prefetched, count, 0, 1,
             "true: kernel parameters are near the SMs when a kernel starts.");
}

void ConstantCache::begin(const ConstantCacheConfig& config, const InstructionCacheConfig& behind,
                          unsigned sub_cores, LineRequests& l2) {
    config_ = config;
    ask_latency_ = behind.miss_latency;
    return_latency_ = behind.return_latency;
    l2_ = &l2;
    operands_.assign(sub_cores, {});
    loads_.clear();
    behind_.clear();
    pending_.clear();
}

std::uint32_t& ConstantCache::place(Lines& lines, std::uint32_t line) {
    if (line >= lines.size()) lines.resize(line + 1, kAbsent);
    return lines[line];
}

/// When a line is in one of the small caches.
std::uint32_t ConstantCache::touch(Lines& cache, std::uint32_t line, std::uint32_t now) {
    std::uint32_t& ready = place(cache, line);
    if (ready == kAbsent) {
        std::uint32_t& behind = place(behind_, line);
        if (behind == kAbsent && line < kBankLines && config_.parameters_prefetched) behind = 0;
        if (behind == kAbsent) {
            behind = kPendingCycle;
            l2_->ask(FetchKind::constants, line / 2, line % 2 == 0 ? 0b0011 : 0b1100, now + ask_latency_);
        }
        ready = behind == kPendingCycle ? kPendingCycle : std::max(behind, now) + config_.miss_latency;
    }
    if (ready != kPendingCycle) return std::max(ready, now);
    pending_.push_back(line);
    return kPendingCycle;
}

std::uint32_t ConstantCache::arrive(std::uint32_t line, Cycle at) {
    const auto ready = static_cast<std::uint32_t>(at + return_latency_);
    const auto settle = [line, ready](Lines& lines) {
        if (line < lines.size() && lines[line] == kPendingCycle) lines[line] = ready;
    };
    settle(behind_);
    settle(loads_);
    for (Lines& cache : operands_) settle(cache);
    return ready;
}

std::uint32_t ConstantCache::load(const ptx::MemoryAccess& access, std::uint32_t start, std::uint32_t launch,
                                  std::uint32_t first_parameter) {
    std::array<std::uint64_t, ptx::kWarpSize> addresses;
    unsigned count = 0;
    std::uint32_t ready = start;
    pending_.clear();
    // The parameters of all launches, then each launch's bank of constants.
    const std::uint32_t first = access.space == ptx::StateSpace::parameter ? first_parameter / kConstantLineBytes
                                                                           : (1 + launch) * kBankLines;
    for (std::uint32_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
        const std::uint64_t address = access.address[static_cast<unsigned>(std::countr_zero(lanes))];
        const auto end = addresses.begin() + count;
        if (std::find(addresses.begin(), end, address) != end) continue;
        addresses[count++] = address;
        if (!config_.enabled) continue;
        const auto line = first + static_cast<std::uint32_t>(address / kConstantLineBytes % kBankLines);
        if (std::find(pending_.begin(), pending_.end(), line) != pending_.end()) continue;
        const std::uint32_t there = touch(loads_, line, start);
        if (there != kPendingCycle) ready = std::max(ready, there);
    }
    const double further = count > 1 ? (count - 1) * config_.address_interval : 0;
    return ready + config_.load_latency + static_cast<std::uint32_t>(std::lround(further));
}

}  // namespace heddle::models::gpu
