// Captures three kernels on two streams as a graph, and launches it a hundred times.
#include "check.h"

__global__ void grow(int *value, int by) {
    *value += by;
}
__global__ void sum(const int *a, const int *b, int *total) {
    *total = *a + *b;
}

int main() {
    int *values;
    CHECK(cudaMalloc(&values, 3 * sizeof(int)));
    CHECK(cudaMemset(values, 0, 3 * sizeof(int)));
    cudaStream_t stream, other;
    cudaEvent_t fork, join;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    grow<<<1, 1, 0, stream>>>(values, 2);
    grow<<<1, 1, 0, other>>>(values + 1, 3);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    sum<<<1, 1, 0, stream>>>(values, values + 1, values + 2);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 100; ++i) CHECK(cudaGraphLaunch(executable, stream));
    int found[3];
    CHECK(cudaMemcpyAsync(found, values, sizeof found, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return verdict(found[0] == 200 && found[1] == 300 && found[2] == 500, "100 launches of a graph");
}
