// The CUDA runtime on our driver: what nvcc's host code registers and calls.
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "driver/cudart/driver_api.h"
#include "driver/cudart/types.h"

#define HEDDLE_API extern "C" __attribute__((visibility("default")))

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int chosen_device = 0;

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

/// One binary of nvcc's: loaded when it is first needed.
struct Binary {
    const void* image;
    CUmodule module = nullptr;
    cudaError_t failure = cudaSuccess;
};
struct Symbol {
    Binary* binary;
    std::string name;
    CUfunction function = nullptr;
    std::size_t bytes = 0;
};

// Binaries register before anything of this library may have been initialised, and programs call until their end.
std::map<const void*, Symbol>& functions() {
    static auto* const all = new std::map<const void*, Symbol>;
    return *all;
}
std::map<const void*, Symbol>& variables() {
    static auto* const all = new std::map<const void*, Symbol>;
    return *all;
}
std::recursive_mutex& guard() {
    static auto* const mutex = new std::recursive_mutex;
    return *mutex;
}

struct Configuration {
    dim3 grid, block;
    std::size_t shared_bytes;
    CUstream stream;
};
std::vector<Configuration>& configurations() {
    thread_local auto* const stack = new std::vector<Configuration>;
    return *stack;
}

/// The primary context of the thread's device is current.
cudaError_t ready() {
    CUcontext context = nullptr;
    CUdevice device = -1;
    cuCtxGetCurrent(&context);
    if (context != nullptr && cuCtxGetDevice(&device) == CUDA_SUCCESS && device == chosen_device) return cudaSuccess;
    if (const CUresult status = cuInit(0); status != CUDA_SUCCESS) return status;
    if (const CUresult status = cuDevicePrimaryCtxRetain(&context, chosen_device); status != CUDA_SUCCESS) return status;
    return cuCtxSetCurrent(context);
}

#define HEDDLE_CALL                                             \
    const std::lock_guard<std::recursive_mutex> lock(guard());  \
    if (const cudaError_t not_ready = ready(); not_ready != cudaSuccess) return remember(not_ready)

cudaError_t load(Binary& binary) {
    if (binary.module == nullptr && binary.failure == cudaSuccess) binary.failure = cuModuleLoadData(&binary.module, binary.image);
    return binary.failure;
}

cudaError_t function_of(const void* host, CUfunction* function) {
    const auto found = functions().find(host);
    if (found == functions().end()) {
        *function = const_cast<CUfunction>(static_cast<const Function*>(host));  // cudaGetKernel gave it
        return host == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
    }
    Symbol& symbol = found->second;
    if (symbol.function == nullptr) {
        if (const cudaError_t status = load(*symbol.binary); status != cudaSuccess) return status;
        if (const CUresult status = cuModuleGetFunction(&symbol.function, symbol.binary->module, symbol.name.c_str()); status != CUDA_SUCCESS)
            return status == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : status;
    }
    *function = symbol.function;
    return cudaSuccess;
}

cudaError_t variable_of(const void* host, CUdeviceptr* address, std::size_t* bytes) {
    const auto found = variables().find(host);
    if (found == variables().end()) return cudaErrorInvalidSymbol;
    if (const cudaError_t status = load(*found->second.binary); status != cudaSuccess) return status;
    const CUresult status = cuModuleGetGlobal_v2(address, bytes, found->second.binary->module, found->second.name.c_str());
    return status == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : status;
}

CUdeviceptr number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

cudaError_t launch(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared, CUstream stream, CUlaunchAttribute* attributes, unsigned count) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(host, &function); status != cudaSuccess) return remember(status);
    const CUlaunchConfig config{grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared), stream, attributes, count};
    const CUresult status = cuLaunchKernelEx(&config, function, arguments, nullptr);
    const bool no_arguments = arguments == nullptr;
    return remember(status == CUDA_ERROR_INVALID_VALUE && !no_arguments ? cudaErrorInvalidConfiguration : status);
}

