// Memory: allocations, copies, fills and pools, as the runtime names them.
#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"
#include "driver/cudart/texture.h"

using namespace heddle::runtime;

HEDDLE_API cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    if (bytes == 0) {
        *address = nullptr;
        return cudaSuccess;
    }
    const CUresult status = cuMemAlloc_v2(&at, bytes);
    *address = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_API cudaError_t cudaMallocAsync(void** address, std::size_t bytes, CUstream stream) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = bytes == 0 ? CUDA_SUCCESS : cuMemAllocAsync(&at, bytes, stream);
    *address = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_API cudaError_t cudaMallocFromPoolAsync(void** address, std::size_t bytes, Pool*, CUstream stream) { return cudaMallocAsync(address, bytes, stream); }
HEDDLE_API cudaError_t cudaMallocManaged(void** address, std::size_t bytes, unsigned flags) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = cuMemAllocManaged(&at, bytes, flags);
    *address = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_API cudaError_t cudaMallocPitch(void** address, std::size_t* pitch, std::size_t width, std::size_t height) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = cuMemAllocPitch_v2(&at, pitch, width, height, 4);
    *address = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
    pointer->xsize = extent.width;
    pointer->ysize = extent.height;
    return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}
HEDDLE_PASS(cudaHostAlloc, (void** address, std::size_t bytes, unsigned flags), cuMemHostAlloc(address, bytes, flags))
HEDDLE_API cudaError_t cudaMallocHost(void** address, std::size_t bytes) { return cudaHostAlloc(address, bytes, 0); }
HEDDLE_API cudaError_t cudaFree(void* address) {
    HEDDLE_CALL;
    return remember(address == nullptr ? cudaSuccess : cuMemFree_v2(number(address)));
}
HEDDLE_PASS(cudaFreeAsync, (void* address, CUstream stream), cuMemFreeAsync(number(address), stream))
HEDDLE_API cudaError_t cudaFreeHost(void* address) { return cudaFree(address); }
HEDDLE_PASS(cudaHostRegister, (void* address, std::size_t bytes, unsigned flags), cuMemHostRegister_v2(address, bytes, flags))
HEDDLE_PASS(cudaHostUnregister, (void* address), cuMemHostUnregister(address))
HEDDLE_PASS(cudaHostGetFlags, (unsigned* flags, void* host), cuMemHostGetFlags(flags, host))
HEDDLE_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = cuMemHostGetDevicePointer_v2(&at, host, flags);
    *device = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_PASS(cudaMemGetInfo, (std::size_t* free_bytes, std::size_t* all), cuMemGetInfo_v2(free_bytes, all))
