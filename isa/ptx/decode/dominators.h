// Which nodes of a graph all ways to another one pass.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::ptx {

/// An adjacency list: for each node of a graph, the nodes at the other ends of its edges.
using Edges = std::vector<std::vector<std::uint32_t>>;

/// For each node its immediate dominator: the last node, other than itself, on every way from `root` to it.
/// The root's is itself; nodes that are not reached have kNoInstruction. The time is about linear in the
/// number of edges.
std::vector<std::uint32_t> immediate_dominators(std::uint32_t root, const Edges& successors,
                                                const Edges& predecessors);

}  // namespace heddle::ptx
