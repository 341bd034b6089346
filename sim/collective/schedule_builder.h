// Puts a schedule together: workers of ranks, connections between them, operations.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "models/network/schedule.h"
#include "sim/cluster/collective_config.h"

namespace heddle::sim {

/// How a library carries a collective out.
struct LanePlan {
    CollectiveProtocol protocol = CollectiveProtocol::simple;
    std::uint32_t lanes = 1;    ///< simulated channels
    std::uint32_t width = 1;    ///< equal channels for which each of them stands
    std::uint64_t chunk = 1;    ///< elements that a channel works on at a time
    std::uint32_t element = 1;  ///< bytes
};

class ScheduleBuilder {
  public:
    /// `ranks`: the endpoint of each rank.
    ScheduleBuilder(const CollectiveConfig& config, const LanePlan& plan,
                    const models::network::Topology& topology, const std::vector<std::uint32_t>& ranks);

    const LanePlan& plan() const { return plan_; }
    std::uint32_t rank_count() const { return static_cast<std::uint32_t>(ranks_.size()); }
    const std::vector<std::uint32_t>& ranks() const { return ranks_; }
    const models::network::Topology& topology() const { return topology_; }

    /// Roles tell the workers of a rank and lane apart: up and down a tree, phases of a hierarchy.
    std::uint32_t worker(std::uint32_t rank, std::uint32_t role, std::uint32_t lane);
    /// Made when first asked for.
    std::uint32_t connect(std::uint32_t from, std::uint32_t to);
    /// Between workers of different ranks than their own, for folded rings: the route is that of these
    /// endpoints.
    std::uint32_t connect(std::uint32_t from, std::uint32_t to, std::uint32_t endpoint_from,
                          std::uint32_t endpoint_to, double latency);
    /// `after` begins what comes next when `before` has ended what it has so far.
    void then(std::uint32_t before, std::uint32_t after);
    void add(std::uint32_t worker, models::network::Operation operation);

    /// Bytes of so many elements, of all channels that a lane stands for.
    std::uint64_t bytes(std::uint64_t elements) const { return elements * plan_.element * plan_.width; }
    std::uint32_t lane_of(std::uint32_t worker) const { return lanes_[worker]; }
    double step_latency(bool crosses_network) const;

    models::network::Schedule take() { return std::move(schedule_); }
    models::network::Schedule& schedule() { return schedule_; }

  private:
    const CollectiveConfig& config_;
    LanePlan plan_;
    const models::network::Topology& topology_;
    const std::vector<std::uint32_t>& ranks_;
    models::network::Schedule schedule_;
    std::vector<std::uint32_t> lanes_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> workers_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> connections_;
};

}  // namespace heddle::sim
