// Builds a schedule: workers of ranks, connections between them, and operations.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "models/network/schedule.h"
#include "sim/cluster/collective_config.h"

namespace heddle::sim {

/// How a library carries a collective out, in the terms of a schedule.
struct LanePlan {
    CollectiveProtocol protocol = CollectiveProtocol::simple;
    std::uint32_t lanes = 1;    ///< simulated channels
    std::uint32_t width = 1;    ///< number of equal channels that each simulated one represents
    std::uint64_t chunk = 1;    ///< elements that a channel works on at a time
    std::uint32_t element = 1;  ///< bytes of an element
};

/// Collects the parts of one schedule. All constructor arguments that are references must outlive it.
class ScheduleBuilder {
  public:
    /// `ranks` has the endpoint of each rank.
    ScheduleBuilder(const CollectiveConfig& config, const LanePlan& plan,
                    const models::network::Topology& topology, const std::vector<std::uint32_t>& ranks);

    const LanePlan& plan() const { return plan_; }
    std::uint32_t rank_count() const { return static_cast<std::uint32_t>(ranks_.size()); }
    const std::vector<std::uint32_t>& ranks() const { return ranks_; }
    const models::network::Topology& topology() const { return topology_; }

    /// Returns the worker of a rank, role and lane, and creates it on first use. Roles distinguish the
    /// workers of one rank and lane, such as those up and down a tree or in the phases of a hierarchy.
    std::uint32_t worker(std::uint32_t rank, std::uint32_t role, std::uint32_t lane);
    /// Returns the connection between two workers, and creates it on first use.
    std::uint32_t connect(std::uint32_t from, std::uint32_t to);
    /// Does the same for folded rings, in which the route is that of two other endpoints than the workers'
    /// own.
    std::uint32_t connect(std::uint32_t from, std::uint32_t to, std::uint32_t endpoint_from,
                          std::uint32_t endpoint_to, double latency);
    /// Orders two workers: `after` starts its next operation when `before` has ended the operations that it
    /// has so far.
    void then(std::uint32_t before, std::uint32_t after);
    /// Appends an operation to a worker.
    void add(std::uint32_t worker, models::network::Operation operation);

    /// Returns the bytes of `elements` elements in all channels that a lane represents.
    std::uint64_t bytes(std::uint64_t elements) const { return elements * plan_.element * plan_.width; }
    std::uint32_t lane_of(std::uint32_t worker) const { return lanes_[worker]; }
    /// Returns the seconds of a step in addition to the link, inside a node or to another one.
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
