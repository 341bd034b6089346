// Graphs, as the runtime names them. Where it describes a kernel or a copy in another way than the driver, that is translated here.
#include <cstring>

#include "driver/cuda/per_thread.h"
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
CUDA_MEMCPY3D line(void* to, const void* from, std::size_t bytes) {
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

}  // namespace

HEDDLE_API cudaError_t cudaGraphCreate(Graph** graph, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuGraphCreate(graph, flags));
}
HEDDLE_API cudaError_t cudaGraphDestroy(Graph* graph) {
    HEDDLE_CALL;
    return remember(cuGraphDestroy(graph));
}
HEDDLE_API cudaError_t cudaGraphClone(Graph** copy, const Graph* graph) {
    HEDDLE_CALL;
    return remember(cuGraphClone(copy, graph));
}
HEDDLE_API cudaError_t cudaGraphNodeFindInClone(GraphNode** node, const GraphNode* original, const Graph* copy) {
    HEDDLE_CALL;
    return remember(cuGraphNodeFindInClone(node, original, copy));
}
HEDDLE_API cudaError_t cudaGraphDestroyNode(GraphNode* node) {
    HEDDLE_CALL;
    return remember(cuGraphDestroyNode(node));
}
HEDDLE_API cudaError_t cudaGraphNodeGetType(GraphNode* node, unsigned* type) {
    HEDDLE_CALL;
    return remember(cuGraphNodeGetType(node, type));
}
HEDDLE_API cudaError_t cudaGraphInstantiate(GraphExec** executable, const Graph* graph, unsigned long long flags) {
    HEDDLE_CALL;
    return remember(cuGraphInstantiateWithFlags(executable, graph, flags));
}
HEDDLE_API cudaError_t cudaGraphInstantiateWithFlags(GraphExec** executable, const Graph* graph, unsigned long long flags) {
    HEDDLE_CALL;
    return remember(cuGraphInstantiateWithFlags(executable, graph, flags));
}
HEDDLE_API cudaError_t cudaGraphInstantiateWithParams(GraphExec** executable, const Graph* graph, void* parameters) {
    HEDDLE_CALL;
    return remember(cuGraphInstantiateWithParams(executable, graph, parameters));
}
HEDDLE_API cudaError_t cudaGraphExecUpdate(GraphExec* executable, const Graph* graph, CUgraphExecUpdateResultInfo* result) {
    HEDDLE_CALL;
    return remember(cuGraphExecUpdate_v2(executable, graph, result));
}
HEDDLE_API cudaError_t cudaGraphExecGetFlags(GraphExec* executable, unsigned long long* flags) {
    HEDDLE_CALL;
    return remember(cuGraphExecGetFlags(executable, flags));
}
HEDDLE_API cudaError_t cudaGraphExecDestroy(GraphExec* executable) {
    HEDDLE_CALL;
    return remember(cuGraphExecDestroy(executable));
}
HEDDLE_API cudaError_t cudaGraphUpload(GraphExec* executable, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuGraphUpload(executable, stream));
}
HEDDLE_API cudaError_t cudaGraphLaunch(GraphExec* executable, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuGraphLaunch(executable, stream));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphAddDependencies)(Graph* graph, GraphNode* const* from, GraphNode* const* to, const CUgraphEdgeData* data, std::size_t count) {
    HEDDLE_CALL;
    return remember(cuGraphAddDependencies_v2(graph, from, to, data, count));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphRemoveDependencies)(Graph* graph, GraphNode* const* from, GraphNode* const* to, const CUgraphEdgeData* data, std::size_t count) {
    HEDDLE_CALL;
    return remember(cuGraphRemoveDependencies_v2(graph, from, to, data, count));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphGetEdges)(Graph* graph, GraphNode** from, GraphNode** to, CUgraphEdgeData* data, std::size_t* count) {
    HEDDLE_CALL;
    return remember(cuGraphGetEdges_v2(graph, from, to, data, count));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphNodeGetDependencies)(GraphNode* node, GraphNode** before, CUgraphEdgeData* data, std::size_t* count) {
    HEDDLE_CALL;
    return remember(cuGraphNodeGetDependencies_v2(node, before, data, count));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphNodeGetDependentNodes)(GraphNode* node, GraphNode** behind, CUgraphEdgeData* data, std::size_t* count) {
    HEDDLE_CALL;
    return remember(cuGraphNodeGetDependentNodes_v2(node, behind, data, count));
}
HEDDLE_API cudaError_t cudaGraphGetNodes(Graph* graph, GraphNode** nodes, std::size_t* count) {
    HEDDLE_CALL;
    return remember(cuGraphGetNodes(graph, nodes, count));
}
HEDDLE_API cudaError_t cudaGraphGetRootNodes(Graph* graph, GraphNode** nodes, std::size_t* count) {
    HEDDLE_CALL;
    return remember(cuGraphGetRootNodes(graph, nodes, count));
}
HEDDLE_API cudaError_t cudaGraphDebugDotPrint(Graph* graph, const char* path, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuGraphDebugDotPrint(graph, path, flags));
}
HEDDLE_API cudaError_t cudaGraphNodeSetEnabled(GraphExec* executable, GraphNode* node, unsigned enabled) {
    HEDDLE_CALL;
    return remember(cuGraphNodeSetEnabled(executable, node, enabled));
}
HEDDLE_API cudaError_t cudaGraphNodeGetEnabled(GraphExec* executable, GraphNode* node, unsigned* enabled) {
    HEDDLE_CALL;
    return remember(cuGraphNodeGetEnabled(executable, node, enabled));
}

