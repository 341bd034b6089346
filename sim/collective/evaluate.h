// From a plan to a schedule: lanes, symmetry, spans of the vector.
#pragma once

#include "models/network/schedule.h"
#include "sim/collective/plan.h"

namespace heddle::sim {

/// What is simulated of a collective.
struct FoldedSchedule {
    models::network::Schedule schedule;
    std::vector<models::network::Link> links;        ///< of the schedule's own numbers
    std::vector<models::network::LinkId> originals;  ///< their numbers in the topology
};

/// `turns`: steps of rings are those of rings of so many ranks (0: all), to find what a turn costs.
FoldedSchedule schedule_of(const Cluster& cluster, const models::network::Topology& topology,
                           const CollectiveRequest& request, const RankLayout& layout,
                           const CollectivePlan& plan, std::uint32_t turns = 0);

/// The same for payloads: every channel of every rank by itself, links as in the topology.
models::network::Schedule full_schedule(const Cluster& cluster, const models::network::Topology& topology,
                                        const CollectiveRequest& request, const RankLayout& layout,
                                        const CollectivePlan& plan);

/// Ranks of one period of a ring over nodes that all do the same; 0 when there is none.
std::uint32_t period_of(const CollectiveRequest& request, const RankLayout& layout,
                        const CollectivePlan& plan);

}  // namespace heddle::sim