int attribute(int which, int device) {
    int value = 0;
    cuDeviceGetAttribute(&value, which, device);
    return value;
}

}  // namespace

// Names that nvcc's host code calls.
// NOLINTBEGIN(bugprone-reserved-identifier)
HEDDLE_API void** __cudaRegisterFatBinary(void* wrapper) {
    const std::lock_guard<std::recursive_mutex> lock(guard());
    return reinterpret_cast<void**>(new Binary{wrapper});
}
HEDDLE_API void __cudaRegisterFatBinaryEnd(void**) {}
HEDDLE_API void __cudaUnregisterFatBinary(void**) {}
HEDDLE_API char __cudaInitModule(void**) { return 1; }
HEDDLE_API void __cudaRegisterFunction(void** binary, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
    const std::lock_guard<std::recursive_mutex> lock(guard());
    functions()[host] = {reinterpret_cast<Binary*>(binary), name};
}
HEDDLE_API void __cudaRegisterVar(void** binary, char* host, char*, const char* name, int, std::size_t bytes, int, int) {
    const std::lock_guard<std::recursive_mutex> lock(guard());
    variables()[host] = {reinterpret_cast<Binary*>(binary), name, nullptr, bytes};
}
HEDDLE_API void __cudaRegisterManagedVar(void** binary, void** host, char*, const char* name, int, std::size_t bytes, int, int) {
    const std::lock_guard<std::recursive_mutex> lock(guard());
    auto* const owner = reinterpret_cast<Binary*>(binary);
    variables()[host] = {owner, name, nullptr, bytes};
    CUdeviceptr address = 0;
    if (ready() == cudaSuccess && load(*owner) == cudaSuccess && cuModuleGetGlobal_v2(&address, nullptr, owner->module, name) == CUDA_SUCCESS)
        *host = reinterpret_cast<void*>(address);
}
HEDDLE_API void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) { heddle_missing("texture references"); }
HEDDLE_API void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) { heddle_missing("surface references"); }
HEDDLE_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
    configurations().push_back({grid, block, shared, static_cast<CUstream>(stream)});
    return 0;
}
HEDDLE_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    if (configurations().empty()) return remember(cudaErrorMissingConfiguration);
    const Configuration last = configurations().back();
    configurations().pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared_bytes;
    *static_cast<CUstream*>(stream) = last.stream;
    return cudaSuccess;
}
HEDDLE_API cudaError_t __cudaGetKernel(const void** kernel, const void* host) {
    *kernel = host;  // resolved at its first launch
    return cudaSuccess;
}
HEDDLE_API cudaError_t __cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, CUstream stream) {
    return launch(kernel, grid, block, arguments, shared, stream, nullptr, 0);
}
HEDDLE_API cudaError_t __cudaLaunchKernel_ptsz(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, CUstream stream) {
    return launch(kernel, grid, block, arguments, shared, stream, nullptr, 0);
}
// NOLINTEND(bugprone-reserved-identifier)
HEDDLE_API cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, CUstream stream) {
    return launch(kernel, grid, block, arguments, shared, stream, nullptr, 0);
}
HEDDLE_API cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, CUstream stream) {
    CUlaunchAttribute cooperative{kAttributeCooperative, {}, {}};
    cooperative.value.cooperative = 1;
    return launch(kernel, grid, block, arguments, shared, stream, &cooperative, 1);
}
HEDDLE_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig* config, const void* kernel, void** arguments) {
    return launch(kernel, config->grid, config->block, arguments, config->shared_bytes, config->stream, config->attributes, config->count);
}
HEDDLE_API cudaError_t cudaGetFuncBySymbol(CUfunction* function, const void* symbol) {
    HEDDLE_CALL;
    return remember(function_of(symbol, function));
}
HEDDLE_API cudaError_t cudaGetKernel(CUfunction* kernel, const void* symbol) { return cudaGetFuncBySymbol(kernel, symbol); }
HEDDLE_API cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    const cudaError_t status = function_of(symbol, &function);
    return remember(status != cudaSuccess ? status : cuFuncGetName(name, function));
}
HEDDLE_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(symbol, &function); status != cudaSuccess) return remember(status);
    const auto value = [&](int which) {
        int found = 0;
        cuFuncGetAttribute(&found, which, function);
        return found;
    };
    *attributes = {};
    attributes->maxThreadsPerBlock = value(0);
    attributes->sharedSizeBytes = static_cast<std::size_t>(value(1));
    attributes->constSizeBytes = static_cast<std::size_t>(value(2));
    attributes->localSizeBytes = static_cast<std::size_t>(value(3));
    attributes->numRegs = value(4);
    attributes->ptxVersion = value(5);
    attributes->binaryVersion = value(6);
    attributes->maxDynamicSharedSizeBytes = value(8);
    attributes->preferredShmemCarveout = -1;
    attributes->clusterDimMustBeSet = value(10);
    attributes->requiredClusterWidth = value(11);
    attributes->requiredClusterHeight = value(12);
    attributes->requiredClusterDepth = value(13);
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaFuncSetAttribute(const void* symbol, int which, int value) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    const cudaError_t status = function_of(symbol, &function);
    return remember(status != cudaSuccess ? status : cuFuncSetAttribute(function, which, value));
}
HEDDLE_API cudaError_t cudaFuncSetCacheConfig(const void*, int) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaFuncSetSharedMemConfig(const void*, int) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* symbol, int threads, std::size_t shared, unsigned flags) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    const cudaError_t status = function_of(symbol, &function);
    return remember(status != cudaSuccess ? status : cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags));
}
HEDDLE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* symbol, int threads, std::size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, threads, shared, 0);
}
HEDDLE_API cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* symbol, const cudaLaunchConfig* config) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(symbol, &function); status != cudaSuccess) return remember(status);
    const CUlaunchConfig given{config->grid.x, config->grid.y, config->grid.z, config->block.x, config->block.y, config->block.z,
                               static_cast<unsigned>(config->shared_bytes), config->stream, config->attributes, config->count};
    return remember(cuOccupancyMaxActiveClusters(clusters, function, &given));
}
HEDDLE_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* symbol, const cudaLaunchConfig*) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(symbol, &function); status != cudaSuccess) return remember(status);
    return remember(cuOccupancyMaxPotentialClusterSize(size, function, nullptr));
}
HEDDLE_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* symbol, int blocks, int) {
    HEDDLE_CALL;
    cudaFuncAttributes attributes;
    const cudaError_t status = cudaFuncGetAttributes(&attributes, symbol);
    *bytes = static_cast<std::size_t>(attribute(81, chosen_device)) / static_cast<std::size_t>(blocks) - static_cast<std::size_t>(attribute(111, chosen_device)) - attributes.sharedSizeBytes;
    return status;
}

