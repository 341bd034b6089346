// Constants: kernel parameters and the constant bank, read as operands or by loads.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/common/parameter.h"
#include "models/gpu/instruction_fetch.h"
#include "models/gpu/line_requests.h"

namespace heddle::models::gpu {

/// The bank of constants of a launch, and room for the parameters of all launches of a run.
inline constexpr std::uint64_t kConstantBankBytes = 64 << 10;

/// The caches of constants of an SM; the defaults describe an H100.
struct ConstantCacheConfig {
    bool enabled = true;                ///< false: constants are always at hand
    std::uint32_t miss_latency = 79;    ///< cycles from L1.5 to the operands of a sub-core
    std::uint32_t load_latency = 29;    ///< cycles, a load with an address of its own for each lane, hit
    double address_interval = 4;        ///< cycles for each further address of a warp's load
    bool parameters_prefetched = true;  ///< L1.5 has the kernel's parameters when it starts
};
/// Lists the fields for hardware files.
void describe(ConstantCacheConfig& config, ParameterList& list);

/// The constant caches of an SM: one for the operands of each sub-core, one for loads, and L1.5 behind them,
/// which asks L2 for what it lacks as the instruction cache does. Lines are never evicted, as the bank of 64
/// KiB mostly fits.
class ConstantCache {
  public:
    /// `behind`: what L1.5 has in common with the instruction cache. `l2` must outlive the run.
    void begin(const ConstantCacheConfig& config, const InstructionCacheConfig& behind, unsigned sub_cores,
               LineRequests& l2);
    /// An operand at byte `address` of the parameters. Returns the cycle in which it is there: `now` when the
    /// sub-core has touched the line before, kPendingCycle when L2 will answer.
    std::uint32_t parameter(unsigned sub_core, std::uint32_t address, std::uint32_t now) {
        if (!config_.enabled) return now;
        pending_.clear();
        return touch(operands_[sub_core], address / kConstantLineBytes, now);
    }
    /// A load of a warp that begins in cycle `start`. Returns the cycle in which its last value is there, of
    /// those that L2 need not be asked for: pending() tells of those.
    /// `launch`, `first_parameter`: the launch's number in its run, and the byte at which its parameters begin.
    std::uint32_t load(const ptx::MemoryAccess& access, std::uint32_t start, std::uint32_t launch, std::uint32_t first_parameter);

    /// Lines that the last parameter() or load() has to wait for.
    const std::vector<std::uint32_t>& pending() const { return pending_; }
    /// L2's answer has come to the SM in cycle `at`. Returns the cycle in which who waits for it has it.
    std::uint32_t arrive(std::uint32_t line, Cycle at);
    /// Of a line as L2 knows it, what arrives with `sectors`: lines of this cache from the first to before
    /// the last.
    static std::pair<std::uint32_t, std::uint32_t> lines_of(std::uint32_t line, SectorMask sectors) {
        return {2 * line + ((sectors & 0b0011) != 0 ? 0 : 1), 2 * line + ((sectors & 0b1100) != 0 ? 2 : 1)};
    }

  private:
    static constexpr std::uint32_t kConstantLineBytes = 64;
    /// The bank of constants lies behind the parameters.
    static constexpr std::uint32_t kBankLines = kConstantBankBytes / kConstantLineBytes;
    static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};
    using Lines = std::vector<std::uint32_t>;  ///< by line: when it came, kPendingCycle or kAbsent
    static std::uint32_t& place(Lines& lines, std::uint32_t line);
    std::uint32_t touch(Lines& cache, std::uint32_t line, std::uint32_t now);

    ConstantCacheConfig config_;
    Cycle ask_latency_ = 0, return_latency_ = 0;
    LineRequests* l2_ = nullptr;
    std::vector<Lines> operands_;  // by sub-core
    Lines loads_, behind_;
    std::vector<std::uint32_t> pending_;
};

}  // namespace heddle::models::gpu
