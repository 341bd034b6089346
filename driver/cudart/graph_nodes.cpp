// Parameters of a graph's nodes, as the runtime describes them; what it says in another way than the driver is translated here.
#include <cstring>

#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

namespace {

/// cudaKernelNodeParams: as the driver's, but for the function, which is one of the host.
struct cudaKernelNodeParams {
    const void* function;
    unsigned grid[3], block[3], shared_bytes;
    void **parameters, **extra;
};

cudaError_t to_driver(const cudaKernelNodeParams* given, CUDA_KERNEL_NODE_PARAMS* out) {
    if (given == nullptr) return cudaErrorInvalidValue;
    *out = {};
    if (const cudaError_t status = function_of(given->function, &out->func); status != cudaSuccess) return status;
    std::memcpy(out->grid, given->grid, sizeof out->grid);
    std::memcpy(out->block, given->block, sizeof out->block);
    out->sharedMemBytes = given->shared_bytes;
    out->kernelParams = given->parameters;
    out->extra = given->extra;
    return cudaSuccess;
}

cudaError_t to_driver(const cudaMemcpy3DParms* given, CUDA_MEMCPY3D* out) {
    if (given == nullptr) return cudaErrorInvalidValue;
    if (given->srcArray != nullptr || given->dstArray != nullptr) return heddle_missing("copies of arrays in graphs");
    *out = {};
    out->srcMemoryType = out->dstMemoryType = 4;
    out->srcXInBytes = given->srcPos.x;
    out->srcY = given->srcPos.y;
    out->srcZ = given->srcPos.z;
    out->srcDevice = number(given->srcPtr.ptr);
    out->srcPitch = given->srcPtr.pitch;
    out->srcHeight = given->srcPtr.ysize;
    out->dstXInBytes = given->dstPos.x;
    out->dstY = given->dstPos.y;
    out->dstZ = given->dstPos.z;
    out->dstDevice = number(given->dstPtr.ptr);
    out->dstPitch = given->dstPtr.pitch;
    out->dstHeight = given->dstPtr.ysize;
    out->WidthInBytes = given->extent.width;
    out->Height = given->extent.height;
    out->Depth = given->extent.depth;
    return cudaSuccess;
}

/// Bytes in a row.
CUDA_MEMCPY3D copy_of_line(void* to, const void* from, std::size_t bytes) {
    CUDA_MEMCPY3D out{};
    out.srcMemoryType = out.dstMemoryType = 4;
    out.srcDevice = number(from);
    out.dstDevice = number(to);
    out.WidthInBytes = bytes;
    out.Height = out.Depth = 1;
    return out;
}

/// The bytes of a variable from an offset on.
cudaError_t part_of_symbol(const void* symbol, std::size_t offset, std::size_t bytes, void** address) {
    CUdeviceptr at = 0;
    std::size_t size = 0;
    if (const cudaError_t status = variable_of(symbol, &at, &size); status != cudaSuccess) return status;
    if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
    *address = reinterpret_cast<void*>(at + offset);
    return cudaSuccess;
}

/// cudaGraphNodeParams: a type, and from byte 16 on what that type has; in the driver's form.
struct AnyNode {
    unsigned type, reserved[3];
    char parameters[232];
    long long reserved_behind;
};

cudaError_t to_driver(const AnyNode* given, AnyNode* out) {
    if (given == nullptr) return cudaErrorInvalidValue;
    *out = *given;
    if (given->type == 0) {
        cudaKernelNodeParams kernel;
        CUDA_KERNEL_NODE_PARAMS translated;
        std::memcpy(&kernel, given->parameters, sizeof kernel);
        if (const cudaError_t status = to_driver(&kernel, &translated); status != cudaSuccess) return status;
        std::memcpy(out->parameters, &translated, sizeof translated);
    } else if (given->type == 1) {
        cudaMemcpy3DParms copy;
        CUDA_MEMCPY3D translated;
        std::memcpy(&copy, given->parameters + 16, sizeof copy);
        if (const cudaError_t status = to_driver(&copy, &translated); status != cudaSuccess) return status;
        std::memset(out->parameters, 0, 16);
        std::memcpy(out->parameters + 16, &translated, sizeof translated);
    }
    return cudaSuccess;
}

/// Does `call` with what the runtime describes, in the driver's form.
template <class Driver, class Given, class Call>
cudaError_t translated(const Given* given, Call call) {
    HEDDLE_CALL;
    Driver out;
    const cudaError_t status = to_driver(given, &out);
    return remember(status != cudaSuccess ? status : call(&out));
}
template <class Call>
cudaError_t with_kernel(const cudaKernelNodeParams* given, Call call) {
    return translated<CUDA_KERNEL_NODE_PARAMS>(given, call);
}
template <class Call>
cudaError_t with_copy(const cudaMemcpy3DParms* given, Call call) {
    return translated<CUDA_MEMCPY3D>(given, call);
}

/// Does `call` with a copy of bytes in a row, to or from a variable of the program where one is given.
struct Line {
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
    const void* to_symbol = nullptr;
    const void* from_symbol = nullptr;
    std::size_t offset = 0;  ///< in the variable
};
template <class Call>
cudaError_t with_line(Line line, Call call) {
    HEDDLE_CALL;
    void* variable = nullptr;
    if (const void* const symbol = line.to_symbol != nullptr ? line.to_symbol : line.from_symbol; symbol != nullptr) {
        if (const cudaError_t status = part_of_symbol(symbol, line.offset, line.bytes, &variable); status != cudaSuccess) return remember(status);
        if (line.to_symbol != nullptr)
            line.to = variable;
        else
            line.from = variable;
    }
    const CUDA_MEMCPY3D whole = copy_of_line(line.to, line.from, line.bytes);
    return remember(call(&whole));
}

}  // namespace