HEDDLE_API cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
    if (kind < 0 || kind > 4) return remember(cudaErrorInvalidMemcpyDirection);
    HEDDLE_CALL;
    return remember(cuMemcpy(number(to), number(from), bytes));
}
HEDDLE_API cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, CUstream stream) {
    if (kind < 0 || kind > 4) return remember(cudaErrorInvalidMemcpyDirection);
    HEDDLE_CALL;
    return remember(cuMemcpyAsync(number(to), number(from), bytes, stream));
}
HEDDLE_API cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) { return cudaMemcpy(to, from, bytes, 4); }
HEDDLE_API cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, CUstream stream) { return cudaMemcpyAsync(to, from, bytes, 4, stream); }
namespace {
CUDA_MEMCPY2D rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height) {
    CUDA_MEMCPY2D c{};
    c.srcMemoryType = c.dstMemoryType = 4;
    c.srcDevice = number(from);
    c.dstDevice = number(to);
    c.srcPitch = from_pitch;
    c.dstPitch = to_pitch;
    c.WidthInBytes = width;
    c.Height = height;
    return c;
}
}  // namespace
HEDDLE_API cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height, int, CUstream stream) {
    if (width > to_pitch || width > from_pitch) return remember(cudaErrorInvalidPitchValue);
    HEDDLE_CALL;
    const CUDA_MEMCPY2D c = rows(to, to_pitch, from, from_pitch, width, height);
    return remember(cuMemcpy2DAsync_v2(&c, stream));
}
HEDDLE_API cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height, int) {
    if (width > to_pitch || width > from_pitch) return remember(cudaErrorInvalidPitchValue);
    HEDDLE_CALL;
    const CUDA_MEMCPY2D c = rows(to, to_pitch, from, from_pitch, width, height);
    const CUresult status = cuMemcpy2D_v2(&c);
    return remember(status != CUDA_SUCCESS ? status : cuStreamSynchronize(nullptr));
}
HEDDLE_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, CUstream stream) {
    HEDDLE_CALL;
    if (p->srcArray != nullptr || p->dstArray != nullptr) return copy_arrays(*p, stream);
    for (std::size_t z = 0; z < p->extent.depth; ++z) {
        const auto plane = [&](const cudaPitchedPtr& pointer, const cudaPos& at) {
            return static_cast<char*>(pointer.ptr) + ((at.z + z) * pointer.ysize + at.y) * pointer.pitch + at.x;
        };
        const CUDA_MEMCPY2D c = rows(plane(p->dstPtr, p->dstPos), p->dstPtr.pitch, plane(p->srcPtr, p->srcPos), p->srcPtr.pitch, p->extent.width, p->extent.height);
        if (const CUresult status = cuMemcpy2DAsync_v2(&c, stream); status != CUDA_SUCCESS) return remember(status);
    }
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    const cudaError_t status = cudaMemcpy3DAsync(p, nullptr);
    return status != cudaSuccess ? status : remember(cuStreamSynchronize(nullptr));
}
HEDDLE_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const cudaError_t status = variable_of(symbol, &at, nullptr);
    *address = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_API cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    return remember(variable_of(symbol, &at, bytes));
}
namespace {
/// Copies to or from a variable of a module.
cudaError_t copy_symbol(const void* symbol, std::size_t offset, std::size_t bytes, void* other, bool to_symbol, CUstream stream, bool wait) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    std::size_t size = 0;
    if (const cudaError_t status = variable_of(symbol, &at, &size); status != cudaSuccess) return remember(status);
    if (offset > size || bytes > size - offset) return remember(cudaErrorInvalidValue);
    const CUdeviceptr to = to_symbol ? at + offset : number(other), from = to_symbol ? number(other) : at + offset;
    return remember(wait ? cuMemcpy(to, from, bytes) : cuMemcpyAsync(to, from, bytes, stream));
}
}  // namespace
HEDDLE_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int) { return copy_symbol(symbol, offset, bytes, const_cast<void*>(from), true, nullptr, true); }
HEDDLE_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int) { return copy_symbol(symbol, offset, bytes, to, false, nullptr, true); }
HEDDLE_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int, CUstream stream) { return copy_symbol(symbol, offset, bytes, const_cast<void*>(from), true, stream, false); }
HEDDLE_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int, CUstream stream) { return copy_symbol(symbol, offset, bytes, to, false, stream, false); }
HEDDLE_PASS(cudaMemset, (void* to, int value, std::size_t bytes), cuMemsetD8_v2(number(to), static_cast<unsigned char>(value), bytes))
HEDDLE_PASS(cudaMemsetAsync, (void* to, int value, std::size_t bytes, CUstream stream), cuMemsetD8Async(number(to), static_cast<unsigned char>(value), bytes, stream))
HEDDLE_PASS(cudaMemset2D, (void* to, std::size_t pitch, int value, std::size_t width, std::size_t height), cuMemsetD2D8_v2(number(to), pitch, static_cast<unsigned char>(value), width, height))
HEDDLE_PASS(cudaMemset2DAsync, (void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, CUstream stream), cuMemsetD2D8Async(number(to), pitch, static_cast<unsigned char>(value), width, height, stream))
HEDDLE_PASS(HEDDLE_NEWEST(cudaMemPrefetchAsync), (const void* address, std::size_t bytes, cudaMemLocation location, unsigned flags, CUstream stream), cuMemPrefetchAsync_v2(number(address), bytes, location, flags, stream))
HEDDLE_PASS(HEDDLE_NEWEST(cudaMemAdvise), (const void* address, std::size_t bytes, int advice, cudaMemLocation location), cuMemAdvise_v2(number(address), bytes, advice, location))
HEDDLE_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    HEDDLE_CALL;
    *attributes = {};
    attributes->device = -2;
    unsigned type = 0;
    bool managed = false;
    if (cuPointerGetAttribute(&type, 2, number(address)) != CUDA_SUCCESS) return cudaSuccess;  // memory of the host
    cuPointerGetAttribute(&managed, 8, number(address));
    attributes->type = managed ? 3 : static_cast<int>(type);
    cuPointerGetAttribute(&attributes->device, 9, number(address));
    attributes->devicePointer = const_cast<void*>(address);
    if (managed || type == 1) attributes->hostPointer = const_cast<void*>(address);
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaDeviceGetDefaultMemPool(Pool** pool, int device) { return remember(cuDeviceGetDefaultMemPool(pool, device)); }
HEDDLE_API cudaError_t cudaDeviceGetMemPool(Pool** pool, int device) { return remember(cuDeviceGetDefaultMemPool(pool, device)); }
HEDDLE_API cudaError_t cudaDeviceSetMemPool(int, Pool*) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaMemPoolCreate(Pool** pool, const void* properties) { return remember(cuMemPoolCreate(pool, properties)); }
HEDDLE_API cudaError_t cudaMemPoolDestroy(Pool* pool) { return remember(cuMemPoolDestroy(pool)); }
HEDDLE_API cudaError_t cudaMemPoolSetAttribute(Pool* pool, int which, void* value) { return remember(cuMemPoolSetAttribute(pool, which, value)); }
HEDDLE_API cudaError_t cudaMemPoolGetAttribute(Pool* pool, int which, void* value) { return remember(cuMemPoolGetAttribute(pool, which, value)); }
HEDDLE_API cudaError_t cudaMemPoolTrimTo(Pool*, std::size_t) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaMemPoolSetAccess(Pool*, const void*, std::size_t) { return cudaSuccess; }

// Memory of other processes.
HEDDLE_PASS(cudaIpcGetMemHandle, (IpcMemoryHandle* handle, void* address), cuIpcGetMemHandle(handle, number(address)))
HEDDLE_PASS(cudaIpcOpenMemHandle, (void** address, IpcMemoryHandle handle, unsigned flags), cuIpcOpenMemHandle_v2(reinterpret_cast<CUdeviceptr*>(address), handle, flags))
HEDDLE_PASS(cudaIpcCloseMemHandle, (void* address), cuIpcCloseMemHandle(number(address)))

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaFreeAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMallocAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMallocFromPoolAsync, _ptsz)
HEDDLE_PER_THREAD(HEDDLE_NEWEST(cudaMemPrefetchAsync), _ptsz)
HEDDLE_PER_THREAD(cudaMemcpy, _ptds)
HEDDLE_PER_THREAD(cudaMemcpy2D, _ptds)
HEDDLE_PER_THREAD(cudaMemcpy2DAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpy3D, _ptds)
HEDDLE_PER_THREAD(cudaMemcpy3DAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpyAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpyFromSymbol, _ptds)
HEDDLE_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpyToSymbol, _ptds)
HEDDLE_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemset, _ptds)
HEDDLE_PER_THREAD(cudaMemset2D, _ptds)
HEDDLE_PER_THREAD(cudaMemset2DAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemsetAsync, _ptsz)
