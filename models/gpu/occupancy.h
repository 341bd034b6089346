// How many thread blocks fit on an SM, by CUDA's rules.
#pragma once

#include <cstdint>
#include <string>

#include "models/gpu/gpu_config.h"

namespace heddle::models::gpu {

/// How many thread blocks (CTAs) fit on an SM, and which resource limits them.
struct Occupancy {
    unsigned ctas_per_sm = 0;    ///< that run at the same time
    unsigned warps_per_cta = 0;  ///< the last one may be partly filled
    unsigned limit_warps = 0, limit_registers = 0, limit_shared = 0, limit_ctas = 0;  ///< CTAs by each limit
    std::string limited_by;  ///< the smallest: "warps", "registers", "shared memory" or "ctas"
    unsigned warps_by_registers = 0;         ///< warps for which an SM has registers
    std::uint64_t shared_bytes_per_cta = 0;  ///< with the system's share, rounded up to the unit
    std::uint64_t l1_bytes = 0;              ///< what the carve-out for shared memory leaves to L1
};

/// The rules of the CUDA occupancy calculator (cuda_occupancy.h of the CUDA toolkit): warps are placed on
/// four sub-cores, each with a quarter of the registers. The carve-out is the smallest that the generation
/// offers for the CTAs that fit. Throws heddle::Error when not one CTA fits.
Occupancy occupancy(const GpuConfig& config, unsigned threads_per_cta, unsigned registers_per_thread,
                    std::uint64_t shared_bytes);

/// Registers that each thread holds of a kernel that needs so many: warps get whole units.
std::uint32_t allocated_registers(const SmConfig& sm, unsigned registers_per_thread);

/// Throws heddle::Error when the launch is cooperative and its thread blocks do not all run at once, as CUDA
/// does (cudaErrorCooperativeLaunchTooLarge). `registers_per_thread` and `shared_bytes` as above.
void check_cooperative(const GpuConfig& config, const ptx::LaunchContext& launch,
                       unsigned registers_per_thread, std::uint64_t shared_bytes);

}  // namespace heddle::models::gpu
