#include "models/gpu/lookahead.h"

#include <algorithm>
#include <bit>

#include "models/gpu/gpu_config.h"
#include "models/memory/arrival_windows.h"

namespace heddle::models::gpu {

Cycle gpc_window(const GpuConfig& config) {
    const Cycle to_l2 = std::max(config.crossbar.latency, 2u) - 1;
    const Cycle joined = 2 * Cycle{config.crossbar.gpc_latency};
    return std::bit_floor(std::clamp<Cycle>(std::min(to_l2, joined), 1, ArrivalWindows::kLongest));
}

Cycle sm_window(const GpuConfig& config, bool clusters) {
    Cycle window = std::min<Cycle>(gpc_window(config), std::max(config.launch.cta_latency, 2u) - 1);
    if (clusters) {
        const ClusterConfig& cluster = config.cluster;
        window = std::min<Cycle>({window, config.sm.barrier_latency, cluster.barrier_latency,
                                  std::max(cluster.latency / 2, 4u) - 3});
    }
    return std::bit_floor(std::max<Cycle>(window, 1));
}

}  // namespace heddle::models::gpu
