// A second set of books on what an SM holds and issues. On in debug builds, and where RunOptions ask for it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>

#include "isa/ptx/execution.h"
#include "models/common/cycle.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/launch_plan.h"

namespace heddle::models::gpu {

#ifdef HEDDLE_DEBUG_CHECKS  // cmake/Options.cmake: Debug builds. Release builds keep their assertions.
inline constexpr bool kDebugBuild = true;
#else
inline constexpr bool kDebugBuild = false;
#endif

/// Counts slots, registers and shared memory as thread blocks come and go, from the launch itself and not
/// from what occupancy.h or the scheduler made of it. Every function throws heddle::Error when something is
/// given out twice or beyond what the SM has, or when an instruction is performed twice: defects of the
/// simulator.
class SmAudit {
  public:
    /// `name`: of the SM, for messages.
    SmAudit(std::string name, const GpuConfig& config, const LaunchPlan& plan);

    /// A thread block of a launch of the run begins; its warps follow with warp_started().
    void cta_started(std::uint32_t launch);
    /// One warp of the thread block that started last.
    void warp_started(unsigned slot);
    /// The slots of all its warps.
    void cta_ended(std::span<const std::uint8_t> slots, std::uint32_t launch);
    /// The warp in `slot` was chosen to issue `chosen` in cycle `now` and performed `performed`.
    void issued(unsigned slot, const ptx::InstructionInfo* chosen, const ptx::InstructionInfo* performed,
                Cycle now);
    /// setmaxnreg: registers per thread of all warps of a thread block of the launch and of its pool together.
    void registers_moved(std::uint32_t together, std::uint32_t launch) const;

  private:
    static constexpr unsigned kSlots = 64;  // of warps

    void check(const char* what, std::uint64_t used, std::uint64_t limit) const;
    [[noreturn]] void fail(const std::string& what) const;

    const std::string name_;
    const SmConfig sm_;
    const std::uint64_t shared_limit_;
    struct Needs {
        unsigned warps_per_cta = 0;
        std::uint64_t registers_per_warp = 0, shared_per_cta = 0;
    };
    std::vector<Needs> launches_;
    Needs started_;  // of the launch of the thread block that started last

    std::uint64_t ctas_ = 0, shared_ = 0;
    std::bitset<kSlots> held_;
    std::array<std::uint64_t, kSubCores> warps_{}, registers_{};
    std::array<Cycle, kSubCores> last_issue_{};  // plus one
};

}  // namespace heddle::models::gpu