HEDDLE_API cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
HEDDLE_API cudaError_t cudaPeekAtLastError() { return last_error; }
namespace {
struct RuntimeError {
    cudaError_t code;
    const char *name, *text;
};
// Where the runtime's names and texts are not those of the driver.
constexpr RuntimeError kErrors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {52, "cudaErrorMissingConfiguration", "__global__ function call is not configured"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {999, "cudaErrorUnknown", "unknown error"},
};
}  // namespace
HEDDLE_API const char* cudaGetErrorName(cudaError_t error) {
    for (const RuntimeError& known : kErrors)
        if (known.code == error) return known.name;
    const char* name = nullptr;
    return cuGetErrorName(error, &name) == CUDA_SUCCESS ? name : "unrecognized error code";
}
HEDDLE_API const char* cudaGetErrorString(cudaError_t error) {
    for (const RuntimeError& known : kErrors)
        if (known.code == error) return known.text;
    const char* text = nullptr;
    return cuGetErrorString(error, &text) == CUDA_SUCCESS ? text : "unrecognized error code";
}

HEDDLE_API cudaError_t cudaGetDeviceCount(int* count) {
    *count = 0;
    if (const CUresult status = cuInit(0); status != CUDA_SUCCESS) return remember(status);
    return remember(cuDeviceGetCount(count));
}
HEDDLE_API cudaError_t cudaGetDevice(int* device) {
    *device = chosen_device;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaSetDevice(int device) {
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) return status;
    if (device < 0 || device >= count) return remember(cudaErrorInvalidDevice);
    chosen_device = device;
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
HEDDLE_API cudaError_t cudaDeviceSynchronize() {
    HEDDLE_CALL;
    return remember(cuCtxSynchronize());
}
HEDDLE_API cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
HEDDLE_API cudaError_t cudaDeviceReset() {
    HEDDLE_CALL;
    return remember(cuDevicePrimaryCtxReset_v2(chosen_device));
}
HEDDLE_API cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
HEDDLE_API cudaError_t cudaDeviceGetAttribute(int* value, int which, int device) {
    HEDDLE_CALL;
    return remember(cuDeviceGetAttribute(value, which, device));
}
HEDDLE_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
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
    p->deviceNumaId = p->hostNumaId = -1;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaDriverGetVersion(int* version) { return remember(cuDriverGetVersion(version)); }
HEDDLE_API cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = HEDDLE_CUDART * 1000;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
    HEDDLE_CALL;
    return remember(cuDeviceGetPCIBusId(text, bytes, device));
}
HEDDLE_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
    HEDDLE_CALL;
    return remember(cuDeviceGetByPCIBusId(device, text));
}
HEDDLE_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    HEDDLE_CALL;
    return remember(cuDeviceCanAccessPeer(can, device, peer));
}
HEDDLE_API cudaError_t cudaDeviceGetP2PAttribute(int* value, int which, int from, int to) { return remember(cuDeviceGetP2PAttribute(value, which, from, to)); }
HEDDLE_API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaDeviceDisablePeerAccess(int) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaDeviceGetLimit(std::size_t* value, unsigned limit) {
    HEDDLE_CALL;
    return remember(cuCtxGetLimit(value, limit));
}
HEDDLE_API cudaError_t cudaDeviceSetLimit(unsigned limit, std::size_t value) {
    HEDDLE_CALL;
    return remember(cuCtxSetLimit(limit, value));
}
HEDDLE_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return remember(cuCtxGetStreamPriorityRange(least, greatest)); }
HEDDLE_API cudaError_t cudaDeviceSetCacheConfig(int) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaDeviceGetCacheConfig(int* config) {
    *config = 0;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaDeviceSetSharedMemConfig(int) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
HEDDLE_API cudaError_t cudaProfilerStart() { return remember(cuProfilerStart()); }
HEDDLE_API cudaError_t cudaProfilerStop() { return remember(cuProfilerStop()); }
HEDDLE_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned version, unsigned long long flags, int* found) {
    return remember(cuGetProcAddress_v2(name, entry, static_cast<int>(version), flags, found));
}
HEDDLE_API cudaError_t cudaGetDriverEntryPoint(const char* name, void** entry, unsigned long long flags, int* found) {
    return cudaGetDriverEntryPointByVersion(name, entry, 13000, flags, found);
}

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
HEDDLE_API cudaError_t cudaMallocAsync(void** address, std::size_t bytes, CUstream) { return cudaMalloc(address, bytes); }
HEDDLE_API cudaError_t cudaMallocFromPoolAsync(void** address, std::size_t bytes, Pool*, CUstream) { return cudaMalloc(address, bytes); }
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
HEDDLE_API cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuMemHostAlloc(address, bytes, flags));
}
HEDDLE_API cudaError_t cudaMallocHost(void** address, std::size_t bytes) { return cudaHostAlloc(address, bytes, 0); }
HEDDLE_API cudaError_t cudaFree(void* address) {
    HEDDLE_CALL;
    return remember(address == nullptr ? cudaSuccess : cuMemFree_v2(number(address)));
}
HEDDLE_API cudaError_t cudaFreeAsync(void* address, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuMemFreeAsync(number(address), stream));
}
HEDDLE_API cudaError_t cudaFreeHost(void* address) { return cudaFree(address); }
HEDDLE_API cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
    *flags = 3;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = cuMemHostGetDevicePointer_v2(&at, host, flags);
    *device = reinterpret_cast<void*>(at);
    return remember(status);
}
HEDDLE_API cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all) {
    HEDDLE_CALL;
    return remember(cuMemGetInfo_v2(free_bytes, all));
}
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
    if (p->srcArray != nullptr || p->dstArray != nullptr) return remember(heddle_missing("cudaMemcpy3D of arrays"));
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
HEDDLE_API cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    HEDDLE_CALL;
    return remember(cuMemsetD8_v2(number(to), static_cast<unsigned char>(value), bytes));
}
HEDDLE_API cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuMemsetD8Async(number(to), static_cast<unsigned char>(value), bytes, stream));
}
HEDDLE_API cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    HEDDLE_CALL;
    return remember(cuMemsetD2D8_v2(number(to), pitch, static_cast<unsigned char>(value), width, height));
}
HEDDLE_API cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuMemsetD2D8Async(number(to), pitch, static_cast<unsigned char>(value), width, height, stream));
}
HEDDLE_API cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, std::uint64_t, unsigned, CUstream) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaMemAdvise(const void*, std::size_t, int, std::uint64_t) { return cudaSuccess; }
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

