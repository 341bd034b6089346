// What the interface of CUDA 12 has and that of 13 no longer has: older forms of functions, and a few names.
#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

extern "C" {
cudaError_t cudaMemPrefetchAsync_v2(const void*, std::size_t, cudaMemLocation, unsigned, CUstream);
cudaError_t cudaMemAdvise_v2(const void*, std::size_t, int, cudaMemLocation);
cudaError_t cudaGraphAddDependencies_v2(Graph*, GraphNode* const*, GraphNode* const*, const CUgraphEdgeData*, std::size_t);
cudaError_t cudaGraphRemoveDependencies_v2(Graph*, GraphNode* const*, GraphNode* const*, const CUgraphEdgeData*, std::size_t);
cudaError_t cudaGraphGetEdges_v2(Graph*, GraphNode**, GraphNode**, CUgraphEdgeData*, std::size_t*);
cudaError_t cudaGraphNodeGetDependencies_v2(GraphNode*, GraphNode**, CUgraphEdgeData*, std::size_t*);
cudaError_t cudaGraphNodeGetDependentNodes_v2(GraphNode*, GraphNode**, CUgraphEdgeData*, std::size_t*);
cudaError_t cudaGraphAddNode_v2(GraphNode**, Graph*, GraphNode* const*, const CUgraphEdgeData*, std::size_t, void*);
cudaError_t cudaStreamGetCaptureInfo_v3(CUstream, int*, unsigned long long*, Graph**, GraphNode* const**, const CUgraphEdgeData**, std::size_t*);
cudaError_t cudaStreamUpdateCaptureDependencies_v2(CUstream, GraphNode* const*, const CUgraphEdgeData*, std::size_t, unsigned);
cudaError_t cudaEventElapsedTime(float*, CUevent, CUevent);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceGetLimit(std::size_t*, unsigned);
cudaError_t cudaDeviceSetLimit(unsigned, std::size_t);
cudaError_t cudaDeviceGetCacheConfig(int*);
cudaError_t cudaDeviceSetCacheConfig(int);
}

namespace {

/// A device by its number; -1 is the host.
cudaMemLocation location_of(int device) {
    return device < 0 ? cudaMemLocation{2, 0} : cudaMemLocation{1, device};
}

}  // namespace

HEDDLE_API cudaError_t cudaMemPrefetchAsync(const void* address, std::size_t bytes, int device, CUstream stream) { return cudaMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream); }
HEDDLE_API cudaError_t cudaMemAdvise(const void* address, std::size_t bytes, int advice, int device) { return cudaMemAdvise_v2(address, bytes, advice, location_of(device)); }
HEDDLE_API cudaError_t cudaGraphAddDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count) { return cudaGraphAddDependencies_v2(graph, from, to, nullptr, count); }
HEDDLE_API cudaError_t cudaGraphRemoveDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count) { return cudaGraphRemoveDependencies_v2(graph, from, to, nullptr, count); }
HEDDLE_API cudaError_t cudaGraphGetEdges(Graph* graph, GraphNode** from, GraphNode** to, std::size_t* count) { return cudaGraphGetEdges_v2(graph, from, to, nullptr, count); }
HEDDLE_API cudaError_t cudaGraphNodeGetDependencies(GraphNode* node, GraphNode** before, std::size_t* count) { return cudaGraphNodeGetDependencies_v2(node, before, nullptr, count); }
HEDDLE_API cudaError_t cudaGraphNodeGetDependentNodes(GraphNode* node, GraphNode** behind, std::size_t* count) { return cudaGraphNodeGetDependentNodes_v2(node, behind, nullptr, count); }
HEDDLE_API cudaError_t cudaGraphAddNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count, void* given) { return cudaGraphAddNode_v2(node, graph, after, nullptr, count, given); }
HEDDLE_API cudaError_t cudaStreamGetCaptureInfo_v2(CUstream stream, int* state, unsigned long long* id, Graph** graph, GraphNode* const** after, std::size_t* count) {
    return cudaStreamGetCaptureInfo_v3(stream, state, id, graph, after, nullptr, count);
}
HEDDLE_API cudaError_t cudaStreamGetCaptureInfo(CUstream stream, int* state, unsigned long long* id) { return cudaStreamGetCaptureInfo_v3(stream, state, id, nullptr, nullptr, nullptr, nullptr); }
HEDDLE_API cudaError_t cudaStreamUpdateCaptureDependencies(CUstream stream, GraphNode* const* after, std::size_t count, unsigned flags) {
    return cudaStreamUpdateCaptureDependencies_v2(stream, after, nullptr, count, flags);
}
HEDDLE_API cudaError_t cudaEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) { return cudaEventElapsedTime(milliseconds, from, to); }
HEDDLE_API cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
HEDDLE_API cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
HEDDLE_API cudaError_t cudaThreadGetLimit(std::size_t* value, unsigned limit) { return cudaDeviceGetLimit(value, limit); }
HEDDLE_API cudaError_t cudaThreadSetLimit(unsigned limit, std::size_t value) { return cudaDeviceSetLimit(limit, value); }
HEDDLE_API cudaError_t cudaThreadGetCacheConfig(int* config) { return cudaDeviceGetCacheConfig(config); }
HEDDLE_API cudaError_t cudaThreadSetCacheConfig(int config) { return cudaDeviceSetCacheConfig(config); }

HEDDLE_PER_THREAD(cudaMemPrefetchAsync, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetCaptureInfo, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetCaptureInfo_v2, _ptsz)
HEDDLE_PER_THREAD(cudaStreamUpdateCaptureDependencies, _ptsz)
