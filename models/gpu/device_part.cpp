#include "models/gpu/device_part.h"

#include <algorithm>
#include <cmath>

#include "models/gpu/gpc_layout.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint32_t kDivisor = 4;
constexpr std::uint32_t kFewestSms = 12;  // with fewer, single thread blocks decide how long a kernel takes

/// The largest GPC first: where nothing evens them out, it is the last to end.
std::vector<std::uint32_t> sizes_of_part(const SmConfig& sm, std::uint32_t count, std::uint32_t gpcs) {
    if (sm.gpc_sizes.empty()) return {};
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t left = count, gpc = gpcs; gpc != 0; --gpc) {
        std::uint32_t size = (left / gpc + kSmsPerTpc - 1) / kSmsPerTpc * kSmsPerTpc;
        if (sizes.empty()) size = std::max(size, *std::max_element(sm.gpc_sizes.begin(), sm.gpc_sizes.end()));
        size = gpc == 1 ? left : std::min(size, left);
        sizes.push_back(size);
        left -= size;
    }
    return sizes;
}

}  // namespace

std::optional<DevicePart> part_of(const GpuConfig& whole) {
    if (!whole.hbm.model.empty() || whole.hbm.make_model || whole.l2.is_replaced()) return {};
    DevicePart part{whole, 1};
    GpuConfig& config = part.config;
    config.sm.count = (whole.sm.count / kDivisor + kSmsPerTpc - 1) / kSmsPerTpc * kSmsPerTpc;
    if (config.sm.count < kFewestSms) return {};
    const double share = static_cast<double>(config.sm.count) / whole.sm.count;
    part.share = share;

    const std::uint32_t partitions = whole.l2.partitions;
    const double gpcs = share * whole.sm.gpcs;
    config.sm.gpcs = std::max(1u, static_cast<std::uint32_t>(std::lround(gpcs / partitions))) * partitions;
    config.sm.gpc_sizes = sizes_of_part(whole.sm, config.sm.count, config.sm.gpcs);
    config.crossbar.gpc_request_bytes *= gpcs / config.sm.gpcs;
    config.crossbar.gpc_response_bytes *= gpcs / config.sm.gpcs;

    const std::uint32_t slices_per_channel = whole.l2.slices / whole.hbm.channels;
    std::uint32_t channels =
        std::max(1u, static_cast<std::uint32_t>(std::lround(share * whole.hbm.channels)));
    while (channels * slices_per_channel % partitions != 0) ++channels;
    const std::uint32_t slices = channels * slices_per_channel;
    const double slice = share * whole.l2.slices / slices;  // what a slice stands for
    config.hbm.channels = channels;
    config.hbm.bandwidth *= share;
    config.l2.slices = slices;
    config.l2.bytes_per_cycle *= slice;
    config.l2.link_bytes_per_cycle *= slice;
    const double lines_of_slice = slice * static_cast<double>(whole.l2.bytes) / whole.l2.slices / kLineBytes;
    config.l2.bytes = static_cast<std::uint64_t>(std::lround(lines_of_slice)) * kLineBytes * slices;

    config.launch.cta_interval /= share;
    config.power.limit = whole.power.constant(whole.sm.count) + whole.power.limit;  // not looked at
    return check(config).empty() ? std::optional(part) : std::nullopt;
}

}  // namespace heddle::models::gpu
