// What is left of a link to one of several groups that do the same at the same time.
#pragma once

#include <unordered_map>
#include <vector>

#include "models/network/topology.h"

namespace heddle::sim {

using LinkLoads = std::unordered_map<models::network::LinkId, double>;

/// Adds one for every time that a ring over the ranks (endpoints), in each of its turns over the nodes'
/// cards, takes a link, divided by the number of turns.
void add_ring_loads(const models::network::Topology& topology, const std::vector<std::uint32_t>& ranks,
                    LinkLoads& loads);

/// Of each link that is loaded: a group's own part, or, where it has none, that of one more.
LinkLoads parts_of_links(const LinkLoads& own, const LinkLoads& all);

}  // namespace heddle::sim
