// Which algorithm, which protocol and how many channels a collective uses: what a library decides before it
// begins.
#pragma once

#include <vector>

#include "models/network/topology.h"
#include "sim/collective/collective.h"

namespace heddle::sim {

/// One way to carry a collective out.
struct CollectivePlan {
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
    CollectiveProtocol protocol = CollectiveProtocol::simple;
    std::uint32_t channels = 1;
};

/// The ranks of a request and where they are.
struct RankLayout {
    std::vector<std::uint32_t> ranks;               ///< endpoint of each rank
    std::vector<std::vector<std::uint32_t>> nodes;  ///< ranks (not endpoints) of each node, in order
    bool even = true;                               ///< every node has the same number of ranks
    std::uint32_t count() const { return static_cast<std::uint32_t>(ranks.size()); }
};

/// Sorts ranks into nodes. `ranks` has the endpoint of each rank.
RankLayout layout_of(const std::vector<std::uint32_t>& ranks, const models::network::Topology& topology);

/// Returns the bytes of an element of a type, such as 2 for "f16".
std::uint32_t element_bytes(const std::string& type);

/// Returns why an algorithm cannot carry out a request; empty when it can.
std::string obstacle(CollectiveAlgorithm algorithm, const CollectiveRequest& request,
                     const RankLayout& layout, const models::network::Topology& topology);

/// Returns the number of channels for a message of this size.
std::uint32_t channels_of(const CollectiveConfig& config, CollectiveAlgorithm algorithm,
                          CollectiveProtocol protocol, std::uint64_t bytes, std::uint32_t ranks);

/// Returns the seconds that NCCL's tuning model estimates, by which NCCL chooses.
double believed_seconds(const Cluster& cluster, const CollectiveRequest& request, const RankLayout& layout,
                        CollectiveAlgorithm algorithm, CollectiveProtocol protocol);

/// Chooses what the request leaves open as NCCL does, and returns one plan; with `choice: fastest` it returns
/// all plans that may be tried.
std::vector<CollectivePlan> plans_of(const Cluster& cluster, const CollectiveRequest& request,
                                     const RankLayout& layout, const models::network::Topology& topology);

}  // namespace heddle::sim
