// Devices, what went wrong in a thread, and how functions of the driver are found.
#include <cstring>
#include <initializer_list>

#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"
#include "driver/protocol/errors.h"

using namespace heddle::runtime;

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int device_of_thread = 0;

}  // namespace

namespace heddle::runtime {

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

int& chosen_device() {
    return device_of_thread;
}

cudaError_t ready() {
    CUcontext context = nullptr;
    CUdevice device = -1;
    cuCtxGetCurrent(&context);
    if (context != nullptr && cuCtxGetDevice(&device) == CUDA_SUCCESS && device == device_of_thread) return cudaSuccess;
    if (const CUresult status = cuInit(0); status != CUDA_SUCCESS) return status;
    if (const CUresult status = cuDevicePrimaryCtxRetain(&context, device_of_thread); status != CUDA_SUCCESS) return status;
    return cuCtxSetCurrent(context);
}

int attribute(int which, int device) {
    int value = 0;
    cuDeviceGetAttribute(&value, which, device);
    return value;
}

}  // namespace heddle::runtime

HEDDLE_API cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
HEDDLE_API cudaError_t cudaPeekAtLastError() { return last_error; }
HEDDLE_API const char* cudaGetErrorName(cudaError_t error) {
    const heddle::driver::ErrorText* const known = heddle::driver::find_error(error);
    return known == nullptr || known->runtime == nullptr ? "unrecognized error code" : known->runtime;
}
HEDDLE_API const char* cudaGetErrorString(cudaError_t error) {
    const heddle::driver::ErrorText* const known = heddle::driver::find_error(error);
    return known == nullptr || known->runtime == nullptr ? "unrecognized error code" : known->text;
}

