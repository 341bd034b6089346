// Graphs and their edges, copied, asked about and drawn.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver/cuda/graph.h"

using namespace heddle::driver;

namespace {

/// As interfaces list things: `count` is the room, and becomes how many there are; without a list that alone.
template <class Thing>
CUresult list(const std::vector<Thing>& all, Thing* out, std::size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (out != nullptr) {
        const std::size_t given = std::min(*count, all.size());
        std::copy_n(all.begin(), given, out);
        std::fill(out + given, out + *count, Thing{});
        *count = given;
    } else {
        *count = all.size();
    }
    return CUDA_SUCCESS;
}

std::vector<GraphNode*> dependents_of(const GraphNode& node) {
    std::vector<GraphNode*> found;
    for (const auto& other : node.graph->nodes)
        if (std::find(other->after.begin(), other->after.end(), &node) != other->after.end()) found.push_back(other.get());
    return found;
}

const char* type_name(unsigned type) {
    constexpr const char* names[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY", "WAIT_EVENT", "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE"};
    return type < std::size(names) ? names[type] : "UNKNOWN";
}

}  // namespace

// Edges with data are waited for as a whole.
HEDDLE_API CUresult cuGraphCreate(Graph** graph, unsigned flags) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = new Graph;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphDestroy(Graph* graph) {
    HEDDLE_CALL;
    if (graph == nullptr || is_capturing(graph)) return CUDA_ERROR_INVALID_VALUE;
    delete graph;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphClone(Graph** copy, const Graph* graph) {
    HEDDLE_CALL;
    if (copy == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *copy = clone(*graph).release();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphNodeFindInClone(GraphNode** found, const GraphNode* original, const Graph* copy) {
    if (found == nullptr || copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : copy->nodes)
        if (node->original == original) {
            *found = node.get();
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}
HEDDLE_API CUresult cuGraphDestroyNode(GraphNode* node) {
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& other : node->graph->nodes) std::erase(other->after, node);
    std::erase_if(node->graph->nodes, [node](const auto& other) { return other.get() == node; });
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphAddDependencies_v2(Graph* graph, GraphNode* const* from, GraphNode* const* to, const CUgraphEdgeData*, std::size_t count) {
    if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
        if (from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i]) return CUDA_ERROR_INVALID_VALUE;
        if (std::find(to[i]->after.begin(), to[i]->after.end(), from[i]) != to[i]->after.end()) return CUDA_ERROR_INVALID_VALUE;
        to[i]->after.push_back(from[i]);
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphAddDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count) { return cuGraphAddDependencies_v2(graph, from, to, nullptr, count); }
HEDDLE_API CUresult cuGraphRemoveDependencies_v2(Graph*, GraphNode* const* from, GraphNode* const* to, const CUgraphEdgeData*, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        if (std::erase(to[i]->after, from[i]) == 0) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphRemoveDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count) { return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count); }
HEDDLE_API CUresult cuGraphGetNodes(Graph* graph, GraphNode** nodes, std::size_t* count) {
    std::vector<GraphNode*> all;
    for (const auto& node : graph->nodes) all.push_back(node.get());
    return list(all, nodes, count);
}
HEDDLE_API CUresult cuGraphGetRootNodes(Graph* graph, GraphNode** nodes, std::size_t* count) {
    std::vector<GraphNode*> roots;
    for (const auto& node : graph->nodes)
        if (node->after.empty()) roots.push_back(node.get());
    return list(roots, nodes, count);
}
HEDDLE_API CUresult cuGraphGetEdges_v2(Graph* graph, GraphNode** from, GraphNode** to, CUgraphEdgeData* data, std::size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> begins, ends;
    for (const auto& node : graph->nodes)
        for (GraphNode* const before : node->after) {
            begins.push_back(before);
            ends.push_back(node.get());
        }
    if (data != nullptr) std::memset(data, 0, std::min(*count, begins.size()) * sizeof *data);
    std::size_t of_begins = *count;
    const CUresult status = list(begins, from, &of_begins);
    return status != CUDA_SUCCESS ? status : list(ends, to, count);
}
HEDDLE_API CUresult cuGraphGetEdges(Graph* graph, GraphNode** from, GraphNode** to, std::size_t* count) { return cuGraphGetEdges_v2(graph, from, to, nullptr, count); }
HEDDLE_API CUresult cuGraphNodeGetDependencies_v2(GraphNode* node, GraphNode** before, CUgraphEdgeData* data, std::size_t* count) {
    if (data != nullptr && count != nullptr) std::memset(data, 0, std::min(*count, node->after.size()) * sizeof *data);
    return list(node->after, before, count);
}
HEDDLE_API CUresult cuGraphNodeGetDependencies(GraphNode* node, GraphNode** before, std::size_t* count) { return cuGraphNodeGetDependencies_v2(node, before, nullptr, count); }
HEDDLE_API CUresult cuGraphNodeGetDependentNodes_v2(GraphNode* node, GraphNode** behind, CUgraphEdgeData* data, std::size_t* count) {
    const std::vector<GraphNode*> found = dependents_of(*node);
    if (data != nullptr && count != nullptr) std::memset(data, 0, std::min(*count, found.size()) * sizeof *data);
    return list(found, behind, count);
}
HEDDLE_API CUresult cuGraphNodeGetDependentNodes(GraphNode* node, GraphNode** behind, std::size_t* count) { return cuGraphNodeGetDependentNodes_v2(node, behind, nullptr, count); }
HEDDLE_API CUresult cuGraphNodeGetType(GraphNode* node, unsigned* type) {
    if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = node->type;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphDebugDotPrint(Graph* graph, const char* path, unsigned) {
    if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::fprintf(file, "digraph graph_of_cuda {\n");
    std::map<const GraphNode*, std::size_t> numbers;
    for (const auto& node : graph->nodes) numbers.emplace(node.get(), numbers.size());
    for (const auto& node : graph->nodes) {
        std::fprintf(file, "    node%zu [shape=box, label=\"%zu %s%s%s\"];\n", numbers[node.get()], numbers[node.get()], type_name(node->type), node->type == 0 ? "\\n" : "",
                     node->type != 0 ? "" : node->kernel.function == nullptr ? "routine of a library" : node->kernel.function->name.c_str());
        for (const GraphNode* const before : node->after) std::fprintf(file, "    node%zu -> node%zu;\n", numbers[before], numbers[node.get()]);
    }
    std::fprintf(file, "}\n");
    return std::fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Objects of the program that live as long as graphs.
HEDDLE_API CUresult cuUserObjectCreate(UserObject** object, void* data, void (*destroy)(void*), unsigned count, unsigned flags) {
    if (object == nullptr || destroy == nullptr || count == 0 || flags != 1) return CUDA_ERROR_INVALID_VALUE;
    *object = new UserObject{data, destroy, count};
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuUserObjectRetain(UserObject* object, unsigned count) {
    HEDDLE_CALL;
    object->count += count;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuUserObjectRelease(UserObject* object, unsigned count) {
    HEDDLE_CALL;
    if (count > object->count) return CUDA_ERROR_INVALID_VALUE;
    object->count -= count;
    if (object->count == 0) {
        object->destroy(object->data);
        delete object;
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphRetainUserObject(Graph* graph, UserObject* object, unsigned count, unsigned flags) {
    HEDDLE_CALL;
    if (graph == nullptr || object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags == 0) object->count += count;  // else the caller's references become those of the graph
    graph->objects.insert(graph->objects.end(), count, object);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphReleaseUserObject(Graph* graph, UserObject* object, unsigned count) {
    HEDDLE_CALL;
    for (; count != 0; --count) {
        const auto held = std::find(graph->objects.begin(), graph->objects.end(), object);
        if (held == graph->objects.end()) return CUDA_ERROR_INVALID_VALUE;
        graph->objects.erase(held);
        // Each reference in the list is one of the object: it is there as long as it is found.
        // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
        if (const CUresult status = cuUserObjectRelease(object, 1); status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
}
// Memory of graphs lives as long as they do: there is nothing to trim.
HEDDLE_API CUresult cuDeviceGraphMemTrim(CUdevice) { return CUDA_SUCCESS; }
