// What the files about graphs share. graph.cpp: graphs and their edges. graph_nodes.cpp: what nodes are made of. graph_executable.cpp: executable graphs.
// capture.cpp: graphs captured from streams. graph_run.cpp: how they run.
#pragma once

#include "driver/cuda/state.h"

namespace heddle::driver {

using GraphNode = Graph::Node;

/// The node of an executable graph that was made of this one; nullptr: none.
GraphNode* node_in(GraphExec* executable, const GraphNode* original);

/// A child graph of an executable graph becomes another with as many nodes.
CUresult set_child_of_executable(GraphNode& node, const Graph* child);

}  // namespace heddle::driver

/// At the beginning of what needs a device.
#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status
