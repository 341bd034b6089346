#include "models/gpu/occupancy.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "models/gpu/gpc_layout.h"

namespace heddle::models::gpu {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// Shared memory per SM that the driver can configure, up to what the SM has.
std::uint64_t carve_out(const GpuConfig& config, std::uint64_t wanted) {
    for (const std::uint64_t kibibytes :
         target::generation_of(config.compute_capability).shared_kib_offered) {
        const std::uint64_t bytes = kibibytes << 10;
        if (bytes >= wanted && bytes <= config.shared.bytes) return bytes;
    }
    return config.shared.bytes;
}

}  // namespace

std::uint32_t allocated_registers(const SmConfig& sm, unsigned registers_per_thread) {
    const std::uint64_t of_warp =
        round_up(std::uint64_t{registers_per_thread} * ptx::kWarpSize, sm.register_unit);
    return static_cast<std::uint32_t>(of_warp / ptx::kWarpSize);
}

Occupancy occupancy(const GpuConfig& config, unsigned threads_per_cta, unsigned registers_per_thread,
                    std::uint64_t shared_bytes) {
    const SmConfig& sm = config.sm;
    if (threads_per_cta == 0 || threads_per_cta > 1024) {
        throw Error("a thread block of " + std::to_string(threads_per_cta) + " threads cannot be launched",
                    {}, "use 1 to 1024 threads", Error::Kind::resources);
    }
    if (registers_per_thread > sm.max_registers_per_thread) {
        throw Error("the kernel needs " + std::to_string(registers_per_thread) +
                        " registers per thread; this GPU has " + std::to_string(sm.max_registers_per_thread),
                    {}, "keep fewer values alive in the kernel", Error::Kind::resources);
    }
    if (shared_bytes > config.shared.bytes_per_cta) {
        throw Error("a thread block asks for " + std::to_string(shared_bytes) +
                        " bytes of shared memory; this GPU allows " +
                        std::to_string(config.shared.bytes_per_cta),
                    {}, "use a smaller tile or fewer stages", Error::Kind::resources);
    }
    Occupancy result;
    result.warps_per_cta = (threads_per_cta + ptx::kWarpSize - 1) / ptx::kWarpSize;
    result.limit_ctas = sm.ctas;
    result.limit_warps = sm.warps / result.warps_per_cta;
    const std::uint64_t registers_per_warp =
        std::uint64_t{allocated_registers(sm, std::max(1u, registers_per_thread))} * ptx::kWarpSize;
    result.warps_by_registers = static_cast<unsigned>(sm.registers / kSubCores / registers_per_warp * kSubCores);
    result.limit_registers = result.warps_by_registers / result.warps_per_cta;
    result.shared_bytes_per_cta = round_up(shared_bytes + config.shared.reserved_per_cta, config.shared.unit);
    result.limit_shared = result.shared_bytes_per_cta == 0
                              ? sm.ctas
                              : static_cast<unsigned>(config.shared.bytes / result.shared_bytes_per_cta);
    result.ctas_per_sm =
        std::min({result.limit_ctas, result.limit_warps, result.limit_registers, result.limit_shared});
    result.limited_by = result.ctas_per_sm == result.limit_warps       ? "warps"
                        : result.ctas_per_sm == result.limit_registers ? "registers"
                        : result.ctas_per_sm == result.limit_shared    ? "shared memory"
                                                                       : "ctas";
    if (result.ctas_per_sm == 0) {
        throw Error("not one thread block fits on an SM: too many " +
                        std::string(result.limited_by == "shared memory" ? "bytes of shared memory"
                                                                         : result.limited_by) +
                        " (" + std::to_string(threads_per_cta) + " threads of " +
                        std::to_string(registers_per_thread) + " registers, " + std::to_string(shared_bytes) +
                        " bytes of shared memory)",
                    {}, "use fewer threads, registers or shared memory", Error::Kind::resources);
    }
    const std::uint64_t wanted = shared_bytes == 0 ? result.ctas_per_sm * config.shared.reserved_per_cta
                                                   : result.ctas_per_sm * result.shared_bytes_per_cta;
    result.l1_bytes = config.l1.unified_bytes - carve_out(config, wanted);
    return result;
}

void check_cooperative(const GpuConfig& config, const ptx::LaunchContext& launch,
                       unsigned registers_per_thread, std::uint64_t shared_bytes) {
    if (launch.grid_workspace == 0) return;
    const Occupancy places =
        occupancy(config, static_cast<unsigned>(launch.block.count()), registers_per_thread, shared_bytes);
    const unsigned size = ptx::cluster_size(launch);
    const std::uint64_t most =
        active_clusters(gpc_layout(config.sm.count, config.sm.gpcs, config.sm.gpc_sizes), size,
                        places.ctas_per_sm) *
        size;
    if (launch.grid.count() <= most) return;
    throw Error("a cooperative launch of " + std::to_string(launch.grid.count()) +
                    " thread blocks is too large: this GPU runs " + std::to_string(most) +
                    " of them at once, " + std::to_string(places.ctas_per_sm) + " on each of " +
                    std::to_string(config.sm.count) + " SMs (limited by " + places.limited_by + ")",
                {}, "use a grid of at most " + std::to_string(most) + " thread blocks",
                Error::Kind::cooperative_too_large);
}

}  // namespace heddle::models::gpu
