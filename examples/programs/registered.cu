// Memory of the host that is registered: kernels read and write it at its own address, and at the one that cudaHostGetDevicePointer gives.
#include <cstdlib>
#include <vector>

#include "check.h"

__global__ void add(int *values, int n, int by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += by;
}

int main() {
    const int n = 10000;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i) values[i] = i;
    int *device = nullptr;
    bool good = cudaHostUnregister(values.data()) == cudaErrorHostMemoryNotRegistered;
    good = good && cudaHostGetDevicePointer(&device, values.data(), 0) == cudaErrorInvalidValue;
    CHECK(cudaHostRegister(values.data(), n * sizeof(int), cudaHostRegisterMapped));
    good = good && cudaHostRegister(values.data(), n * sizeof(int), 0) == cudaErrorHostMemoryAlreadyRegistered;
    CHECK(cudaHostGetDevicePointer(&device, values.data(), 0));
    add<<<(n + 255) / 256, 256>>>(device, n, 5);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; ++i) good = good && values[i] == i + 5;
    values[7] = 100;  // the program writes, the kernel reads
    add<<<(n + 255) / 256, 256>>>(values.data(), n, 1);
    CHECK(cudaDeviceSynchronize());
    good = good && values[7] == 101 && values[8] == 14;
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, values.data() + 3));
    good = good && attributes.type == cudaMemoryTypeHost;
    unsigned flags = 0;
    CHECK(cudaHostGetFlags(&flags, values.data()));
    good = good && flags == cudaHostRegisterMapped;

    // A copy from it in a stream, and a fill of it.
    int *buffer;
    CHECK(cudaMalloc(&buffer, n * sizeof(int)));
    CHECK(cudaMemcpyAsync(buffer, values.data(), n * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaMemsetAsync(values.data(), 0, n * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    for (int value : values) good = good && value == 0;
    CHECK(cudaMemcpy(values.data(), buffer, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaHostUnregister(values.data()));
    for (int i = 0; i < n; ++i) good = good && values[i] == (i == 7 ? 101 : i + 6);
    values.clear();
    values.shrink_to_fit();
    CHECK(cudaHostRegister(&buffer, 0, 0) == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);
    cudaGetLastError();
    return verdict(good, "memory that is registered");
}