// Kernels.
HEDDLE_API cudaError_t cudaGraphAddKernelNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const cudaKernelNodeParams* given) {
    return with_kernel(given, [=](const auto* kernel) { return cuGraphAddKernelNode_v2(node, graph, after, count, kernel); });
}
HEDDLE_API cudaError_t cudaGraphKernelNodeSetParams(GraphNode* node, const cudaKernelNodeParams* given) {
    return with_kernel(given, [=](const auto* kernel) { return cuGraphKernelNodeSetParams_v2(node, kernel); });
}
HEDDLE_API cudaError_t cudaGraphExecKernelNodeSetParams(GraphExec* executable, GraphNode* node, const cudaKernelNodeParams* given) {
    return with_kernel(given, [=](const auto* kernel) { return cuGraphExecKernelNodeSetParams_v2(executable, node, kernel); });
}
HEDDLE_API cudaError_t cudaGraphKernelNodeGetParams(GraphNode* node, cudaKernelNodeParams* out) {
    HEDDLE_CALL;
    CUDA_KERNEL_NODE_PARAMS found{};
    if (const CUresult status = cuGraphKernelNodeGetParams_v2(node, &found); status != CUDA_SUCCESS) return remember(status);
    *out = {host_of(found.func), {}, {}, found.sharedMemBytes, found.kernelParams, found.extra};
    std::memcpy(out->grid, found.grid, sizeof out->grid);
    std::memcpy(out->block, found.block, sizeof out->block);
    return cudaSuccess;
}
HEDDLE_PASS(cudaGraphKernelNodeSetAttribute, (GraphNode* node, unsigned attribute, const void* value), cuGraphKernelNodeSetAttribute(node, attribute, value))
HEDDLE_PASS(cudaGraphKernelNodeGetAttribute, (GraphNode* node, unsigned attribute, void* value), cuGraphKernelNodeGetAttribute(node, attribute, value))
HEDDLE_PASS(cudaGraphKernelNodeCopyAttributes, (GraphNode* to, GraphNode* from), cuGraphKernelNodeCopyAttributes(to, from))