// Kernels.
HEDDLE_API cudaError_t cudaGraphAddKernelNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const cudaKernelNodeParams* given) {
    HEDDLE_CALL;
    CUDA_KERNEL_NODE_PARAMS translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphAddKernelNode_v2(node, graph, after, count, &translated));
}
HEDDLE_API cudaError_t cudaGraphKernelNodeSetParams(GraphNode* node, const cudaKernelNodeParams* given) {
    HEDDLE_CALL;
    CUDA_KERNEL_NODE_PARAMS translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphKernelNodeSetParams_v2(node, &translated));
}
HEDDLE_API cudaError_t cudaGraphExecKernelNodeSetParams(GraphExec* executable, GraphNode* node, const cudaKernelNodeParams* given) {
    HEDDLE_CALL;
    CUDA_KERNEL_NODE_PARAMS translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphExecKernelNodeSetParams_v2(executable, node, &translated));
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
HEDDLE_API cudaError_t cudaGraphKernelNodeSetAttribute(GraphNode* node, unsigned attribute, const void* value) {
    HEDDLE_CALL;
    return remember(cuGraphKernelNodeSetAttribute(node, attribute, value));
}
HEDDLE_API cudaError_t cudaGraphKernelNodeGetAttribute(GraphNode* node, unsigned attribute, void* value) {
    HEDDLE_CALL;
    return remember(cuGraphKernelNodeGetAttribute(node, attribute, value));
}
HEDDLE_API cudaError_t cudaGraphKernelNodeCopyAttributes(GraphNode* to, GraphNode* from) {
    HEDDLE_CALL;
    return remember(cuGraphKernelNodeCopyAttributes(to, from));
}

