// A kernel whose assertion fails: the error comes back to the host, and stays.
#include <cassert>

#include "check.h"

__global__ void must_be_small(int value) {
    assert(value < 10);
}

int main() {
    must_be_small<<<1, 32>>>(3);
    CHECK(cudaDeviceSynchronize());
    must_be_small<<<1, 32>>>(11);
    const cudaError_t first = cudaDeviceSynchronize();
    void *memory = nullptr;
    const cudaError_t later = cudaMalloc(&memory, 16);
    std::printf("%s, then %s\n", cudaGetErrorName(first), cudaGetErrorName(later));
    return verdict(first == cudaErrorAssert && later == cudaErrorAssert, "an error that stays");
}
