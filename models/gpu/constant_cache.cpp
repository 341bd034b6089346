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
    list.add("constant_cache.l2_latency", config.l2_latency, cycles, 1, 10000,
             "More when the line comes from L2.");
    list.add("constant_cache.parameters_prefetched", config.parameters_prefetched, count, 0, 1,
             "true: kernel parameters are near the SMs when a kernel starts.");
}

void ConstantCache::begin(const ConstantCacheConfig& config, unsigned sub_cores) {
    config_ = config;
    operands_.assign(sub_cores, {});
    loads_.clear();
}

std::uint32_t ConstantCache::touch(std::vector<std::uint32_t>& ready, std::size_t line, std::uint32_t now,
                                   bool near) {
    if (line >= ready.size()) ready.resize(line + 1, kAbsent);
    if (ready[line] == kAbsent) ready[line] = now + config_.miss_latency + (near ? 0 : config_.l2_latency);
    return std::max(ready[line], now);
}

std::uint32_t ConstantCache::load(const ptx::MemoryAccess& access, std::uint32_t start) {
    std::array<std::uint64_t, ptx::kWarpSize> addresses;
    unsigned count = 0;
    std::uint32_t ready = start;
    for (std::uint32_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
        const std::uint64_t address = access.address[static_cast<unsigned>(std::countr_zero(lanes))];
        const auto end = addresses.begin() + count;
        if (std::find(addresses.begin(), end, address) != end) continue;
        addresses[count++] = address;
        if (config_.enabled)
            ready = std::max(ready, touch(loads_, address / kLineBytes % 1024, start, false));
    }
    const double further = count > 1 ? (count - 1) * config_.address_interval : 0;
    return ready + config_.load_latency + static_cast<std::uint32_t>(std::lround(further));
}

}  // namespace heddle::models::gpu
