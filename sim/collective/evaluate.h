// From a plan to a schedule: channels, symmetry, and the parts of the vector.
#pragma once

#include "models/network/schedule.h"
#include "sim/collective/plan.h"

namespace heddle::sim {

/// The part of a collective that is simulated; the rest follows by symmetry.
struct FoldedSchedule {
    models::network::Schedule schedule;
    std::vector<models::network::Link> links;        ///< links with the numbers that the schedule uses
    std::vector<models::network::LinkId> originals;  ///< their numbers in the topology
};

/// Builds the schedule of a plan. With `turns`, rings have the steps of a ring with that many ranks (0: all),
/// which shows what one turn costs.
FoldedSchedule schedule_of(const Cluster& cluster, const models::network::Topology& topology,
                           const CollectiveRequest& request, const RankLayout& layout,
                           const CollectivePlan& plan, std::uint32_t turns = 0);

/// Builds the schedule for payloads, in which every channel of every rank is present and links have the
/// numbers of the topology.
models::network::Schedule full_schedule(const Cluster& cluster, const models::network::Topology& topology,
                                        const CollectiveRequest& request, const RankLayout& layout,
                                        const CollectivePlan& plan);

/// Returns the number of ranks in one period of a ring over nodes that all do the same; 0 when there is none.
std::uint32_t period_of(const CollectiveRequest& request, const RankLayout& layout,
                        const CollectivePlan& plan);

}  // namespace heddle::sim