// Copies.
HEDDLE_API cudaError_t cudaGraphAddMemcpyNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const cudaMemcpy3DParms* given) {
    return with_copy(given, [=](const auto* copy) { return cuGraphAddMemcpyNode(node, graph, after, count, copy, nullptr); });
}
HEDDLE_API cudaError_t cudaGraphMemcpyNodeSetParams(GraphNode* node, const cudaMemcpy3DParms* given) {
    return with_copy(given, [=](const auto* copy) { return cuGraphMemcpyNodeSetParams(node, copy); });
}
HEDDLE_API cudaError_t cudaGraphExecMemcpyNodeSetParams(GraphExec* executable, GraphNode* node, const cudaMemcpy3DParms* given) {
    return with_copy(given, [=](const auto* copy) { return cuGraphExecMemcpyNodeSetParams(executable, node, copy, nullptr); });
}
HEDDLE_API cudaError_t cudaGraphMemcpyNodeGetParams(GraphNode* node, cudaMemcpy3DParms* out) {
    HEDDLE_CALL;
    CUDA_MEMCPY3D found{};
    if (const CUresult status = cuGraphMemcpyNodeGetParams(node, &found); status != CUDA_SUCCESS) return remember(status);
    *out = {};
    out->srcPos = {found.srcXInBytes, found.srcY, found.srcZ};
    out->srcPtr = {reinterpret_cast<void*>(found.srcDevice), found.srcPitch, found.srcPitch, found.srcHeight};
    out->dstPos = {found.dstXInBytes, found.dstY, found.dstZ};
    out->dstPtr = {reinterpret_cast<void*>(found.dstDevice), found.dstPitch, found.dstPitch, found.dstHeight};
    out->extent = {found.WidthInBytes, found.Height, found.Depth};
    out->kind = 4;
    return cudaSuccess;
}
// Copies of bytes in a row: added, set, and set in an executable graph, each in three forms.
#define HEDDLE_LINE_NODES(FUNCTION, BEFORE, CALL)                                                                                                                     \
    HEDDLE_API cudaError_t FUNCTION##1D(HEDDLE_UNPACK BEFORE, void* to, const void* from, std::size_t bytes, int) { return with_line({to, from, bytes}, CALL); }        \
    HEDDLE_API cudaError_t FUNCTION##ToSymbol(HEDDLE_UNPACK BEFORE, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int) {                 \
        return with_line({nullptr, from, bytes, symbol, nullptr, offset}, CALL);                                                                                        \
    }                                                                                                                                                                   \
    HEDDLE_API cudaError_t FUNCTION##FromSymbol(HEDDLE_UNPACK BEFORE, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int) {                       \
        return with_line({to, nullptr, bytes, nullptr, symbol, offset}, CALL);                                                                                          \
    }
#define HEDDLE_UNPACK(...) __VA_ARGS__
HEDDLE_LINE_NODES(cudaGraphAddMemcpyNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count),
                  [=](const CUDA_MEMCPY3D* copy) { return cuGraphAddMemcpyNode(node, graph, after, count, copy, nullptr); })
HEDDLE_LINE_NODES(cudaGraphMemcpyNodeSetParams, (GraphNode* node), [=](const CUDA_MEMCPY3D* copy) { return cuGraphMemcpyNodeSetParams(node, copy); })
HEDDLE_LINE_NODES(cudaGraphExecMemcpyNodeSetParams, (GraphExec* executable, GraphNode* node),
                  [=](const CUDA_MEMCPY3D* copy) { return cuGraphExecMemcpyNodeSetParams(executable, node, copy, nullptr); })