HEDDLE_API cudaError_t cudaStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    HEDDLE_CALL;
    return remember(cuStreamCreateWithPriority(stream, flags, priority));
}
HEDDLE_API cudaError_t cudaStreamCreateWithFlags(CUstream* stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
HEDDLE_API cudaError_t cudaStreamCreate(CUstream* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
HEDDLE_API cudaError_t cudaStreamDestroy(CUstream stream) { return remember(cuStreamDestroy_v2(stream)); }
HEDDLE_API cudaError_t cudaStreamSynchronize(CUstream stream) {
    HEDDLE_CALL;
    return remember(cuStreamSynchronize(stream));
}
HEDDLE_API cudaError_t cudaStreamQuery(CUstream stream) {
    HEDDLE_CALL;
    return remember(cuStreamQuery(stream));
}
HEDDLE_API cudaError_t cudaStreamGetFlags(CUstream stream, unsigned* flags) { return remember(cuStreamGetFlags(stream, flags)); }
HEDDLE_API cudaError_t cudaStreamGetPriority(CUstream stream, int* priority) { return remember(cuStreamGetPriority(stream, priority)); }
HEDDLE_API cudaError_t cudaStreamGetId(CUstream stream, unsigned long long* id) { return remember(cuStreamGetId(stream, id)); }
HEDDLE_API cudaError_t cudaStreamGetDevice(CUstream, int* device) { return cudaGetDevice(device); }
HEDDLE_API cudaError_t cudaStreamSetAttribute(CUstream, int, const void*) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) { return remember(cuStreamWaitEvent(stream, event, flags)); }
HEDDLE_API cudaError_t cudaStreamAddCallback(CUstream stream, void (*function)(CUstream, CUresult, void*), void* data, unsigned flags) { return remember(cuStreamAddCallback(stream, function, data, flags)); }
HEDDLE_API cudaError_t cudaStreamAttachMemAsync(CUstream, void*, std::size_t, unsigned) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaLaunchHostFunc(CUstream stream, void (*function)(void*), void* data) {
    HEDDLE_CALL;
    return remember(cuLaunchHostFunc(stream, function, data));
}
HEDDLE_API cudaError_t cudaEventCreateWithFlags(CUevent* event, unsigned flags) {
    HEDDLE_CALL;
    return remember(cuEventCreate(event, flags));
}
HEDDLE_API cudaError_t cudaEventCreate(CUevent* event) { return cudaEventCreateWithFlags(event, 0); }
HEDDLE_API cudaError_t cudaEventDestroy(CUevent event) { return remember(cuEventDestroy_v2(event)); }
HEDDLE_API cudaError_t cudaEventRecord(CUevent event, CUstream stream) { return remember(cuEventRecord(event, stream)); }
HEDDLE_API cudaError_t cudaEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return remember(cuEventRecord(event, stream)); }
HEDDLE_API cudaError_t cudaEventQuery(CUevent event) { return remember(cuEventQuery(event)); }
HEDDLE_API cudaError_t cudaEventSynchronize(CUevent event) { return remember(cuEventSynchronize(event)); }
HEDDLE_API cudaError_t cudaEventElapsedTime(float* milliseconds, CUevent from, CUevent to) { return remember(cuEventElapsedTime_v2(milliseconds, from, to)); }

