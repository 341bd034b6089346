// Graphs built node by node: memory, copies, fills, host functions, graphs in graphs and events; parameters changed later; branches that run side by side.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

__global__ void spin(float *out, int rounds) {
    float value = threadIdx.x;
    for (int i = 0; i < rounds; ++i) value = value * 0.999f + 1.0f;
    out[threadIdx.x] = value;
}
__global__ void scale(int *values, int n, int by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= by;
}

static bool good = true;
static void expect(bool holds, const char *what) {
    if (!holds) std::printf("wrong: %s\n", what);
    good = good && holds;
}

static cudaKernelNodeParams kernel(void *function, unsigned grid, unsigned block, void **arguments) {
    cudaKernelNodeParams parameters = {};
    parameters.func = function;
    parameters.gridDim = dim3(grid);
    parameters.blockDim = dim3(block);
    parameters.kernelParams = arguments;
    return parameters;
}

static float milliseconds(cudaGraph_t graph) {
    cudaGraphExec_t executable;
    cudaEvent_t begin, end;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(begin));
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float found = 0;
    CHECK(cudaEventElapsedTime(&found, begin, end));
    CHECK(cudaGraphExecDestroy(executable));
    return found;
}

/// Two kernels that do not depend on one another take as long as one; in a row, as long as two.
static void branches() {
    float *out;
    CHECK(cudaMalloc(&out, 64 * sizeof(float)));
    float *second = out + 32;
    int rounds = 10000;
    void *first_arguments[] = {&out, &rounds}, *second_arguments[] = {&second, &rounds};
    cudaGraph_t graph;
    cudaGraphNode_t fork, a, b, join;
    CHECK(cudaGraphCreate(&graph, 0));
    const cudaKernelNodeParams pa = kernel((void *)spin, 1, 32, first_arguments), pb = kernel((void *)spin, 1, 32, second_arguments);
    CHECK(cudaGraphAddEmptyNode(&fork, graph, nullptr, 0));
    CHECK(cudaGraphAddKernelNode(&a, graph, &fork, 1, &pa));
    const float one = milliseconds(graph);
    CHECK(cudaGraphAddKernelNode(&b, graph, &fork, 1, &pb));
    const cudaGraphNode_t both[] = {a, b};
    CHECK(cudaGraphAddEmptyNode(&join, graph, both, 2));
    const float beside = milliseconds(graph);
    CHECK(cudaGraphAddDependencies(graph, &a, &b, nullptr, 1));
    const float in_a_row = milliseconds(graph);
    std::printf("one kernel %.1f us, two branches %.1f us, in a row %.1f us\n", one * 1e3, beside * 1e3, in_a_row * 1e3);
    expect(beside < 1.3f * one && in_a_row > 1.7f * one, "branches overlap");
    std::size_t edges = 0, roots = 0;
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    expect(edges == 5 && roots == 1, "edges and roots");
    CHECK(cudaGraphRemoveDependencies(graph, &a, &b, nullptr, 1));
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    expect(edges == 4, "an edge was removed");
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(out));
}

static void add_one(void *count) {
    ++*static_cast<int *>(count);
}

