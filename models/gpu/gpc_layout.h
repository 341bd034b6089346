// Which SMs share a graphics processing cluster (GPC). A GPC is made of texture processing clusters (TPCs) of
// two SMs; chips are sold with some of them switched off, so that GPCs of one chip differ in size. The thread
// blocks of a cluster run in one GPC.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::models::gpu {

inline constexpr std::uint32_t kSmsPerTpc = 2;

/// The GPC of every SM: TPCs are dealt to the GPCs in turn, passing over those that have as many SMs as
/// `sizes` says. Without sizes this is as even as it can be: 132 SMs in 8 GPCs are two of 18 and six of 16.
/// At least one SM and one GPC; sizes are even and add up to `sms`.
std::vector<std::uint32_t> gpc_layout(std::uint32_t sms, std::uint32_t gpcs,
                                      const std::vector<std::uint32_t>& sizes = {});

/// SMs of the largest GPC.
std::uint32_t largest_gpc(const std::vector<std::uint32_t>& gpc_of_sm);

/// Clusters of `size` thread blocks that run at the same time when `per_sm` thread blocks fit on an SM: what
/// cudaOccupancyMaxActiveClusters() counts.
std::uint64_t active_clusters(const std::vector<std::uint32_t>& gpc_of_sm, std::uint32_t size,
                              std::uint32_t per_sm);

}  // namespace heddle::models::gpu
