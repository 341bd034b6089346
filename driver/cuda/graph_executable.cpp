// Executable graphs: made of graphs, updated, switched and launched.
#include <set>

#include "driver/cuda/graph.h"
#include "driver/cuda/per_thread.h"

using namespace heddle::driver;

namespace {

constexpr CUresult kUpdateFailed = 910;

}  // namespace

namespace heddle::driver {

GraphNode* node_in(GraphExec* executable, const GraphNode* original) {
    if (executable == nullptr) return nullptr;
    for (GraphNode* const node : executable->order)
        if (node->original == original) return node;
    return nullptr;
}

CUresult set_child_of_executable(GraphNode& node, const Graph* child) {
    if (child == nullptr || child->nodes.size() != node.child->nodes.size()) return CUDA_ERROR_INVALID_VALUE;
    std::unique_ptr<GraphExec> made;
    if (const CUresult status = make_executable(*child, 0, &made); status != CUDA_SUCCESS) return status;
    node.child_executable = std::move(made);
    return node.set_child(*child);
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuGraphInstantiateWithFlags(GraphExec** executable, const Graph* graph, unsigned long long flags) {
    HEDDLE_CALL;
    if (executable == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & 4) != 0) return missing("cuGraphInstantiate of a graph that kernels launch");
    std::unique_ptr<GraphExec> made;
    const CUresult status = make_executable(*graph, flags, &made);
    *executable = made.release();
    return status;
}
HEDDLE_API CUresult cuGraphInstantiateWithParams(GraphExec** executable, const Graph* graph, std::uint64_t* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult status = cuGraphInstantiateWithFlags(executable, graph, parameters[0]);
    parameters[2] = 0;  // no node is wrong in particular
    parameters[3] = status == CUDA_SUCCESS ? 0 : 1;
    return status;
}
HEDDLE_API CUresult cuGraphInstantiate_v2(GraphExec** executable, const Graph* graph, GraphNode** wrong, char* log, std::size_t room) {
    if (wrong != nullptr) *wrong = nullptr;
    if (log != nullptr && room != 0) *log = '\0';
    return cuGraphInstantiateWithFlags(executable, graph, 0);
}
HEDDLE_API CUresult cuGraphInstantiate(GraphExec** executable, const Graph* graph, GraphNode** wrong, char* log, std::size_t room) { return cuGraphInstantiate_v2(executable, graph, wrong, log, room); }
HEDDLE_API CUresult cuGraphExecGetFlags(GraphExec* executable, std::uint64_t* flags) {
    if (executable == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = executable->flags;
    return CUDA_SUCCESS;
}
// The nodes of both must be the same but for their parameters, in the order in which they were added.
HEDDLE_API CUresult cuGraphExecUpdate_v2(GraphExec* executable, const Graph* graph, CUgraphExecUpdateResultInfo* result) {
    HEDDLE_CALL;
    if (executable == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto fail = [result](unsigned why, void* node) {
        if (result != nullptr) *result = {why, node, nullptr};
        return kUpdateFailed;
    };
    const auto& old = executable->graph->nodes;
    if (old.size() != graph->nodes.size()) return fail(2, nullptr);
    std::map<const GraphNode*, std::size_t> old_place, place;
    for (std::size_t i = 0; i < old.size(); ++i) {
        old_place[old[i].get()] = i;
        place[graph->nodes[i].get()] = i;
    }
    for (std::size_t i = 0; i < old.size(); ++i) {
        GraphNode& node = *graph->nodes[i];
        if (node.type != old[i]->type) return fail(3, &node);
        std::set<std::size_t> old_before, before;
        for (const GraphNode* const other : old[i]->after) old_before.insert(old_place[other]);
        for (const GraphNode* const other : node.after) before.insert(place[other]);
        if (before != old_before) return fail(2, &node);
    }
    std::unique_ptr<GraphExec> fresh;
    if (const CUresult status = make_executable(*graph, executable->flags, &fresh); status != CUDA_SUCCESS) return status;
    for (std::size_t i = 0; i < old.size(); ++i) {
        fresh->graph->nodes[i]->original = old[i]->original;
        fresh->graph->nodes[i]->enabled = old[i]->enabled;
    }
    *executable = std::move(*fresh);
    if (result != nullptr) *result = {};
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphExecUpdate(GraphExec* executable, const Graph* graph, void** wrong, unsigned* why) {
    CUgraphExecUpdateResultInfo result{};
    const CUresult status = cuGraphExecUpdate_v2(executable, graph, &result);
    if (wrong != nullptr) *wrong = result.errorNode;
    if (why != nullptr) *why = result.result;
    return status;
}
HEDDLE_API CUresult cuGraphNodeSetEnabled(GraphExec* executable, GraphNode* original, unsigned enabled) {
    GraphNode* const node = node_in(executable, original);
    if (node == nullptr || node->type > 2) return CUDA_ERROR_INVALID_VALUE;
    node->enabled = enabled != 0;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphNodeGetEnabled(GraphExec* executable, GraphNode* original, unsigned* enabled) {
    const GraphNode* const node = node_in(executable, original);
    if (node == nullptr || node->type > 2 || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *enabled = node->enabled;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphExecDestroy(GraphExec* executable) {
    HEDDLE_CALL;
    delete executable;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphUpload(GraphExec* executable, CUstream) { return executable == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
HEDDLE_API CUresult cuGraphLaunch(GraphExec* executable, CUstream stream) {
    HEDDLE_CALL;
    if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream& on = stream_of(stream);
    if (on.capture == nullptr) return holds(on) ? hold(on, nullptr, [executable](Stream& of) { return run(*executable, of); }) : run(*executable, on);
    submit(stream, 4, nullptr);
    return on.last.front()->set_child(*executable->graph);
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuGraphInstantiateWithParams, _ptsz)
HEDDLE_PER_THREAD(cuGraphLaunch, _ptsz)
HEDDLE_PER_THREAD(cuGraphUpload, _ptsz)