HEDDLE_API cudaError_t cudaGetDeviceCount(int* count) {
    *count = 0;
    if (const CUresult status = cuInit(0); status != CUDA_SUCCESS) return remember(status);
    return remember(cuDeviceGetCount(count));
}
HEDDLE_API cudaError_t cudaGetDevice(int* device) {
    *device = chosen_device();
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaSetDevice(int device) {
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) return status;
    if (device < 0 || device >= count) return remember(cudaErrorInvalidDevice);
    chosen_device() = device;
    return remember(ready());
}
HEDDLE_API cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
HEDDLE_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
    *device = 0;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    *flags = 8;  // host memory can be mapped
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }
HEDDLE_PASS(cudaDeviceSynchronize, (), cuCtxSynchronize())
HEDDLE_PASS(cudaDeviceReset, (), cuDevicePrimaryCtxReset_v2(chosen_device()))
HEDDLE_PASS(cudaDeviceGetAttribute, (int* value, int which, int device), cuDeviceGetAttribute(value, which, device))
namespace {
/// What both layouts have.
template <class Properties>
cudaError_t describe(Properties* p, int device) {
    HEDDLE_CALL;
    int count = 0;
    cuDeviceGetCount(&count);
    if (device < 0 || device >= count) return remember(cudaErrorInvalidDevice);
    const auto value = [device](int which) { return attribute(which, device); };
    const auto size = [device](int which) { return static_cast<std::size_t>(attribute(which, device)); };
    *p = {};
    cuDeviceGetName(p->name, sizeof p->name, device);
    CUuuid uuid;
    cuDeviceGetUuid_v2(&uuid, device);
    std::memcpy(p->uuid, uuid.bytes, sizeof p->uuid);
    cuDeviceTotalMem_v2(&p->totalGlobalMem, device);
    p->sharedMemPerBlock = size(8);
    p->regsPerBlock = value(12);
    p->warpSize = value(10);
    p->memPitch = size(11);
    p->maxThreadsPerBlock = value(1);
    for (int i = 0; i < 3; ++i) p->maxThreadsDim[i] = value(2 + i), p->maxGridSize[i] = value(5 + i);
    p->totalConstMem = size(9);
    p->major = value(75);
    p->minor = value(76);
    p->textureAlignment = size(14);
    p->texturePitchAlignment = size(51);
    p->surfaceAlignment = size(14);
    p->maxTexture1D = value(21);
    p->maxTextureCubemap = value(52);
    p->maxSurface1D = value(55);
    p->maxSurfaceCubemap = value(66);
    for (int i = 0; i < 2; ++i) {
        p->maxTexture2D[i] = value(22 + i);
        p->maxTexture2DGather[i] = value(45 + i);
        p->maxTexture1DLayered[i] = value(42 + i);
        p->maxTextureCubemapLayered[i] = value(53 + i);
        p->maxSurface2D[i] = value(56 + i);
        p->maxSurface1DLayered[i] = value(61 + i);
        p->maxSurfaceCubemapLayered[i] = value(67 + i);
    }
    for (int i = 0; i < 3; ++i) {
        p->maxTexture3D[i] = value(24 + i);
        p->maxTexture2DLayered[i] = value(27 + i);
        p->maxTexture2DLinear[i] = value(70 + i);
        p->maxSurface3D[i] = value(58 + i);
        p->maxSurface2DLayered[i] = value(63 + i);
    }
    p->multiProcessorCount = value(16);
    p->canMapHostMemory = value(19);
    p->concurrentKernels = value(31);
    p->pciBusID = value(33);
    p->asyncEngineCount = value(40);
    p->unifiedAddressing = value(41);
    p->memoryBusWidth = value(37);
    p->l2CacheSize = value(38);
    p->persistingL2CacheMaxSize = value(108);
    p->maxThreadsPerMultiProcessor = value(39);
    p->streamPrioritiesSupported = value(78);
    p->globalL1CacheSupported = value(79);
    p->localL1CacheSupported = value(80);
    p->sharedMemPerMultiprocessor = size(81);
    p->regsPerMultiprocessor = value(82);
    p->managedMemory = value(83);
    p->concurrentManagedAccess = value(89);
    p->computePreemptionSupported = value(90);
    p->cooperativeLaunch = value(95);
    p->sharedMemPerBlockOptin = size(97);
    p->directManagedMemAccessFromHost = value(101);
    p->maxBlocksPerMultiProcessor = value(106);
    p->accessPolicyMaxWindowSize = value(109);
    p->reservedSharedMemPerBlock = size(111);
    p->hostRegisterSupported = value(99);
    p->memoryPoolsSupported = value(115);
    p->clusterLaunch = value(120);
    p->surfaceAlignment = size(30);
    p->maxTexture1D = value(21);
    p->maxTexture1DMipmap = value(77);
    p->maxTextureCubemap = value(52);
    p->maxSurface1D = value(55);
    p->maxSurfaceCubemap = value(66);
    // Pairs and triples of limits.
    const auto many = [&value](int* out, std::initializer_list<int> which) {
        for (const int each : which) *out++ = value(each);
    };
    many(p->maxTexture2D, {22, 23});
    many(p->maxTexture2DMipmap, {73, 74});
    many(p->maxTexture2DLinear, {70, 71, 72});
    many(p->maxTexture2DGather, {45, 46});
    many(p->maxTexture3D, {24, 25, 26});
    many(p->maxTexture3DAlt, {47, 48, 49});
    many(p->maxTexture1DLayered, {42, 43});
    many(p->maxTexture2DLayered, {27, 28, 29});
    many(p->maxTextureCubemapLayered, {53, 54});
    many(p->maxSurface2D, {56, 57});
    many(p->maxSurface3D, {58, 59, 60});
    many(p->maxSurface1DLayered, {61, 62});
    many(p->maxSurface2DLayered, {63, 64, 65});
    many(p->maxSurfaceCubemapLayered, {67, 68});
    p->gpuDirectRDMASupported = value(116);
    p->unifiedFunctionPointers = value(129);
    return cudaSuccess;
}
}  // namespace
#if HEDDLE_CUDART == 12
HEDDLE_API cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp12* p, int device) {
    const cudaError_t status = describe(p, device);
    if (status != cudaSuccess) return status;
    p->clockRate = attribute(13, device);
    p->deviceOverlap = attribute(15, device);
    p->memoryClockRate = attribute(36, device);
    p->singleToDoublePrecisionPerfRatio = attribute(87, device);
    p->cooperativeMultiDeviceLaunch = attribute(96, device);
    p->maxTexture1DLinear = attribute(69, device);
    return cudaSuccess;
}
#else
HEDDLE_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    const cudaError_t status = describe(p, device);
    if (status == cudaSuccess) p->deviceNumaId = p->hostNumaId = -1;
    return status;
}
#endif
HEDDLE_API cudaError_t cudaDriverGetVersion(int* version) { return remember(cuDriverGetVersion(version)); }
HEDDLE_API cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = kRuntimeVersion;
    return cudaSuccess;
}
HEDDLE_PASS(cudaDeviceGetPCIBusId, (char* text, int bytes, int device), cuDeviceGetPCIBusId(text, bytes, device))
HEDDLE_PASS(cudaDeviceGetByPCIBusId, (int* device, const char* text), cuDeviceGetByPCIBusId(device, text))
HEDDLE_PASS(cudaDeviceCanAccessPeer, (int* can, int device, int peer), cuDeviceCanAccessPeer(can, device, peer))
HEDDLE_API cudaError_t cudaDeviceGetP2PAttribute(int* value, int which, int from, int to) { return remember(cuDeviceGetP2PAttribute(value, which, from, to)); }
HEDDLE_API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaDeviceDisablePeerAccess(int) { return cudaSuccess; }
HEDDLE_PASS(cudaDeviceGetLimit, (std::size_t* value, unsigned limit), cuCtxGetLimit(value, limit))
HEDDLE_PASS(cudaDeviceSetLimit, (unsigned limit, std::size_t value), cuCtxSetLimit(limit, value))
HEDDLE_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return remember(cuCtxGetStreamPriorityRange(least, greatest)); }
HEDDLE_PASS(cudaDeviceSetCacheConfig, (int config), cuCtxSetCacheConfig(config))
HEDDLE_API cudaError_t cudaDeviceGetCacheConfig(int* config) {
    *config = 0;
    return cudaSuccess;
}
HEDDLE_PASS(cudaDeviceSetSharedMemConfig, (int config), cuCtxSetSharedMemConfig(config))
HEDDLE_PASS(cudaCtxResetPersistingL2Cache, (), cuCtxResetPersistingL2Cache())
HEDDLE_API cudaError_t cudaProfilerStart() { return remember(cuProfilerStart()); }
HEDDLE_API cudaError_t cudaProfilerStop() { return remember(cuProfilerStop()); }
HEDDLE_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned version, unsigned long long flags, int* found) {
    int why = 0;
    const CUresult status = cuGetProcAddress_v2(name, entry, static_cast<int>(version), flags, found != nullptr ? found : &why);
    return remember(status == CUDA_ERROR_NOT_FOUND ? cudaSuccess : status);  // `found` and the missing address say so
}
HEDDLE_API cudaError_t cudaGetDriverEntryPoint(const char* name, void** entry, unsigned long long flags, int* found) {
    return cudaGetDriverEntryPointByVersion(name, entry, kRuntimeVersion, flags, found);
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaGetDriverEntryPoint, _ptsz)
HEDDLE_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz)
