// Graphs: captured from streams or built node by node, changed, copied, asked about and launched. graph_run.cpp says how they run.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace {

using GraphNode = Graph::Node;

constexpr CUresult kUnjoined = 904, kUpdateFailed = 910;

std::set<const Graph*>& captures() {
    static auto* const all = new std::set<const Graph*>;
    return *all;
}

CUresult begin_capture(Stream& on, Graph* graph) {
    if (on.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    on.into_given = graph != nullptr;
    on.capture = on.into_given ? graph : new Graph;
    on.began_capture = true;
    on.last.clear();
    on.capture->capturing = {&on};
    captures().insert(on.capture);
    return CUDA_SUCCESS;
}

CUresult after_all(GraphNode& node, GraphNode* const* after, std::size_t count) {
    if (count != 0 && after == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
        if (after[i] == nullptr || after[i]->graph != node.graph) return CUDA_ERROR_INVALID_VALUE;
        node.after.push_back(after[i]);
    }
    return CUDA_SUCCESS;
}

/// Adds a node, and takes it back where `fill_in` or what it comes after is wrong.
template <class FillIn>
CUresult add(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, unsigned type, FillIn fill_in) {
    HEDDLE_CALL;
    if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    GraphNode& made = add_to(*graph, type, nullptr);
    CUresult status = after_all(made, after, count);
    if (status == CUDA_SUCCESS) status = fill_in(made);
    if (status != CUDA_SUCCESS)
        graph->nodes.pop_back();
    else
        *node = &made;
    return status;
}

/// The parameters of a kernel node; attributes that it had stay.
CUresult set_kernel(GraphNode& node, const CUDA_KERNEL_NODE_PARAMS* given, bool newer) {
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Graph::Node::Kernel kernel;
    kernel.function = given->func != nullptr || !newer ? given->func : given->kern;
    if (kernel.function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    kernel.shape = node.kernel.shape;
    std::copy(std::begin(given->grid), std::end(given->grid), kernel.shape.grid);
    std::copy(std::begin(given->block), std::end(given->block), kernel.shape.block);
    kernel.shape.shared_bytes = given->sharedMemBytes;
    if (const CUresult status = arguments_of(kernel.function, kernel.shape, given->kernelParams, given->extra, kernel.bytes); status != CUDA_SUCCESS) return status;
    return node.set_kernel(std::move(kernel));
}

/// The node of an executable graph that was made of this one; nullptr: none.
GraphNode* node_in(GraphExec* executable, const GraphNode* original) {
    if (executable == nullptr) return nullptr;
    for (GraphNode* const node : executable->order)
        if (node->original == original) return node;
    return nullptr;
}

/// Changes a node of an executable graph, which must be of a type.
template <class Change>
CUresult change(GraphExec* executable, const GraphNode* original, unsigned type, Change set) {
    HEDDLE_CALL;
    GraphNode* const node = node_in(executable, original);
    if (node == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
    return set(*node);
}
template <class Change>
CUresult change(GraphNode* node, unsigned type, Change set) {
    HEDDLE_CALL;
    if (node == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
    return set(*node);
}

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

CUresult set_child_of_executable(GraphNode& node, const Graph* child) {
    if (child == nullptr || child->nodes.size() != node.child->nodes.size()) return CUDA_ERROR_INVALID_VALUE;
    std::unique_ptr<GraphExec> made;
    if (const CUresult status = make_executable(*child, 0, &made); status != CUDA_SUCCESS) return status;
    node.child_executable = std::move(made);
    return node.set_child(*child);
}

const char* type_name(unsigned type) {
    constexpr const char* names[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY", "WAIT_EVENT", "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE"};
    return type < std::size(names) ? names[type] : "UNKNOWN";
}

/// The parameters of any kind of node (CUgraphNodeParams): a type, and from byte 16 on what that type has.
CUresult set_any(GraphNode& node, char* given) {
    char* const parameters = given + 16;
    const auto read = [parameters](auto& value, std::size_t at) { std::memcpy(&value, parameters + at, sizeof value); };  // NOLINT(bugprone-sizeof-expression): pointers among them
    switch (node.type) {
        case 0: {
            CUDA_KERNEL_NODE_PARAMS kernel;
            read(kernel, 0);
            return set_kernel(node, &kernel, true);
        }
        case 1: {
            CUDA_MEMCPY3D copy;
            read(copy, 16);
            return node.set_copy(copy);
        }
        case 2: {
            CUDA_MEMSET_NODE_PARAMS fill;
            read(fill, 0);
            return node.set_fill(fill);
        }
        case 3: {
            CUDA_HOST_NODE_PARAMS host;
            read(host, 0);
            return node.set_host(host);
        }
        case 4: {
            const Graph* child = nullptr;
            read(child, 0);
            return child == nullptr ? CUDA_ERROR_INVALID_VALUE : node.set_child(*child);
        }
        case 5:
            return CUDA_SUCCESS;
        case 6: case 7: {
            CUevent event = nullptr;
            read(event, 0);
            return node.set_event(event);
        }
        case 10: {
            CUDA_MEM_ALLOC_NODE_PARAMS allocation;
            read(allocation, 0);
            node.device = allocation.poolProps.location.id;
            const CUresult status = allocate_in(node, allocation.bytesize, &allocation.dptr);
            std::memcpy(parameters, &allocation, sizeof allocation);
            return status;
        }
        case 11:
            read(node.freed, 0);
            return is_of_graph(node.freed) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        default:
            return missing((std::string("a node of a graph of type ") + std::to_string(node.type)).c_str());
    }
}

}  // namespace

namespace heddle::driver {

bool is_capturing(const Graph* graph) {
    return captures().count(graph) != 0;
}

}  // namespace heddle::driver

// Capture.
HEDDLE_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    HEDDLE_CALL;
    if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
    return begin_capture(stream_of(stream), nullptr);
}
HEDDLE_API CUresult cuStreamBeginCapture(CUstream stream) { return cuStreamBeginCapture_v2(stream, 0); }
HEDDLE_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, Graph* graph, GraphNode* const* after, const CUgraphEdgeData*, std::size_t count, int) {
    HEDDLE_CALL;
    if (graph == nullptr || is_capturing(graph)) return CUDA_ERROR_INVALID_VALUE;
    Stream& on = stream_of(stream);
    const CUresult status = begin_capture(on, graph);
    if (status == CUDA_SUCCESS && count != 0) on.last.assign(after, after + count);
    return status;
}
HEDDLE_API CUresult cuStreamEndCapture(CUstream stream, Graph** graph) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    if (on.capture == nullptr || graph == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (!on.began_capture) return 903;  // CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
    Graph* const captured = on.capture;
    // What other streams did must lead back to this one.
    std::set<const GraphNode*> joined;
    std::vector<const GraphNode*> open(on.last.begin(), on.last.end());
    while (!open.empty()) {
        const GraphNode* const node = open.back();
        open.pop_back();
        if (joined.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
    }
    bool whole = true;
    for (Stream* const other : captured->capturing) {
        for (const GraphNode* const node : other->last) whole = whole && joined.count(node) != 0;
        other->capture = nullptr;
        other->last.clear();
        other->began_capture = false;
    }
    captured->capturing.clear();
    captures().erase(captured);
    *graph = whole ? captured : nullptr;
    if (!whole && !on.into_given) delete captured;
    return whole ? CUDA_SUCCESS : kUnjoined;
}
HEDDLE_API CUresult cuStreamIsCapturing(CUstream stream, int* state) {
    HEDDLE_CALL;
    *state = stream_of(stream).capture != nullptr;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int* state, std::uint64_t* id, Graph** graph, GraphNode* const** after, const CUgraphEdgeData** edges, std::size_t* count) {
    HEDDLE_CALL;
    static const CUgraphEdgeData plain[64] = {};
    Stream& on = stream_of(stream);
    if (edges != nullptr && on.last.size() > std::size(plain)) return missing("edges of more than 64 dependencies of a capture");
    *state = on.capture != nullptr;
    if (on.capture == nullptr) return CUDA_SUCCESS;
    if (id != nullptr) *id = reinterpret_cast<std::uintptr_t>(on.capture);
    if (graph != nullptr) *graph = on.capture;
    if (after != nullptr) *after = on.last.data();
    if (edges != nullptr) *edges = plain;
    if (count != nullptr) *count = on.last.size();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int* state, std::uint64_t* id, Graph** graph, GraphNode* const** after, std::size_t* count) {
    return cuStreamGetCaptureInfo_v3(stream, state, id, graph, after, nullptr, count);
}
HEDDLE_API CUresult cuStreamGetCaptureInfo(CUstream stream, int* state, std::uint64_t* id) { return cuStreamGetCaptureInfo_v3(stream, state, id, nullptr, nullptr, nullptr, nullptr); }
HEDDLE_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, GraphNode* const* after, const CUgraphEdgeData*, std::size_t count, unsigned flags) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    if (on.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (flags > 1 || (count != 0 && after == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    if (flags == 1) on.last.clear();
    for (std::size_t i = 0; i < count; ++i)
        if (std::find(on.last.begin(), on.last.end(), after[i]) == on.last.end()) on.last.push_back(after[i]);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, GraphNode* const* after, std::size_t count, unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, after, nullptr, count, flags);
}

// Graphs and their edges. Edges with data are waited for as a whole.
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

// Nodes.
HEDDLE_API CUresult cuGraphAddKernelNode_v2(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_KERNEL_NODE_PARAMS* given) {
    return add(node, graph, after, count, 0, [&](GraphNode& made) { return set_kernel(made, given, true); });
}
HEDDLE_API CUresult cuGraphAddKernelNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_KERNEL_NODE_PARAMS* given) {
    return add(node, graph, after, count, 0, [&](GraphNode& made) { return set_kernel(made, given, false); });
}
HEDDLE_API CUresult cuGraphAddMemcpyNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_MEMCPY3D* given, CUcontext) {
    return add(node, graph, after, count, 1, [&](GraphNode& made) { return made.set_copy(*given); });
}
HEDDLE_API CUresult cuGraphAddMemsetNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_MEMSET_NODE_PARAMS* given, CUcontext) {
    return add(node, graph, after, count, 2, [&](GraphNode& made) { return made.set_fill(*given); });
}
HEDDLE_API CUresult cuGraphAddHostNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_HOST_NODE_PARAMS* given) {
    return add(node, graph, after, count, 3, [&](GraphNode& made) { return made.set_host(*given); });
}
HEDDLE_API CUresult cuGraphAddChildGraphNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const Graph* child) {
    if (child == nullptr || child == graph) return CUDA_ERROR_INVALID_VALUE;
    return add(node, graph, after, count, 4, [&](GraphNode& made) { return made.set_child(*child); });
}
HEDDLE_API CUresult cuGraphAddEmptyNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count) {
    return add(node, graph, after, count, 5, [](GraphNode&) { return CUDA_SUCCESS; });
}
HEDDLE_API CUresult cuGraphAddEventWaitNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUevent event) {
    return add(node, graph, after, count, 6, [&](GraphNode& made) { return made.set_event(event); });
}
HEDDLE_API CUresult cuGraphAddEventRecordNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUevent event) {
    return add(node, graph, after, count, 7, [&](GraphNode& made) { return made.set_event(event); });
}
HEDDLE_API CUresult cuGraphAddMemAllocNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* given) {
    if (given == nullptr || given->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    return add(node, graph, after, count, 10, [&](GraphNode& made) {
        made.device = given->poolProps.location.id;
        return allocate_in(made, given->bytesize, &given->dptr);
    });
}
HEDDLE_API CUresult cuGraphAddMemFreeNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUdeviceptr address) {
    return add(node, graph, after, count, 11, [&](GraphNode& made) {
        made.freed = address;
        return is_of_graph(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}
HEDDLE_API CUresult cuGraphAddNode_v2(GraphNode** node, Graph* graph, GraphNode* const* after, const CUgraphEdgeData*, std::size_t count, char* given) {
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    unsigned type = 0;
    std::memcpy(&type, given, sizeof type);
    return add(node, graph, after, count, type, [&](GraphNode& made) { return set_any(made, given); });
}
HEDDLE_API CUresult cuGraphAddNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, char* given) { return cuGraphAddNode_v2(node, graph, after, nullptr, count, given); }

// What nodes were made of, got and set.
HEDDLE_API CUresult cuGraphKernelNodeGetParams_v2(GraphNode* node, CUDA_KERNEL_NODE_PARAMS* out) {
    return change(node, 0, [out](GraphNode& of) {
        const Graph::Node::Kernel& kernel = of.kernel;
        *out = {kernel.function, {}, {}, kernel.shape.shared_bytes, of.kernel.parameters.data(), nullptr, nullptr, nullptr};
        std::copy(std::begin(kernel.shape.grid), std::end(kernel.shape.grid), out->grid);
        std::copy(std::begin(kernel.shape.block), std::end(kernel.shape.block), out->block);
        return CUDA_SUCCESS;
    });
}
HEDDLE_API CUresult cuGraphKernelNodeGetParams(GraphNode* node, void* out) {
    CUDA_KERNEL_NODE_PARAMS newer{};
    const CUresult status = cuGraphKernelNodeGetParams_v2(node, &newer);
    if (status == CUDA_SUCCESS) std::memcpy(out, &newer, offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
    return status;
}
HEDDLE_API CUresult cuGraphKernelNodeSetParams_v2(GraphNode* node, const CUDA_KERNEL_NODE_PARAMS* given) {
    return change(node, 0, [given](GraphNode& of) { return set_kernel(of, given, true); });
}
HEDDLE_API CUresult cuGraphKernelNodeSetParams(GraphNode* node, const CUDA_KERNEL_NODE_PARAMS* given) {
    return change(node, 0, [given](GraphNode& of) { return set_kernel(of, given, false); });
}
HEDDLE_API CUresult cuGraphExecKernelNodeSetParams_v2(GraphExec* executable, GraphNode* node, const CUDA_KERNEL_NODE_PARAMS* given) {
    return change(executable, node, 0, [given](GraphNode& of) { return set_kernel(of, given, true); });
}
HEDDLE_API CUresult cuGraphExecKernelNodeSetParams(GraphExec* executable, GraphNode* node, const CUDA_KERNEL_NODE_PARAMS* given) {
    return change(executable, node, 0, [given](GraphNode& of) { return set_kernel(of, given, false); });
}
// Attributes that change what a launch does; the others are hints.
HEDDLE_API CUresult cuGraphKernelNodeSetAttribute(GraphNode* node, unsigned attribute, const decltype(CUlaunchAttribute::value)* value) {
    return change(node, 0, [&](GraphNode& of) {
        Graph::Node::Kernel kernel = of.kernel;
        if (attribute == kAttributeCooperative) kernel.shape.cooperative = value->cooperative != 0;
        if (attribute == kAttributeCluster) std::copy(std::begin(value->cluster), std::end(value->cluster), kernel.shape.cluster);
        if (attribute == kAttributeProgrammatic) kernel.shape.programmatic = value->programmatic != 0;
        return of.set_kernel(std::move(kernel));
    });
}
HEDDLE_API CUresult cuGraphKernelNodeGetAttribute(GraphNode* node, unsigned attribute, decltype(CUlaunchAttribute::value)* value) {
    return change(node, 0, [&](GraphNode& of) {
        std::memset(value, 0, sizeof *value);
        if (attribute == kAttributeCooperative) value->cooperative = of.kernel.shape.cooperative;
        if (attribute == kAttributeCluster) std::copy(std::begin(of.kernel.shape.cluster), std::end(of.kernel.shape.cluster), value->cluster);
        if (attribute == kAttributeProgrammatic) value->programmatic = of.kernel.shape.programmatic;
        return CUDA_SUCCESS;
    });
}
HEDDLE_API CUresult cuGraphKernelNodeCopyAttributes(GraphNode* to, GraphNode* from) {
    if (from == nullptr || from->type != 0) return CUDA_ERROR_INVALID_VALUE;
    return change(to, 0, [from](GraphNode& of) {
        Graph::Node::Kernel kernel = of.kernel;
        kernel.shape.cooperative = from->kernel.shape.cooperative;
        kernel.shape.programmatic = from->kernel.shape.programmatic;
        std::copy(std::begin(from->kernel.shape.cluster), std::end(from->kernel.shape.cluster), kernel.shape.cluster);
        return of.set_kernel(std::move(kernel));
    });
}
// NOLINTBEGIN(bugprone-macro-parentheses): an argument is a type
#define HEDDLE_NODE_PARAMETERS(KIND, TYPE, NUMBER, MEMBER, SET)                                                                         \
    HEDDLE_API CUresult cuGraph##KIND##NodeGetParams(GraphNode* node, TYPE* out) {                                                      \
        return change(node, NUMBER, [out](GraphNode& of) { return *out = of.MEMBER, CUDA_SUCCESS; });                                   \
    }                                                                                                                                   \
    HEDDLE_API CUresult cuGraph##KIND##NodeSetParams(GraphNode* node, const TYPE* given) {                                              \
        return change(node, NUMBER, [given](GraphNode& of) { return of.SET(*given); });                                                 \
    }
// NOLINTEND(bugprone-macro-parentheses)
HEDDLE_NODE_PARAMETERS(Memcpy, CUDA_MEMCPY3D, 1, copy, set_copy)
HEDDLE_NODE_PARAMETERS(Memset, CUDA_MEMSET_NODE_PARAMS, 2, fill, set_fill)
HEDDLE_NODE_PARAMETERS(Host, CUDA_HOST_NODE_PARAMS, 3, host, set_host)
HEDDLE_API CUresult cuGraphExecMemcpyNodeSetParams(GraphExec* executable, GraphNode* node, const CUDA_MEMCPY3D* given, CUcontext) {
    return change(executable, node, 1, [given](GraphNode& of) { return of.set_copy(*given); });
}
HEDDLE_API CUresult cuGraphExecMemsetNodeSetParams(GraphExec* executable, GraphNode* node, const CUDA_MEMSET_NODE_PARAMS* given, CUcontext) {
    return change(executable, node, 2, [given](GraphNode& of) { return of.set_fill(*given); });
}
HEDDLE_API CUresult cuGraphExecHostNodeSetParams(GraphExec* executable, GraphNode* node, const CUDA_HOST_NODE_PARAMS* given) {
    return change(executable, node, 3, [given](GraphNode& of) { return of.set_host(*given); });
}
HEDDLE_API CUresult cuGraphChildGraphNodeGetGraph(GraphNode* node, Graph** graph) {
    return change(node, 4, [graph](GraphNode& of) { return *graph = of.child.get(), CUDA_SUCCESS; });
}
HEDDLE_API CUresult cuGraphExecChildGraphNodeSetParams(GraphExec* executable, GraphNode* node, const Graph* child) {
    return change(executable, node, 4, [child](GraphNode& of) { return set_child_of_executable(of, child); });
}
#define HEDDLE_EVENT_NODE(KIND, NUMBER)                                                                                                                            \
    HEDDLE_API CUresult cuGraphEvent##KIND##NodeGetEvent(GraphNode* node, CUevent* out) {                                                                          \
        return change(node, NUMBER, [out](GraphNode& of) { return *out = of.event, CUDA_SUCCESS; });                                                               \
    }                                                                                                                                                              \
    HEDDLE_API CUresult cuGraphEvent##KIND##NodeSetEvent(GraphNode* node, CUevent event) {                                                                         \
        return change(node, NUMBER, [event](GraphNode& of) { return of.set_event(event); });                                                                       \
    }                                                                                                                                                              \
    HEDDLE_API CUresult cuGraphExecEvent##KIND##NodeSetEvent(GraphExec* executable, GraphNode* node, CUevent event) {                                              \
        return change(executable, node, NUMBER, [event](GraphNode& of) { return of.set_event(event); });                                                           \
    }
