// Graphs, as the runtime names them.
#include <cstring>

#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

HEDDLE_API cudaError_t cudaGraphCreate(Graph** graph, unsigned flags) { return remember(cuGraphCreate(graph, flags)); }
HEDDLE_API cudaError_t cudaGraphDestroy(Graph* graph) { return remember(cuGraphDestroy(graph)); }
HEDDLE_API cudaError_t cudaGraphInstantiate(GraphExec** executable, Graph* graph, unsigned long long flags) { return remember(cuGraphInstantiateWithFlags(executable, graph, flags)); }
HEDDLE_API cudaError_t cudaGraphInstantiateWithFlags(GraphExec** executable, Graph* graph, unsigned long long flags) { return remember(cuGraphInstantiateWithFlags(executable, graph, flags)); }
HEDDLE_API cudaError_t cudaGraphExecUpdate(GraphExec* executable, Graph* graph, unsigned* result) { return remember(cuGraphExecUpdate_v2(executable, graph, result)); }
HEDDLE_API cudaError_t cudaGraphExecDestroy(GraphExec* executable) { return remember(cuGraphExecDestroy(executable)); }
HEDDLE_API cudaError_t cudaGraphUpload(GraphExec*, CUstream) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaGraphLaunch(GraphExec* executable, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuGraphLaunch(executable, stream));
}
HEDDLE_API cudaError_t cudaGraphAddKernelNode(void* node, Graph* graph, void* after, std::size_t count, const void* parameters) {
    HEDDLE_CALL;
    // cudaKernelNodeParams names a host function where the driver names one of the device.
    struct {
        void* function;
        unsigned grid[3], block[3], shared_bytes;
        void **arguments, **extra;
        void *kernel, *context;
    } given{};
    std::memcpy(&given, parameters, 56);
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(given.function, &function); status != cudaSuccess) return remember(status);
    given.function = function;
    return remember(cuGraphAddKernelNode_v2(node, graph, after, count, &given));
}
HEDDLE_API cudaError_t cudaGraphAddEmptyNode(void* node, Graph* graph, void* after, std::size_t count) { return remember(cuGraphAddEmptyNode(node, graph, after, count)); }
HEDDLE_API cudaError_t cudaGraphAddHostNode(void* node, Graph* graph, void* after, std::size_t count, void* parameters) { return remember(cuGraphAddHostNode(node, graph, after, count, parameters)); }
HEDDLE_API cudaError_t cudaGraphAddDependencies(Graph* graph, void* from, void* to, std::size_t count) { return remember(cuGraphAddDependencies(graph, from, to, count)); }
HEDDLE_API cudaError_t cudaGraphGetNodes(Graph* graph, void* nodes, std::size_t* count) { return remember(cuGraphGetNodes(graph, nodes, count)); }

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaGraphLaunch, _ptsz)
HEDDLE_PER_THREAD(cudaGraphUpload, _ptsz)
