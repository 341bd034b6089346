// What the interface of CUDA 12 has and that of 13 no longer has: older forms of functions, and a few names.
#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

extern "C" {
cudaError_t cudaMemPrefetchAsync_v2(const void*, std::size_t, cudaMemLocation, unsigned, CUstream);
cudaError_t cudaMemAdvise_v2(const void*, std::size_t, int, cudaMemLocation);
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
HEDDLE_API cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
HEDDLE_API cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
HEDDLE_API cudaError_t cudaThreadGetLimit(std::size_t* value, unsigned limit) { return cudaDeviceGetLimit(value, limit); }
HEDDLE_API cudaError_t cudaThreadSetLimit(unsigned limit, std::size_t value) { return cudaDeviceSetLimit(limit, value); }
HEDDLE_API cudaError_t cudaThreadGetCacheConfig(int* config) { return cudaDeviceGetCacheConfig(config); }
HEDDLE_API cudaError_t cudaThreadSetCacheConfig(int config) { return cudaDeviceSetCacheConfig(config); }

HEDDLE_PER_THREAD(cudaMemPrefetchAsync, _ptsz)