HEDDLE_EVENT_NODE(Wait, 6)
HEDDLE_EVENT_NODE(Record, 7)
HEDDLE_API CUresult cuGraphMemAllocNodeGetParams(GraphNode* node, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
    return change(node, 10, [out](GraphNode& of) {
        *out = {};
        out->poolProps.allocType = 1;
        out->poolProps.location = {1, of.device};
        out->bytesize = of.memory->bytes;
        out->dptr = of.memory->address;
        return CUDA_SUCCESS;
    });
}
HEDDLE_API CUresult cuGraphMemFreeNodeGetParams(GraphNode* node, CUdeviceptr* out) {
    return change(node, 11, [out](GraphNode& of) { return *out = of.freed, CUDA_SUCCESS; });
}
HEDDLE_API CUresult cuGraphNodeSetParams(GraphNode* node, char* given) {
    HEDDLE_CALL;
    if (node == nullptr || given == nullptr || std::memcmp(given, &node->type, sizeof node->type) != 0 || node->type == 10) return CUDA_ERROR_INVALID_VALUE;
    return set_any(*node, given);
}
HEDDLE_API CUresult cuGraphExecNodeSetParams(GraphExec* executable, GraphNode* original, char* given) {
    HEDDLE_CALL;
    GraphNode* const node = node_in(executable, original);
    if (node != nullptr && node->type == 4 && given != nullptr) {
        const Graph* child = nullptr;
        std::memcpy(&child, given + 16, sizeof child);  // NOLINT(bugprone-sizeof-expression)
        return set_child_of_executable(*node, child);
    }
    return cuGraphNodeSetParams(node, given);
}

// Executable graphs.
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
    if (on.capture == nullptr) return run(*executable, on);
    submit(stream, 4, nullptr);
    return on.last.front()->set_child(*executable->graph);
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

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuGraphInstantiateWithParams, _ptsz)
HEDDLE_PER_THREAD(cuGraphLaunch, _ptsz)
HEDDLE_PER_THREAD(cuGraphUpload, _ptsz)
HEDDLE_PER_THREAD(cuStreamBeginCapture, _ptsz)
HEDDLE_PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz)
HEDDLE_PER_THREAD(cuStreamBeginCapture_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamEndCapture, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz)
HEDDLE_PER_THREAD(cuStreamIsCapturing, _ptsz)
HEDDLE_PER_THREAD(cuStreamUpdateCaptureDependencies, _ptsz)
HEDDLE_PER_THREAD(cuStreamUpdateCaptureDependencies_v2, _ptsz)
