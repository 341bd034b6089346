// The fraction of a link that each of several concurrent groups gets.
#pragma once

#include <unordered_map>
#include <vector>

#include "models/network/topology.h"

namespace heddle::sim {

/// A number for each link: a load, or a fraction.
using LinkLoads = std::unordered_map<models::network::LinkId, double>;

/// Adds to each link's load the number of times that a ring over the ranks (endpoints) uses the link, counted
/// over all turns of the ring over the nodes' cards and divided by the number of turns.
void add_ring_loads(const models::network::Topology& topology, const std::vector<std::uint32_t>& ranks,
                    LinkLoads& loads);

/// Returns, for each loaded link, the group's share of the whole load, or, where the group does not load it,
/// the share of one more user.
LinkLoads parts_of_links(const LinkLoads& own, const LinkLoads& all);

}  // namespace heddle::sim