static void nodes() {
    const int n = 1000;
    cudaGraph_t graph, child;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&child, 0));
    cudaMemAllocNodeParams allocation = {};
    allocation.poolProps.allocType = cudaMemAllocationTypePinned;
    allocation.poolProps.location.type = cudaMemLocationTypeDevice;
    allocation.bytesize = n * sizeof(int);
    cudaGraphNode_t allocate, fill, multiply, inner, copy, host, record, release;
    CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &allocation));
    int *values = static_cast<int *>(allocation.dptr);
    cudaMemsetParams set = {};
    set.dst = values;
    set.elementSize = 4;
    set.value = 3;
    set.width = n;
    set.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, &allocate, 1, &set));
    int size = n, by = 5;
    void *arguments[] = {&values, &size, &by};
    cudaKernelNodeParams parameters = kernel((void *)scale, 4, 256, arguments);
    CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &parameters));
    CHECK(cudaGraphAddChildGraphNode(&multiply, graph, &fill, 1, child));
    std::vector<int> found(n), other(n);
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &multiply, 1, found.data(), values, n * sizeof(int), cudaMemcpyDeviceToHost));
    int calls = 0;
    const cudaHostNodeParams call = {add_one, &calls};
    CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaGraphAddEventRecordNode(&record, graph, &host, 1, event));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &record, 1, values));
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaDeviceSynchronize());
    for (int value : found) expect(value == 15, "fill, then scale in a graph of its own");
    expect(calls == 1 && cudaEventQuery(event) == cudaSuccess, "a host function and an event");

    // Other parameters, of the executable alone.
    set.value = 2;
    CHECK(cudaGraphExecMemsetNodeSetParams(executable, fill, &set));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(executable, copy, other.data(), values, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaDeviceSynchronize());
    expect(other[n - 1] == 10 && found[0] == 15 && calls == 2, "parameters of an executable graph");
    cudaMemsetParams kept;
    CHECK(cudaGraphMemsetNodeGetParams(fill, &kept));
    expect(kept.value == 3 && kept.dst == values, "the graph keeps its own");
    CHECK(cudaGraphNodeSetEnabled(executable, copy, 0));
    other[0] = -1;
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaDeviceSynchronize());
    expect(other[0] == -1, "a node that is switched off");

    // A clone, its kinds of nodes, and the kernel of the inner graph.
    cudaGraph_t clone;
    cudaGraphNode_t twin;
    cudaGraphNodeType type;
    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphNodeFindInClone(&twin, multiply, clone));
    CHECK(cudaGraphNodeGetType(twin, &type));
    expect(twin != multiply && type == cudaGraphNodeTypeGraph, "the twin of a node");
    std::size_t count = 0;
    CHECK(cudaGraphGetNodes(clone, nullptr, &count));
    expect(count == 7, "all nodes of a clone");
    CHECK(cudaGraphKernelNodeGetParams(inner, &parameters));
    expect(parameters.func == (void *)scale && parameters.gridDim.x == 4 && *static_cast<int *>(parameters.kernelParams[2]) == 5, "what a kernel node was made of");

    // An update: the same graph with another factor; and one that is not the same.
    by = 7;
    cudaGraph_t update;
    cudaGraphNode_t kernel_node, second_node;
    CHECK(cudaGraphCreate(&update, 0));
    parameters = kernel((void *)scale, 4, 256, arguments);
    int *own;
    CHECK(cudaMalloc(&own, n * sizeof(int)));
    CHECK(cudaMemset(own, 0, n * sizeof(int)));
    arguments[0] = &own;
    CHECK(cudaGraphAddKernelNode(&kernel_node, update, nullptr, 0, &parameters));
    cudaGraphExec_t second;
    CHECK(cudaGraphInstantiate(&second, update, 0));
    std::vector<int> ones(n, 1);
    CHECK(cudaMemcpy(own, ones.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    by = 11;
    CHECK(cudaGraphKernelNodeSetParams(kernel_node, &parameters));
    CHECK(cudaGraphLaunch(second, 0));
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(second, update, &result));
    CHECK(cudaGraphLaunch(second, 0));
    by = 2;
    CHECK(cudaGraphExecKernelNodeSetParams(second, kernel_node, &parameters));
    CHECK(cudaGraphLaunch(second, 0));
    CHECK(cudaMemcpy(ones.data(), own, n * sizeof(int), cudaMemcpyDeviceToHost));
    expect(ones[n / 2] == 7 * 11 * 2, "an update, and parameters set after it");
    CHECK(cudaGraphAddEmptyNode(&second_node, update, &kernel_node, 1));
    expect(cudaGraphExecUpdate(second, update, &result) == cudaErrorGraphExecUpdateFailure && result.result == cudaGraphExecUpdateErrorTopologyChanged, "an update that cannot be");
    cudaGetLastError();

    CHECK(cudaGraphDebugDotPrint(graph, "graph.dot", 0));
    std::FILE *const file = std::fopen("graph.dot", "r");
    char text[4096] = {};
    expect(file != nullptr && std::fread(text, 1, sizeof text - 1, file) > 0 && std::strstr(text, "MEM_ALLOC") != nullptr && std::strstr(text, "node0 -> node1") != nullptr, "a picture of the graph");
    if (file != nullptr) std::fclose(file);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaGraphDestroy(update));
}

/// Memory that a captured stream allocates, and a capture that does not end well.
static void captures() {
    const int n = 100;
    cudaStream_t stream, other;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&event));
    cudaGraph_t graph;
    int *values;
    std::vector<int> found(n);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&values, n * sizeof(int), stream));
    CHECK(cudaMemsetAsync(values, 1, n * sizeof(int), stream));
    scale<<<1, 128, 0, stream>>>(values, n, 2);
    CHECK(cudaMemcpyAsync(found.data(), values, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(values, stream));
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *last;
    std::size_t count = 0;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &last, nullptr, &count));
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(last[0], &type));
    expect(status == cudaStreamCaptureStatusActive && count == 1 && type == cudaGraphNodeTypeMemFree, "what a capture says of itself");
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int value : found) expect(value == 0x02020202, "a graph that allocates");
    CHECK(cudaGraphExecDestroy(executable));

    // A copy of rows, and what is known of it.
    unsigned char *rows, table[4][8] = {}, back[4][8] = {};
    std::size_t pitch = 0;
    for (int i = 0; i < 32; ++i) table[i / 8][i % 8] = static_cast<unsigned char>(i);
    CHECK(cudaMallocPitch(&rows, &pitch, 8, 4));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpy2DAsync(rows, pitch, table, 8, 8, 4, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpy2DAsync(back, 8, rows, pitch, 8, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t first;
    count = 1;
    cudaMemcpy3DParms copied;
    CHECK(cudaGraphGetRootNodes(graph, &first, &count));
    CHECK(cudaGraphMemcpyNodeGetParams(first, &copied));
    expect(copied.extent.height == 4 && copied.dstPtr.pitch == pitch && copied.dstPtr.ptr == rows, "what a copy of rows was made of");
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(std::memcmp(table, back, sizeof table) == 0, "copies of rows in a graph");
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    CHECK(cudaLaunchHostFunc(other, add_one, &count));
    expect(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined, "work that was not joined");
    cudaGetLastError();
    CHECK(cudaStreamIsCapturing(other, &status));
    expect(status == cudaStreamCaptureStatusNone, "the other stream is free again");
}

int main() {
    branches();
    nodes();
    captures();
    return verdict(good, "graphs of all kinds of nodes");
}
