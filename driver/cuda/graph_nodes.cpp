// What nodes of graphs are made of: added, got and set, also in executable graphs.
#include <algorithm>
#include <cstring>

#include "driver/cuda/graph.h"
#include "driver/cuda/launch.h"

using namespace heddle::driver;

namespace {

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
HEDDLE_API CUresult cuGraphKernelNodeSetAttribute(GraphNode* node, unsigned attribute, const Value* value) {
    return change(node, 0, [&](GraphNode& of) {
        Graph::Node::Kernel kernel = of.kernel;
        const CUresult status = set_attribute(kernel.shape, attribute, *value);
        return status != CUDA_SUCCESS ? status : of.set_kernel(std::move(kernel));
    });
}
HEDDLE_API CUresult cuGraphKernelNodeGetAttribute(GraphNode* node, unsigned attribute, Value* value) {
    return change(node, 0, [&](GraphNode& of) { return get_attribute(of.kernel.shape, attribute, *value); });
}
HEDDLE_API CUresult cuGraphKernelNodeCopyAttributes(GraphNode* to, GraphNode* from) {
    if (from == nullptr || from->type != 0) return CUDA_ERROR_INVALID_VALUE;
    return change(to, 0, [from](GraphNode& of) {
        Graph::Node::Kernel kernel = of.kernel;
        const Shape shape = kernel.shape;
        kernel.shape = from->kernel.shape;
        std::copy(std::begin(shape.grid), std::end(shape.grid), kernel.shape.grid);
        std::copy(std::begin(shape.block), std::end(shape.block), kernel.shape.block);
        kernel.shape.shared_bytes = shape.shared_bytes;
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
