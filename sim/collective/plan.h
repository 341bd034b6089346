// Which algorithm, which protocol, how many channels: what a library decides before a collective begins.
#pragma once

#include <vector>

#include "models/network/topology.h"
#include "sim/collective/collective.h"

namespace heddle::sim {

struct CollectivePlan {
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
    CollectiveProtocol protocol = CollectiveProtocol::simple;
    std::uint32_t channels = 1;
};

/// Ranks of a request and where they are.
struct RankLayout {
    std::vector<std::uint32_t> ranks;               ///< endpoint of each rank
    std::vector<std::vector<std::uint32_t>> nodes;  ///< ranks (not endpoints) of each node, in order
    bool even = true;                               ///< as many in every node
    std::uint32_t count() const { return static_cast<std::uint32_t>(ranks.size()); }
};
RankLayout layout_of(const std::vector<std::uint32_t>& ranks, const models::network::Topology& topology);

std::uint32_t element_bytes(const std::string& type);

/// Why this algorithm cannot do this; empty when it can.
std::string obstacle(CollectiveAlgorithm algorithm, const CollectiveRequest& request,
                     const RankLayout& layout, const models::network::Topology& topology);

/// Channels of a message of this size.
std::uint32_t channels_of(const CollectiveConfig& config, CollectiveAlgorithm algorithm,
                          CollectiveProtocol protocol, std::uint64_t bytes, std::uint32_t ranks);

/// Seconds that NCCL's tuning model estimates, to choose by.
double believed_seconds(const Cluster& cluster, const CollectiveRequest& request, const RankLayout& layout,
                        CollectiveAlgorithm algorithm, CollectiveProtocol protocol);

/// What is left to choose is chosen as NCCL does; with `choice: fastest` all that may be tried is returned.
std::vector<CollectivePlan> plans_of(const Cluster& cluster, const CollectiveRequest& request,
                                     const RankLayout& layout, const models::network::Topology& topology);

}  // namespace heddle::sim