// Copies.
HEDDLE_API cudaError_t cudaGraphAddMemcpyNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const cudaMemcpy3DParms* given) {
    HEDDLE_CALL;
    CUDA_MEMCPY3D translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphAddMemcpyNode(node, graph, after, count, &translated, nullptr));
}
HEDDLE_API cudaError_t cudaGraphMemcpyNodeSetParams(GraphNode* node, const cudaMemcpy3DParms* given) {
    HEDDLE_CALL;
    CUDA_MEMCPY3D translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphMemcpyNodeSetParams(node, &translated));
}
HEDDLE_API cudaError_t cudaGraphExecMemcpyNodeSetParams(GraphExec* executable, GraphNode* node, const cudaMemcpy3DParms* given) {
    HEDDLE_CALL;
    CUDA_MEMCPY3D translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphExecMemcpyNodeSetParams(executable, node, &translated, nullptr));
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
HEDDLE_API cudaError_t cudaGraphAddMemcpyNode1D(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, void* to, const void* from, std::size_t bytes, int) {
    HEDDLE_CALL;
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphAddMemcpyNode(node, graph, after, count, &whole, nullptr));
}
HEDDLE_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int) {
    HEDDLE_CALL;
    void* to = nullptr;
    if (const cudaError_t status = part_of_symbol(symbol, offset, bytes, &to); status != cudaSuccess) return remember(status);
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphAddMemcpyNode(node, graph, after, count, &whole, nullptr));
}
HEDDLE_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int) {
    HEDDLE_CALL;
    void* from = nullptr;
    if (const cudaError_t status = part_of_symbol(symbol, offset, bytes, &from); status != cudaSuccess) return remember(status);
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphAddMemcpyNode(node, graph, after, count, &whole, nullptr));
}
HEDDLE_API cudaError_t cudaGraphMemcpyNodeSetParams1D(GraphNode* node, void* to, const void* from, std::size_t bytes, int) {
    HEDDLE_CALL;
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphMemcpyNodeSetParams(node, &whole));
}
HEDDLE_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(GraphNode* node, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int) {
    HEDDLE_CALL;
    void* to = nullptr;
    if (const cudaError_t status = part_of_symbol(symbol, offset, bytes, &to); status != cudaSuccess) return remember(status);
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphMemcpyNodeSetParams(node, &whole));
}
HEDDLE_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(GraphNode* node, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int) {
    HEDDLE_CALL;
    void* from = nullptr;
    if (const cudaError_t status = part_of_symbol(symbol, offset, bytes, &from); status != cudaSuccess) return remember(status);
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphMemcpyNodeSetParams(node, &whole));
}
HEDDLE_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(GraphExec* executable, GraphNode* node, void* to, const void* from, std::size_t bytes, int) {
    HEDDLE_CALL;
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphExecMemcpyNodeSetParams(executable, node, &whole, nullptr));
}
HEDDLE_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(GraphExec* executable, GraphNode* node, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int) {
    HEDDLE_CALL;
    void* to = nullptr;
    if (const cudaError_t status = part_of_symbol(symbol, offset, bytes, &to); status != cudaSuccess) return remember(status);
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphExecMemcpyNodeSetParams(executable, node, &whole, nullptr));
}
HEDDLE_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec* executable, GraphNode* node, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int) {
    HEDDLE_CALL;
    void* from = nullptr;
    if (const cudaError_t status = part_of_symbol(symbol, offset, bytes, &from); status != cudaSuccess) return remember(status);
    const CUDA_MEMCPY3D whole = line(to, from, bytes);
    return remember(cuGraphExecMemcpyNodeSetParams(executable, node, &whole, nullptr));
}

