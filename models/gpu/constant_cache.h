// Constants: kernel parameters and the constant bank, read as operands or by loads.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/common/parameter.h"

namespace heddle::models::gpu {

struct ConstantCacheConfig {
    bool enabled = true;
    std::uint32_t miss_latency = 79;    ///< cycles from L1.5 to the operands of a sub-core
    std::uint32_t load_latency = 29;    ///< cycles, a load with an address of its own for each lane, hit
    double address_interval = 4;        ///< cycles for each further address of a warp's load
    std::uint32_t l2_latency = 264;     ///< cycles more when L1.5 does not have the line
    bool parameters_prefetched = true;  ///< L1.5 has the kernel's parameters when it starts
};
void describe(ConstantCacheConfig& config, ParameterList& list);

/// The constant caches of an SM. The first touch of a line by a sub-core takes time; lines are never evicted,
/// as the bank of 64 KiB mostly fits.
class ConstantCache {
  public:
    void begin(const ConstantCacheConfig& config, unsigned sub_cores);
    /// An operand at byte `address` of the parameters. Returns the cycle in which it is there: `now` when the
    /// sub-core has touched the line before.
    std::uint32_t parameter(unsigned sub_core, std::uint32_t address, std::uint32_t now) {
        if (!config_.enabled) return now;
        return touch(operands_[sub_core], address / kLineBytes, now, config_.parameters_prefetched);
    }
    /// A load of a warp that begins in cycle `start`. Returns the cycle in which its last value is there.
    std::uint32_t load(const ptx::MemoryAccess& access, std::uint32_t start);

  private:
    static constexpr std::uint32_t kLineBytes = 64;
    static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};
    std::uint32_t touch(std::vector<std::uint32_t>& ready, std::size_t line, std::uint32_t now, bool near);

    ConstantCacheConfig config_;
    std::vector<std::vector<std::uint32_t>> operands_;  // by sub-core and line: when it came
    std::vector<std::uint32_t> loads_;                  // the same of the cache for loads
};

}  // namespace heddle::models::gpu
