// What nvcc's host code registers with the runtime, and how it launches.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

namespace {

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

struct Configuration {
    dim3 grid, block;
    std::size_t shared_bytes;
    CUstream stream;
};
std::vector<Configuration>& configurations() {
    thread_local auto* const stack = new std::vector<Configuration>;
    return *stack;
}

cudaError_t load(Binary& binary) {
    if (binary.module == nullptr && binary.failure == cudaSuccess) binary.failure = cuModuleLoadData(&binary.module, binary.image);
    return binary.failure;
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

}  // namespace

namespace heddle::runtime {

std::recursive_mutex& guard() {
    static auto* const mutex = new std::recursive_mutex;
    return *mutex;
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

const void* host_of(CUfunction function) {
    for (const auto& [host, symbol] : functions())
        if (symbol.function == function) return host;
    return function;
}

cudaError_t variable_of(const void* host, CUdeviceptr* address, std::size_t* bytes) {
    const auto found = variables().find(host);
    if (found == variables().end()) return cudaErrorInvalidSymbol;
    if (const cudaError_t status = load(*found->second.binary); status != cudaSuccess) return status;
    const CUresult status = cuModuleGetGlobal_v2(address, bytes, found->second.binary->module, found->second.name.c_str());
    return status == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : status;
}

}  // namespace heddle::runtime

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
HEDDLE_PASS(cudaFuncSetCacheConfig, (const void*, int config), cuCtxSetCacheConfig(config))
HEDDLE_PASS(cudaFuncSetSharedMemConfig, (const void*, int config), cuCtxSetSharedMemConfig(config))
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
HEDDLE_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* symbol, int blocks, int threads) {
    HEDDLE_CALL;
    CUfunction function = nullptr;
    if (const cudaError_t status = function_of(symbol, &function); status != cudaSuccess) return remember(status);
    return remember(cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(__cudaLaunchKernel, _ptsz)  // NOLINT(bugprone-reserved-identifier)
HEDDLE_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz)
HEDDLE_PER_THREAD(cudaLaunchKernel, _ptsz)
HEDDLE_PER_THREAD(cudaLaunchKernelExC, _ptsz)