// Everything else is described as the driver does.
HEDDLE_API cudaError_t cudaGraphAddMemsetNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_MEMSET_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphAddMemsetNode(node, graph, after, count, given, nullptr));
}
HEDDLE_API cudaError_t cudaGraphMemsetNodeGetParams(GraphNode* node, CUDA_MEMSET_NODE_PARAMS* out) {
    HEDDLE_CALL;
    return remember(cuGraphMemsetNodeGetParams(node, out));
}
HEDDLE_API cudaError_t cudaGraphMemsetNodeSetParams(GraphNode* node, const CUDA_MEMSET_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphMemsetNodeSetParams(node, given));
}
HEDDLE_API cudaError_t cudaGraphExecMemsetNodeSetParams(GraphExec* executable, GraphNode* node, const CUDA_MEMSET_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphExecMemsetNodeSetParams(executable, node, given, nullptr));
}
HEDDLE_API cudaError_t cudaGraphAddHostNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const CUDA_HOST_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphAddHostNode(node, graph, after, count, given));
}
HEDDLE_API cudaError_t cudaGraphHostNodeGetParams(GraphNode* node, CUDA_HOST_NODE_PARAMS* out) {
    HEDDLE_CALL;
    return remember(cuGraphHostNodeGetParams(node, out));
}
HEDDLE_API cudaError_t cudaGraphHostNodeSetParams(GraphNode* node, const CUDA_HOST_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphHostNodeSetParams(node, given));
}
HEDDLE_API cudaError_t cudaGraphExecHostNodeSetParams(GraphExec* executable, GraphNode* node, const CUDA_HOST_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphExecHostNodeSetParams(executable, node, given));
}
HEDDLE_API cudaError_t cudaGraphAddChildGraphNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const Graph* child) {
    HEDDLE_CALL;
    return remember(cuGraphAddChildGraphNode(node, graph, after, count, child));
}
HEDDLE_API cudaError_t cudaGraphChildGraphNodeGetGraph(GraphNode* node, Graph** graph) {
    HEDDLE_CALL;
    return remember(cuGraphChildGraphNodeGetGraph(node, graph));
}
HEDDLE_API cudaError_t cudaGraphExecChildGraphNodeSetParams(GraphExec* executable, GraphNode* node, const Graph* child) {
    HEDDLE_CALL;
    return remember(cuGraphExecChildGraphNodeSetParams(executable, node, child));
}
HEDDLE_API cudaError_t cudaGraphAddEmptyNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count) {
    HEDDLE_CALL;
    return remember(cuGraphAddEmptyNode(node, graph, after, count));
}
HEDDLE_API cudaError_t cudaGraphAddEventWaitNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUevent event) {
    HEDDLE_CALL;
    return remember(cuGraphAddEventWaitNode(node, graph, after, count, event));
}
HEDDLE_API cudaError_t cudaGraphEventWaitNodeGetEvent(GraphNode* node, CUevent* event) {
    HEDDLE_CALL;
    return remember(cuGraphEventWaitNodeGetEvent(node, event));
}
HEDDLE_API cudaError_t cudaGraphEventWaitNodeSetEvent(GraphNode* node, CUevent event) {
    HEDDLE_CALL;
    return remember(cuGraphEventWaitNodeSetEvent(node, event));
}
HEDDLE_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(GraphExec* executable, GraphNode* node, CUevent event) {
    HEDDLE_CALL;
    return remember(cuGraphExecEventWaitNodeSetEvent(executable, node, event));
}
HEDDLE_API cudaError_t cudaGraphAddEventRecordNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUevent event) {
    HEDDLE_CALL;
    return remember(cuGraphAddEventRecordNode(node, graph, after, count, event));
}
HEDDLE_API cudaError_t cudaGraphEventRecordNodeGetEvent(GraphNode* node, CUevent* event) {
    HEDDLE_CALL;
    return remember(cuGraphEventRecordNodeGetEvent(node, event));
}
HEDDLE_API cudaError_t cudaGraphEventRecordNodeSetEvent(GraphNode* node, CUevent event) {
    HEDDLE_CALL;
    return remember(cuGraphEventRecordNodeSetEvent(node, event));
}
HEDDLE_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(GraphExec* executable, GraphNode* node, CUevent event) {
    HEDDLE_CALL;
    return remember(cuGraphExecEventRecordNodeSetEvent(executable, node, event));
}
HEDDLE_API cudaError_t cudaGraphAddMemAllocNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* given) {
    HEDDLE_CALL;
    return remember(cuGraphAddMemAllocNode(node, graph, after, count, given));
}
HEDDLE_API cudaError_t cudaGraphMemAllocNodeGetParams(GraphNode* node, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
    HEDDLE_CALL;
    return remember(cuGraphMemAllocNodeGetParams(node, out));
}
HEDDLE_API cudaError_t cudaGraphAddMemFreeNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, const void* address) {
    HEDDLE_CALL;
    return remember(cuGraphAddMemFreeNode(node, graph, after, count, number(address)));
}
HEDDLE_API cudaError_t cudaGraphMemFreeNodeGetParams(GraphNode* node, CUdeviceptr* out) {
    HEDDLE_CALL;
    return remember(cuGraphMemFreeNodeGetParams(node, out));
}
HEDDLE_API cudaError_t cudaDeviceGraphMemTrim(int device) {
    HEDDLE_CALL;
    return remember(cuDeviceGraphMemTrim(device));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaGraphAddNode)(GraphNode** node, Graph* graph, GraphNode* const* after, const CUgraphEdgeData* data, std::size_t count, AnyNode* given) {
    HEDDLE_CALL;
    AnyNode translated;
    cudaError_t status = to_driver(given, &translated);
    if (status == cudaSuccess) status = cuGraphAddNode_v2(node, graph, after, data, count, &translated);
    if (status == cudaSuccess && given->type == 10) *given = translated;  // with the address
    return remember(status);
}
HEDDLE_API cudaError_t cudaGraphNodeSetParams(GraphNode* node, const AnyNode* given) {
    HEDDLE_CALL;
    AnyNode translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphNodeSetParams(node, &translated));
}
HEDDLE_API cudaError_t cudaGraphExecNodeSetParams(GraphExec* executable, GraphNode* node, const AnyNode* given) {
    HEDDLE_CALL;
    AnyNode translated;
    const cudaError_t status = to_driver(given, &translated);
    return remember(status != cudaSuccess ? status : cuGraphExecNodeSetParams(executable, node, &translated));
}
HEDDLE_API cudaError_t cudaUserObjectCreate(UserObject** object, void* data, void (*destroy)(void*), unsigned count, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuUserObjectCreate(object, data, destroy, count, flags));
}
HEDDLE_API cudaError_t cudaUserObjectRetain(UserObject* object, unsigned count) {
    HEDDLE_CALL;
    return remember(cuUserObjectRetain(object, count));
}
HEDDLE_API cudaError_t cudaUserObjectRelease(UserObject* object, unsigned count) {
    HEDDLE_CALL;
    return remember(cuUserObjectRelease(object, count));
}
HEDDLE_API cudaError_t cudaGraphRetainUserObject(Graph* graph, UserObject* object, unsigned count, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuGraphRetainUserObject(graph, object, count, flags));
}
HEDDLE_API cudaError_t cudaGraphReleaseUserObject(Graph* graph, UserObject* object, unsigned count) {
    HEDDLE_CALL;
    return remember(cuGraphReleaseUserObject(graph, object, count));
}

