// Graphs, as the runtime names them: what the driver does, under another name. graph_nodes.cpp has the parameters of nodes.
#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

HEDDLE_PASS(cudaGraphCreate, (Graph** graph, unsigned flags), cuGraphCreate(graph, flags))
HEDDLE_PASS(cudaGraphDestroy, (Graph* graph), cuGraphDestroy(graph))
HEDDLE_PASS(cudaGraphClone, (Graph** copy, const Graph* graph), cuGraphClone(copy, graph))
HEDDLE_PASS(cudaGraphNodeFindInClone, (GraphNode** node, const GraphNode* original, const Graph* copy), cuGraphNodeFindInClone(node, original, copy))
HEDDLE_PASS(cudaGraphDestroyNode, (GraphNode* node), cuGraphDestroyNode(node))
HEDDLE_PASS(cudaGraphNodeGetType, (GraphNode* node, unsigned* type), cuGraphNodeGetType(node, type))
HEDDLE_PASS(cudaGraphInstantiate, (GraphExec** executable, const Graph* graph, unsigned long long flags), cuGraphInstantiateWithFlags(executable, graph, flags))
HEDDLE_PASS(cudaGraphInstantiateWithFlags, (GraphExec** executable, const Graph* graph, unsigned long long flags), cuGraphInstantiateWithFlags(executable, graph, flags))
HEDDLE_PASS(cudaGraphInstantiateWithParams, (GraphExec** executable, const Graph* graph, void* parameters), cuGraphInstantiateWithParams(executable, graph, parameters))
HEDDLE_PASS(cudaGraphExecUpdate, (GraphExec* executable, const Graph* graph, CUgraphExecUpdateResultInfo* result), cuGraphExecUpdate_v2(executable, graph, result))
HEDDLE_PASS(cudaGraphExecGetFlags, (GraphExec* executable, unsigned long long* flags), cuGraphExecGetFlags(executable, flags))
HEDDLE_PASS(cudaGraphExecDestroy, (GraphExec* executable), cuGraphExecDestroy(executable))
HEDDLE_PASS(cudaGraphUpload, (GraphExec* executable, CUstream stream), cuGraphUpload(executable, stream))
HEDDLE_PASS(cudaGraphLaunch, (GraphExec* executable, CUstream stream), cuGraphLaunch(executable, stream))
HEDDLE_PASS(HEDDLE_NEWEST(cudaGraphAddDependencies), (Graph* graph, GraphNode* const* from, GraphNode* const* to, const CUgraphEdgeData* data, std::size_t count), cuGraphAddDependencies_v2(graph, from, to, data, count))
HEDDLE_PASS(HEDDLE_NEWEST(cudaGraphRemoveDependencies), (Graph* graph, GraphNode* const* from, GraphNode* const* to, const CUgraphEdgeData* data, std::size_t count), cuGraphRemoveDependencies_v2(graph, from, to, data, count))
HEDDLE_PASS(HEDDLE_NEWEST(cudaGraphGetEdges), (Graph* graph, GraphNode** from, GraphNode** to, CUgraphEdgeData* data, std::size_t* count), cuGraphGetEdges_v2(graph, from, to, data, count))
HEDDLE_PASS(HEDDLE_NEWEST(cudaGraphNodeGetDependencies), (GraphNode* node, GraphNode** before, CUgraphEdgeData* data, std::size_t* count), cuGraphNodeGetDependencies_v2(node, before, data, count))
HEDDLE_PASS(HEDDLE_NEWEST(cudaGraphNodeGetDependentNodes), (GraphNode* node, GraphNode** behind, CUgraphEdgeData* data, std::size_t* count), cuGraphNodeGetDependentNodes_v2(node, behind, data, count))
HEDDLE_PASS(cudaGraphGetNodes, (Graph* graph, GraphNode** nodes, std::size_t* count), cuGraphGetNodes(graph, nodes, count))
HEDDLE_PASS(cudaGraphGetRootNodes, (Graph* graph, GraphNode** nodes, std::size_t* count), cuGraphGetRootNodes(graph, nodes, count))
HEDDLE_PASS(cudaGraphDebugDotPrint, (Graph* graph, const char* path, unsigned flags), cuGraphDebugDotPrint(graph, path, flags))
HEDDLE_PASS(cudaGraphNodeSetEnabled, (GraphExec* executable, GraphNode* node, unsigned enabled), cuGraphNodeSetEnabled(executable, node, enabled))
HEDDLE_PASS(cudaGraphNodeGetEnabled, (GraphExec* executable, GraphNode* node, unsigned* enabled), cuGraphNodeGetEnabled(executable, node, enabled))

HEDDLE_PASS(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim(device))
HEDDLE_PASS(cudaUserObjectCreate, (UserObject** object, void* data, void (*destroy)(void*), unsigned count, unsigned flags), cuUserObjectCreate(object, data, destroy, count, flags))
HEDDLE_PASS(cudaUserObjectRetain, (UserObject* object, unsigned count), cuUserObjectRetain(object, count))
HEDDLE_PASS(cudaUserObjectRelease, (UserObject* object, unsigned count), cuUserObjectRelease(object, count))
HEDDLE_PASS(cudaGraphRetainUserObject, (Graph* graph, UserObject* object, unsigned count, unsigned flags), cuGraphRetainUserObject(graph, object, count, flags))
HEDDLE_PASS(cudaGraphReleaseUserObject, (Graph* graph, UserObject* object, unsigned count), cuGraphReleaseUserObject(graph, object, count))

// Capture.
HEDDLE_PASS(cudaStreamBeginCapture, (CUstream stream, int mode), cuStreamBeginCapture_v2(stream, mode))
HEDDLE_PASS(cudaStreamBeginCaptureToGraph, (CUstream stream, Graph* graph, GraphNode* const* after, const CUgraphEdgeData* data, std::size_t count, int mode), cuStreamBeginCaptureToGraph(stream, graph, after, data, count, mode))
HEDDLE_PASS(cudaStreamEndCapture, (CUstream stream, Graph** graph), cuStreamEndCapture(stream, graph))
HEDDLE_PASS(cudaStreamIsCapturing, (CUstream stream, int* state), cuStreamIsCapturing(stream, state))
#if HEDDLE_CUDART == 12
#define HEDDLE_CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#else
#define HEDDLE_CAPTURE_INFO cudaStreamGetCaptureInfo
#endif
HEDDLE_PASS(HEDDLE_CAPTURE_INFO, (CUstream stream, int* state, unsigned long long* id, Graph** graph, GraphNode* const** after, const CUgraphEdgeData** data, std::size_t* count), cuStreamGetCaptureInfo_v3(stream, state, id, graph, after, data, count))
HEDDLE_PASS(HEDDLE_NEWEST(cudaStreamUpdateCaptureDependencies), (CUstream stream, GraphNode* const* after, const CUgraphEdgeData* data, std::size_t count, unsigned flags), cuStreamUpdateCaptureDependencies_v2(stream, after, data, count, flags))
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
