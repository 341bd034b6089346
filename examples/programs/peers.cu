// Copies values from device to device, round a ring of all there are (heddle run --devices 4).
#include <vector>

#include "check.h"

__global__ void add_device(int *values, int n, int device) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += device;
}

int main() {
    const int n = 1000;
    int devices = 0, can = 1, expected = 0;
    CHECK(cudaGetDeviceCount(&devices));
    std::vector<int *> buffers(devices);
    for (int d = 0; d < devices; ++d) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&buffers[d], n * sizeof(int)));
        CHECK(cudaMemset(buffers[d], 0, n * sizeof(int)));
        if (d > 0) {
            CHECK(cudaDeviceCanAccessPeer(&can, d, d - 1));
            CHECK(cudaMemcpyPeer(buffers[d], d, buffers[d - 1], d - 1, n * sizeof(int)));
        }
        add_device<<<4, 256>>>(buffers[d], n, d + 1);
        expected += d + 1;
    }
    std::vector<int> found(n);
    CHECK(cudaMemcpy(found.data(), buffers.back(), n * sizeof(int), cudaMemcpyDeviceToHost));
    bool good = can == 1;
    for (const int value : found) good = good && value == expected;
    std::printf("%d devices\n", devices);
    return verdict(good, "copies between devices");
}