// Capture.
HEDDLE_API cudaError_t cudaStreamBeginCapture(CUstream stream, int mode) {
    HEDDLE_CALL;
    return remember(cuStreamBeginCapture_v2(stream, mode));
}
HEDDLE_API cudaError_t cudaStreamBeginCaptureToGraph(CUstream stream, Graph* graph, GraphNode* const* after, const CUgraphEdgeData* data, std::size_t count, int mode) {
    HEDDLE_CALL;
    return remember(cuStreamBeginCaptureToGraph(stream, graph, after, data, count, mode));
}
HEDDLE_API cudaError_t cudaStreamEndCapture(CUstream stream, Graph** graph) {
    HEDDLE_CALL;
    return remember(cuStreamEndCapture(stream, graph));
}
HEDDLE_API cudaError_t cudaStreamIsCapturing(CUstream stream, int* state) {
    HEDDLE_CALL;
    return remember(cuStreamIsCapturing(stream, state));
}
#if HEDDLE_CUDART == 12
#define HEDDLE_CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#else
#define HEDDLE_CAPTURE_INFO cudaStreamGetCaptureInfo
#endif
HEDDLE_API cudaError_t HEDDLE_CAPTURE_INFO(CUstream stream, int* state, unsigned long long* id, Graph** graph, GraphNode* const** after, const CUgraphEdgeData** data, std::size_t* count) {
    HEDDLE_CALL;
    return remember(cuStreamGetCaptureInfo_v3(stream, state, id, graph, after, data, count));
}
HEDDLE_API cudaError_t HEDDLE_NEWEST(cudaStreamUpdateCaptureDependencies)(CUstream stream, GraphNode* const* after, const CUgraphEdgeData* data, std::size_t count, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuStreamUpdateCaptureDependencies_v2(stream, after, data, count, flags));
}
HEDDLE_API cudaError_t cudaThreadExchangeStreamCaptureMode(int*) { return cudaSuccess; }

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaGraphInstantiateWithParams, _ptsz)
HEDDLE_PER_THREAD(cudaGraphLaunch, _ptsz)
HEDDLE_PER_THREAD(cudaGraphUpload, _ptsz)
HEDDLE_PER_THREAD(cudaStreamBeginCapture, _ptsz)
HEDDLE_PER_THREAD(cudaStreamBeginCaptureToGraph, _ptsz)
HEDDLE_PER_THREAD(cudaStreamEndCapture, _ptsz)
HEDDLE_PER_THREAD(HEDDLE_CAPTURE_INFO, _ptsz)
HEDDLE_PER_THREAD(cudaStreamIsCapturing, _ptsz)
HEDDLE_PER_THREAD(HEDDLE_NEWEST(cudaStreamUpdateCaptureDependencies), _ptsz)
