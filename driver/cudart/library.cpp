// Libraries that a program loads itself, their kernels and variables, and what is known of managed memory, as the runtime names them.
#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

HEDDLE_PASS(cudaLibraryLoadData, (CUmodule* library, const void* code, int*, void**, unsigned, int*, void**, unsigned), cuModuleLoadData(library, code))
HEDDLE_PASS(cudaLibraryLoadFromFile, (CUmodule* library, const char* path, int*, void**, unsigned, int*, void**, unsigned), cuModuleLoad(library, path))
HEDDLE_PASS(cudaLibraryUnload, (CUmodule library), cuModuleUnload(library))
HEDDLE_PASS(cudaLibraryGetKernel, (CUfunction* kernel, CUmodule library, const char* name), cuModuleGetFunction(kernel, library, name))
HEDDLE_PASS(cudaLibraryGetKernelCount, (unsigned* count, CUmodule library), cuModuleGetFunctionCount(count, library))
HEDDLE_PASS(cudaLibraryEnumerateKernels, (CUfunction* kernels, unsigned count, CUmodule library), cuModuleEnumerateFunctions(kernels, count, library))
HEDDLE_API cudaError_t cudaLibraryGetGlobal(void** address, std::size_t* bytes, CUmodule library, const char* name) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = cuModuleGetGlobal_v2(&at, bytes, library, name);
    if (status == CUDA_SUCCESS && address != nullptr) *address = reinterpret_cast<void*>(at);
    return remember(status == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : status);
}
HEDDLE_API cudaError_t cudaLibraryGetManaged(void** address, std::size_t* bytes, CUmodule library, const char* name) { return cudaLibraryGetGlobal(address, bytes, library, name); }
HEDDLE_PASS(cudaKernelSetAttributeForDevice, (CUfunction kernel, int attribute, int value, int), cuFuncSetAttribute(kernel, attribute, value))
HEDDLE_API cudaError_t cudaFuncGetParamInfo(const void* symbol, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    const cudaError_t status = function_of(symbol, &function);
    return remember(status != cudaSuccess ? status : cuFuncGetParamInfo(function, index, offset, bytes));
}

HEDDLE_PASS(cudaMemRangeGetAttribute, (void* data, std::size_t room, int attribute, const void* address, std::size_t bytes), cuMemRangeGetAttribute(data, room, attribute, number(address), bytes))
HEDDLE_PASS(cudaMemRangeGetAttributes, (void** data, std::size_t* rooms, int* attributes, std::size_t count, const void* address, std::size_t bytes), cuMemRangeGetAttributes(data, rooms, attributes, count, number(address), bytes))
HEDDLE_API cudaError_t cudaMemPoolGetAccess(unsigned* flags, Pool* pool, const CUmemLocation* location) { return remember(cuMemPoolGetAccess(flags, pool, location)); }
HEDDLE_API cudaError_t cudaMemGetDefaultMemPool(Pool** pool, const CUmemLocation* location, int type) { return remember(cuMemGetDefaultMemPool(pool, location, type)); }
HEDDLE_API cudaError_t cudaMemGetMemPool(Pool** pool, const CUmemLocation* location, int type) { return remember(cuMemGetDefaultMemPool(pool, location, type)); }
HEDDLE_PASS(cudaStreamGetAttribute, (CUstream stream, unsigned attribute, void* value), cuStreamGetAttribute(stream, attribute, value))
HEDDLE_PASS(cudaStreamSetAttribute, (CUstream stream, unsigned attribute, const void* value), cuStreamSetAttribute(stream, attribute, value))
HEDDLE_PASS(cudaStreamCopyAttributes, (CUstream to, CUstream from), cuStreamCopyAttributes(to, from))
HEDDLE_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, CUstream stream) {
    HEDDLE_CALL;
    for (std::size_t z = 0; z < extent.depth; ++z) {
        const CUdeviceptr plane = number(to.ptr) + z * to.pitch * to.ysize;
        if (const CUresult status = cuMemsetD2D8Async(plane, to.pitch, static_cast<unsigned char>(value), extent.width, extent.height, stream); status != CUDA_SUCCESS) return remember(status);
    }
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) { return cudaMemset3DAsync(to, value, extent, nullptr); }
#if HEDDLE_CUDART == 13
HEDDLE_API cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count, void* attributes, std::size_t* indices,
                                            std::size_t attribute_count, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuMemcpyBatchAsync_v2(reinterpret_cast<const CUdeviceptr*>(to), reinterpret_cast<const CUdeviceptr*>(from), bytes, count, attributes, indices, attribute_count, stream));
}
HEDDLE_PER_THREAD(cudaMemcpyBatchAsync, _ptsz)
#endif

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaMemset3D, _ptds)
HEDDLE_PER_THREAD(cudaMemset3DAsync, _ptsz)
HEDDLE_PER_THREAD(cudaStreamCopyAttributes, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetAttribute, _ptsz)
HEDDLE_PER_THREAD(cudaStreamSetAttribute, _ptsz)
