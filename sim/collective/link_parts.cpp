#include "sim/collective/link_parts.h"

#include <algorithm>
#include <map>

namespace heddle::sim {

using models::network::LinkId;
using models::network::Topology;

void add_ring_loads(const Topology& topology, const std::vector<std::uint32_t>& ranks, LinkLoads& loads) {
    if (ranks.size() < 2) return;
    std::map<std::uint32_t, std::vector<std::uint32_t>> nodes;
    std::vector<std::uint32_t> order;
    for (const std::uint32_t rank : ranks) {
        auto& node = nodes[topology.node_of(rank)];
        if (node.empty()) order.push_back(topology.node_of(rank));
        node.push_back(rank);
    }
    std::size_t turns = 1;
    if (nodes.size() > 1)
        for (const auto& [number, node] : nodes) turns = std::max(turns, node.size());
    const double one = 1 / static_cast<double>(turns);
    for (std::size_t turn = 0; turn < turns; ++turn) {
        std::uint32_t first = 0, before = 0;
        bool begun = false;
        const auto pass = [&](std::uint32_t from, std::uint32_t to) {
            for (const LinkId link : topology.route(from, to, static_cast<std::uint32_t>(turn)).links)
                loads[link] += one;
        };
        for (const std::uint32_t number : order) {
            const auto& node = nodes[number];
            for (std::size_t i = 0; i < node.size(); ++i) {
                const std::uint32_t rank = node[(i + turn) % node.size()];
                if (begun) pass(before, rank);
                if (!begun) first = rank;
                begun = true;
                before = rank;
            }
        }
        pass(before, first);
    }
}

LinkLoads parts_of_links(const LinkLoads& own, const LinkLoads& all) {
    LinkLoads parts;
    for (const auto& [link, load] : all) {
        const auto found = own.find(link);
        parts[link] = found != own.end() ? found->second / load : 1 / (1 + load);
    }
    return parts;
}

}  // namespace heddle::sim