HEDDLE_API cudaError_t cudaStreamBeginCapture(CUstream stream, int mode) { return remember(cuStreamBeginCapture_v2(stream, mode)); }
HEDDLE_API cudaError_t cudaStreamEndCapture(CUstream stream, Graph** graph) { return remember(cuStreamEndCapture(stream, graph)); }
HEDDLE_API cudaError_t cudaStreamIsCapturing(CUstream stream, int* state) { return remember(cuStreamIsCapturing(stream, state)); }
HEDDLE_API cudaError_t cudaThreadExchangeStreamCaptureMode(int*) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaGraphCreate(Graph** graph, unsigned flags) { return remember(cuGraphCreate(graph, flags)); }
HEDDLE_API cudaError_t cudaGraphDestroy(Graph* graph) { return remember(cuGraphDestroy(graph)); }
HEDDLE_API cudaError_t cudaGraphInstantiate(GraphExec** executable, Graph* graph, unsigned long long flags) { return remember(cuGraphInstantiateWithFlags(executable, graph, flags)); }
HEDDLE_API cudaError_t cudaGraphInstantiateWithFlags(GraphExec** executable, Graph* graph, unsigned long long flags) { return remember(cuGraphInstantiateWithFlags(executable, graph, flags)); }
HEDDLE_API cudaError_t cudaGraphExecUpdate(GraphExec* executable, Graph* graph, unsigned* result) { return remember(cuGraphExecUpdate_v2(executable, graph, result)); }
HEDDLE_API cudaError_t cudaGraphExecDestroy(GraphExec* executable) { return remember(cuGraphExecDestroy(executable)); }
HEDDLE_API cudaError_t cudaGraphUpload(GraphExec*, CUstream) { return cudaSuccess; }
HEDDLE_API cudaError_t cudaGraphLaunch(GraphExec* executable, CUstream stream) {
    HEDDLE_CALL;
    return remember(cuGraphLaunch(executable, stream));
}
HEDDLE_API cudaError_t cudaGraphAddKernelNode(void* node, Graph* graph, void* after, std::size_t count, const void* parameters) {
    HEDDLE_CALL;
    // cudaKernelNodeParams names a host function where the driver names one of the device.
    struct {
        void* function;
        unsigned grid[3], block[3], shared_bytes;
        void **arguments, **extra;
        void *kernel, *context;
    } given{};
    std::memcpy(&given, parameters, 56);
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(given.function, &function); status != cudaSuccess) return remember(status);
    given.function = function;
    return remember(cuGraphAddKernelNode_v2(node, graph, after, count, &given));
}
HEDDLE_API cudaError_t cudaGraphAddEmptyNode(void* node, Graph* graph, void* after, std::size_t count) { return remember(cuGraphAddEmptyNode(node, graph, after, count)); }
HEDDLE_API cudaError_t cudaGraphAddHostNode(void* node, Graph* graph, void* after, std::size_t count, void* parameters) { return remember(cuGraphAddHostNode(node, graph, after, count, parameters)); }
HEDDLE_API cudaError_t cudaGraphAddDependencies(Graph* graph, void* from, void* to, std::size_t count) { return remember(cuGraphAddDependencies(graph, from, to, count)); }
HEDDLE_API cudaError_t cudaGraphGetNodes(Graph* graph, void* nodes, std::size_t* count) { return remember(cuGraphGetNodes(graph, nodes, count)); }