// Everything else is described as the driver does.
HEDDLE_PASS(cudaGraphAddMemsetNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_MEMSET_NODE_PARAMS* given), cuGraphAddMemsetNode(node, graph, after, count, given, nullptr))
HEDDLE_PASS(cudaGraphMemsetNodeGetParams, (GraphNode* node, CUDA_MEMSET_NODE_PARAMS* out), cuGraphMemsetNodeGetParams(node, out))
HEDDLE_PASS(cudaGraphMemsetNodeSetParams, (GraphNode* node, const CUDA_MEMSET_NODE_PARAMS* given), cuGraphMemsetNodeSetParams(node, given))
HEDDLE_PASS(cudaGraphExecMemsetNodeSetParams, (GraphExec* executable, GraphNode* node, const CUDA_MEMSET_NODE_PARAMS* given), cuGraphExecMemsetNodeSetParams(executable, node, given, nullptr))
HEDDLE_PASS(cudaGraphAddHostNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_HOST_NODE_PARAMS* given), cuGraphAddHostNode(node, graph, after, count, given))
HEDDLE_PASS(cudaGraphHostNodeGetParams, (GraphNode* node, CUDA_HOST_NODE_PARAMS* out), cuGraphHostNodeGetParams(node, out))
HEDDLE_PASS(cudaGraphHostNodeSetParams, (GraphNode* node, const CUDA_HOST_NODE_PARAMS* given), cuGraphHostNodeSetParams(node, given))
HEDDLE_PASS(cudaGraphExecHostNodeSetParams, (GraphExec* executable, GraphNode* node, const CUDA_HOST_NODE_PARAMS* given), cuGraphExecHostNodeSetParams(executable, node, given))
HEDDLE_PASS(cudaGraphAddChildGraphNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const Graph* child), cuGraphAddChildGraphNode(node, graph, after, count, child))
HEDDLE_PASS(cudaGraphChildGraphNodeGetGraph, (GraphNode* node, Graph** graph), cuGraphChildGraphNodeGetGraph(node, graph))
HEDDLE_PASS(cudaGraphExecChildGraphNodeSetParams, (GraphExec* executable, GraphNode* node, const Graph* child), cuGraphExecChildGraphNodeSetParams(executable, node, child))
HEDDLE_PASS(cudaGraphAddEmptyNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count), cuGraphAddEmptyNode(node, graph, after, count))
HEDDLE_PASS(cudaGraphAddEventWaitNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUevent event), cuGraphAddEventWaitNode(node, graph, after, count, event))
HEDDLE_PASS(cudaGraphEventWaitNodeGetEvent, (GraphNode* node, CUevent* event), cuGraphEventWaitNodeGetEvent(node, event))
HEDDLE_PASS(cudaGraphEventWaitNodeSetEvent, (GraphNode* node, CUevent event), cuGraphEventWaitNodeSetEvent(node, event))
HEDDLE_PASS(cudaGraphExecEventWaitNodeSetEvent, (GraphExec* executable, GraphNode* node, CUevent event), cuGraphExecEventWaitNodeSetEvent(executable, node, event))
HEDDLE_PASS(cudaGraphAddEventRecordNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUevent event), cuGraphAddEventRecordNode(node, graph, after, count, event))
HEDDLE_PASS(cudaGraphEventRecordNodeGetEvent, (GraphNode* node, CUevent* event), cuGraphEventRecordNodeGetEvent(node, event))
HEDDLE_PASS(cudaGraphEventRecordNodeSetEvent, (GraphNode* node, CUevent event), cuGraphEventRecordNodeSetEvent(node, event))
HEDDLE_PASS(cudaGraphExecEventRecordNodeSetEvent, (GraphExec* executable, GraphNode* node, CUevent event), cuGraphExecEventRecordNodeSetEvent(executable, node, event))
HEDDLE_PASS(cudaGraphAddMemAllocNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* given), cuGraphAddMemAllocNode(node, graph, after, count, given))
HEDDLE_PASS(cudaGraphMemAllocNodeGetParams, (GraphNode* node, CUDA_MEM_ALLOC_NODE_PARAMS* out), cuGraphMemAllocNodeGetParams(node, out))
HEDDLE_PASS(cudaGraphAddMemFreeNode, (GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const void* address), cuGraphAddMemFreeNode(node, graph, after, count, number(address)))
HEDDLE_PASS(cudaGraphMemFreeNodeGetParams, (GraphNode* node, CUdeviceptr* out), cuGraphMemFreeNodeGetParams(node, out))

// Nodes of any kind.
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphAddNode)(GraphNode** node, Graph* graph, GraphNode* const* after, const CUgraphEdgeData* data, std::size_t count, AnyNode* given) {
    HEDDLE_CALL;
    AnyNode translated;
    cudaError_t status = to_driver(given, &translated);
    if (status == cudaSuccess) status = cuGraphAddNode_v2(node, graph, after, data, count, &translated);
    if (status == cudaSuccess && given->type == 10) *given = translated;  // with the address
    return remember(status);
}
HEDDLE_API cudaError_t cudaGraphNodeSetParams(GraphNode* node, const AnyNode* given) {
    return translated<AnyNode>(given, [=](AnyNode* any) { return cuGraphNodeSetParams(node, any); });
}
HEDDLE_API cudaError_t cudaGraphExecNodeSetParams(GraphExec* executable, GraphNode* node, const AnyNode* given) {
    return translated<AnyNode>(given, [=](AnyNode* any) { return cuGraphExecNodeSetParams(executable, node, any); });
}
