// Which nodes of a graph all ways to another one pass.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::ptx {

/// Of each node of a graph, the other ends of edges.
using Edges = std::vector<std::vector<std::uint32_t>>;

/// Of each node the last one, other than itself, that all ways from `root` to it pass. The root's is itself;
/// kNoInstruction for nodes that are not reached. Takes about as long as there are edges.
std::vector<std::uint32_t> immediate_dominators(std::uint32_t root, const Edges& successors,
                                                const Edges& predecessors);

}  // namespace heddle::ptx
