#include "models/gpu/gpc_layout.h"

#include <algorithm>

namespace heddle::models::gpu {
namespace {

std::vector<std::uint32_t> sizes_of(const std::vector<std::uint32_t>& gpc_of_sm) {
    std::vector<std::uint32_t> sizes;
    for (const std::uint32_t gpc : gpc_of_sm) {
        if (gpc >= sizes.size()) sizes.resize(gpc + 1);
        ++sizes[gpc];
    }
    return sizes;
}

}  // namespace

std::vector<std::uint32_t> gpc_layout(std::uint32_t sms, std::uint32_t gpcs,
                                      const std::vector<std::uint32_t>& sizes) {
    std::vector<std::uint32_t> gpc_of_sm;
    std::vector<std::uint32_t> taken(gpcs);
    for (std::uint32_t gpc = 0; gpc_of_sm.size() < sms; gpc = (gpc + 1) % gpcs) {
        if (!sizes.empty() && taken[gpc] >= sizes[gpc]) continue;
        for (std::uint32_t i = 0; i < kSmsPerTpc && gpc_of_sm.size() < sms; ++i) gpc_of_sm.push_back(gpc);
        taken[gpc] += kSmsPerTpc;
    }
    return gpc_of_sm;
}

std::uint32_t largest_gpc(const std::vector<std::uint32_t>& gpc_of_sm) {
    const std::vector<std::uint32_t> sizes = sizes_of(gpc_of_sm);
    return *std::max_element(sizes.begin(), sizes.end());
}

std::uint64_t active_clusters(const std::vector<std::uint32_t>& gpc_of_sm, std::uint32_t size,
                              std::uint32_t per_sm) {
    std::uint64_t clusters = 0;
    for (const std::uint32_t sms : sizes_of(gpc_of_sm)) clusters += std::uint64_t{sms} * per_sm / size;
    return clusters;
}

}  // namespace heddle::models::gpu
