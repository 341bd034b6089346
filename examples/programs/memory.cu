// Memory of every kind: managed, pinned, pitched, from a pool; variables and constants of the module; fills, and the device's heap and printf.
#include <cstring>

#include "check.h"

__constant__ float factor[2];
__device__ int counter = 40;

__global__ void scale(float *values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = values[i] * factor[0] + factor[1];
    if (i == 0) counter += 2;
}
__global__ void print_from_heap() {
    int *own = static_cast<int *>(malloc(sizeof(int)));
    *own = static_cast<int>(threadIdx.x);
    atomicAdd(&counter, *own);
    if (threadIdx.x == 0) printf("thread %d of %d\n", *own, blockDim.x);
    free(own);
}

int main() {
    const int n = 1000;
    float *managed, *pinned, *pooled, host[2] = {3, 1};
    CHECK(cudaMallocManaged(&managed, n * sizeof(float)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(float)));
    CHECK(cudaMallocAsync(&pooled, n * sizeof(float), 0));
    for (int i = 0; i < n; ++i) managed[i] = static_cast<float>(i);
    CHECK(cudaMemcpyToSymbol(factor, host, sizeof host));
    scale<<<4, 256>>>(managed, n);
    CHECK(cudaMemcpyAsync(pooled, managed, n * sizeof(float), cudaMemcpyDefault, 0));
    host[0] = -1;
    CHECK(cudaMemcpyToSymbol(factor, host, sizeof(float)));
    scale<<<4, 256>>>(pooled, n);
    CHECK(cudaMemcpyAsync(pinned, pooled, n * sizeof(float), cudaMemcpyDeviceToHost, 0));
    CHECK(cudaFreeAsync(pooled, 0));
    CHECK(cudaDeviceSynchronize());
    bool good = true;
    for (int i = 0; i < n; ++i) good = good && managed[i] == 3.0f * i + 1 && pinned[i] == -3.0f * i;
    int count = 0;
    print_from_heap<<<1, 8>>>();
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    good = good && count == 44 + 28;

    void *rows;
    std::size_t pitch;
    unsigned char back[10][30];
    CHECK(cudaMallocPitch(&rows, &pitch, 30, 10));
    CHECK(cudaMemset2D(rows, pitch, 7, 30, 10));
    CHECK(cudaMemcpy2D(back, 30, rows, pitch, 30, 10, cudaMemcpyDeviceToHost));
    for (auto &row : back)
        for (unsigned char byte : row) good = good && byte == 7;
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, managed));
    good = good && attributes.type == cudaMemoryTypeManaged;
    CHECK(cudaPointerGetAttributes(&attributes, host));
    good = good && attributes.type == cudaMemoryTypeUnregistered;
    return verdict(good, "memory of every kind");
}
