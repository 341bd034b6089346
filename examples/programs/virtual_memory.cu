// Virtual memory: addresses are reserved and mapped to memory piece by piece, as an allocator does whose segments grow. Link with -lcuda.
#include <cuda.h>

#include <vector>

#include "check.h"

#define DRIVER(call)                                                                     \
    do {                                                                                 \
        const CUresult error = call;                                                     \
        if (error != CUDA_SUCCESS) return std::printf("%s: %d\n", #call, error), 1;      \
    } while (0)

__global__ void count_up(int *values, long n) {
    for (long i = threadIdx.x; i < n; i += blockDim.x) values[i * 4096] += static_cast<int>(i);
}

int main() {
    CHECK(cudaFree(nullptr));
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    const CUmemAccessDesc both = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    std::size_t piece = 0, free_before = 0, free_now = 0, all = 0;
    DRIVER(cuMemGetAllocationGranularity(&piece, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    DRIVER(cuMemGetInfo(&free_before, &all));
    CUdeviceptr base = 0, other = 0;
    DRIVER(cuMemAddressReserve(&base, 8 * piece, 0, 0, 0));
    DRIVER(cuMemGetInfo(&free_now, &all));
    bool good = free_now == free_before && base % piece == 0;  // addresses take no memory
    CUmemGenericAllocationHandle pieces[3];
    for (int i = 0; i < 3; ++i) {
        DRIVER(cuMemCreate(&pieces[i], piece, &properties, 0));
        DRIVER(cuMemMap(base + i * piece, piece, 0, pieces[i], 0));
        DRIVER(cuMemSetAccess(base + i * piece, piece, &both, 1));
    }
    DRIVER(cuMemGetInfo(&free_now, &all));
    good = good && free_before - free_now == 3 * piece;
    good = good && cuMemMap(base + piece, piece, 0, pieces[0], 0) == CUDA_ERROR_INVALID_VALUE;  // something is mapped there
    good = good && cuMemAddressFree(base, 8 * piece) == CUDA_ERROR_INVALID_VALUE;

    // One buffer over all three pieces: a kernel, a fill and copies.
    const long n = static_cast<long>(3 * piece / sizeof(int));
    int *values = reinterpret_cast<int *>(base);
    CHECK(cudaMemset(values, 0, 3 * piece));
    count_up<<<1, 128>>>(values, n / 4096);
    std::vector<int> found(n);
    CHECK(cudaMemcpy(found.data(), values, 3 * piece, cudaMemcpyDeviceToHost));
    for (long i = 0; i < n / 4096; ++i) good = good && found[i * 4096] == i;

    // The same memory at a second address: what is written at one is read at the other.
    DRIVER(cuMemAddressReserve(&other, piece, 0, 0, 0));
    DRIVER(cuMemMap(other, piece, 0, pieces[1], 0));
    DRIVER(cuMemSetAccess(other, piece, &both, 1));
    count_up<<<1, 128>>>(reinterpret_cast<int *>(other), static_cast<long>(piece / sizeof(int)) / 4096);
    CHECK(cudaMemcpy(found.data(), values, 3 * piece, cudaMemcpyDeviceToHost));
    const long pages = static_cast<long>(piece / sizeof(int)) / 4096;
    for (long i = 0; i < 3 * pages; ++i) good = good && found[i * 4096] == i + (i >= pages && i < 2 * pages ? i - pages : 0);

    CUmemGenericAllocationHandle again;
    unsigned long long access = 0;
    DRIVER(cuMemRetainAllocationHandle(&again, reinterpret_cast<void *>(other)));
    DRIVER(cuMemGetAccess(&access, &properties.location, other));
    good = good && again == pieces[1] && access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemRelease(again));
    CUdeviceptr found_base = 0;
    std::size_t found_bytes = 0;
    DRIVER(cuMemGetAddressRange(&found_base, &found_bytes, base + piece + 8));
    good = good && found_base <= base + piece && found_base + found_bytes >= base + 2 * piece;

    // Memory lives as long as something is mapped to it.
    for (CUmemGenericAllocationHandle handle : pieces) DRIVER(cuMemRelease(handle));
    DRIVER(cuMemGetInfo(&free_now, &all));
    good = good && free_before - free_now == 3 * piece;
    DRIVER(cuMemUnmap(other, piece));
    DRIVER(cuMemUnmap(base + 2 * piece, piece));
    DRIVER(cuMemGetInfo(&free_now, &all));
    good = good && free_before - free_now == 2 * piece;
    DRIVER(cuMemAddressFree(other, piece));
    verdict(good, "virtual memory");

    // What is no longer mapped is no longer reached.
    count_up<<<1, 128>>>(values, n / 4096);
    std::printf("memory that may not be reached: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return !good;
}
