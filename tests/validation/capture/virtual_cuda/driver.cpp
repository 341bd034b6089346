// The driver API, as far as the capture program uses it: all but modules and kernels (kernels.cpp).
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "isa/common/error.h"
#include "isa/ptx/tensor_map.h"
#include "state.h"

using namespace heddle;
using namespace heddle::virtual_cuda;

struct CUctx_st {};
struct CUevent_st {
    double time_ms = -1;
};
struct CUgraphExec_st {
    std::vector<Work> work;
};

namespace heddle::virtual_cuda {

Driver& driver() {
    static Driver instance;
    return instance;
}

CUresult destroy(const void* handle) {
    return driver().objects.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult submit(CUstream stream, Work work) {
    if (driver().sticky != CUDA_SUCCESS) return driver().sticky;
    if (stream != nullptr && stream->capturing) {
        stream->capturing->nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{std::move(work)}));
        return CUDA_SUCCESS;
    }
    try {
        driver().clock_ms += 1e-3;
        if (work.perform) work.perform();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "virtual CUDA: %s\n", failure.what());
        driver().sticky = CUDA_ERROR_LAUNCH_FAILED;
    }
    return CUDA_SUCCESS;  // a kernel's failure shows at the next synchronisation
}

CUfunction named_function(const std::string& name) {
    static std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
    auto& function = functions[name];
    if (!function) function = std::make_unique<CUfunc_st>(CUfunc_st{name, nullptr});
    return function.get();
}

}  // namespace heddle::virtual_cuda

namespace {

constexpr std::uint64_t kTotalBytes = std::uint64_t{8} << 30;

bool in_bounds(CUdeviceptr address, std::size_t bytes) {
    const auto next = driver().sizes.upper_bound(address);
    if (next == driver().sizes.begin()) return false;
    const auto& allocation = *std::prev(next);
    return address - allocation.first <= allocation.second &&
           bytes <= allocation.second - (address - allocation.first);
}

CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes) {
    if (!in_bounds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    driver().memory.write(to, {static_cast<const std::byte*>(from), bytes});
    return CUDA_SUCCESS;
}
CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes) {
    if (driver().sticky != CUDA_SUCCESS) return driver().sticky;
    if (!in_bounds(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    driver().memory.read(from, {static_cast<std::byte*>(to), bytes});
    return CUDA_SUCCESS;
}
CUresult set_bytes(CUdeviceptr to, const void* pattern, std::size_t size, std::size_t count) {
    if (!in_bounds(to, size * count)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::byte> bytes(size * count);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * size, pattern, size);
    driver().memory.write(to, bytes);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
    *text = error == CUDA_SUCCESS ? "no error" : "an error of the virtual driver";
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
    *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_VIRTUAL";
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuInit(unsigned) {
    driver().initialised = true;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetCount(int* count) {
    if (!driver().initialised) return CUDA_ERROR_NOT_INITIALIZED;
    *count = 1;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
    if (!driver().initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice) {
    std::strncpy(name, "Heddle virtual GPU (not silicon)", static_cast<std::size_t>(length));
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
    std::memset(uuid, 7, sizeof *uuid);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceTotalMem(size_t* bytes, CUdevice) {
    *bytes = kTotalBytes;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = 0;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 4;
            break;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            *value = 1 << 20;
            break;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
            *value = 1000000;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = 227 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            *value = 48 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            *value = 32;
            break;
        default:
            *value = attribute < CU_DEVICE_ATTRIBUTE_MAX ? 1 : 0;
            break;
    }
    return attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---- contexts ----

static CUctx_st the_context;

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    ++driver().retained;
    *context = &the_context;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice) {
    Driver& state = driver();
    if (state.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--state.retained > 0) return CUDA_SUCCESS;
    if (state.library_handles > 0) {
        std::fputs("virtual CUDA: a handle of cublasLt outlives its context\n", stderr);
        std::abort();
    }
    // The last one to let go destroys it, whatever state it is in.
    state.sticky = CUDA_SUCCESS;
    state.objects.clear();
    while (!state.sizes.empty()) cuMemFree(state.sizes.begin()->first);
    state.context = nullptr;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
    driver().context = *context = &the_context;
    return CUDA_SUCCESS;
}
#undef cuCtxCreate
CUresult CUDAAPI cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
    driver().context = *context = &the_context;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxDestroy(CUcontext) {
    driver().context = nullptr;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
    driver().context = context;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
    *context = driver().context;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSynchronize(void) {
    return driver().sticky;
}

// ---- memory ----

CUresult CUDAAPI cuMemGetInfo(size_t* free, size_t* total) {
    *total = kTotalBytes;
    *free = kTotalBytes - driver().allocated_bytes;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, size_t bytes) {
    if (driver().sticky != CUDA_SUCCESS) return driver().sticky;
    if (driver().context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (driver().allocated_bytes + bytes > kTotalBytes) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = driver().memory.allocate("cuMemAlloc", bytes, true);
    const std::vector<std::byte> noise(std::min<std::size_t>(bytes, 4096),
                                       std::byte{0xA5});  // undefined values
    driver().memory.write(*address, noise);
    driver().sizes[*address] = bytes;
    driver().allocated_bytes += bytes;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
    if (driver().sticky != CUDA_SUCCESS) return driver().sticky;
    const auto found = driver().sizes.find(address);
    if (found == driver().sizes.end()) return CUDA_ERROR_INVALID_VALUE;
    driver().allocated_bytes -= found->second;
    if (ptx::Allocation* allocation = driver().memory.find(address, 1)) {
        allocation->data = {};
        allocation->backed = false;
        allocation->bytes = 0;  // uses after this are out of bounds
    }
    driver().sizes.erase(found);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemAllocHost(void** pointer, size_t bytes) {
    *pointer = std::malloc(bytes);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFreeHost(void* pointer) {
    std::free(pointer);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
    return driver().sticky != CUDA_SUCCESS ? driver().sticky : copy_in(to, from, bytes);
}
CUresult CUDAAPI cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
    return copy_out(to, from, bytes);
}
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    if (!in_bounds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    const auto* source = static_cast<const std::byte*>(from);
    return submit(stream, {.perform = [=, copy = std::vector<std::byte>(source, source + bytes)] {
                      copy_in(to, copy.data(), copy.size());
                  }});
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    if (!in_bounds(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, {.perform = [=] { copy_out(to, from, bytes); }});
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    if (!in_bounds(from, bytes) || !in_bounds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, {.perform = [=] {
                      std::vector<std::byte> copy(bytes);
                      copy_out(copy.data(), from, bytes);
                      copy_in(to, copy.data(), bytes);
                  }});
}
CUresult CUDAAPI cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
    return driver().sticky != CUDA_SUCCESS ? driver().sticky : set_bytes(to, &value, 1, count);
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    if (!in_bounds(to, count)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, {.perform = [=] { set_bytes(to, &value, 1, count); }});
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    if (!in_bounds(to, 4 * count)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, {.perform = [=] { set_bytes(to, &value, 4, count); }});
}

// ---- streams, events, graphs ----

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned) {
    *stream = own(std::make_unique<CUstream_st>());
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
    return destroy(stream);
}
CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
    if (stream != nullptr && stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return driver().sticky;
}
CUresult CUDAAPI cuStreamQuery(CUstream) {
    return driver().sticky;
}
CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
    if (stream == nullptr || stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream->capturing = std::make_unique<CUgraph_st>();
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    if (!stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    *graph = own(std::move(stream->capturing));
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    *status = stream->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned) {
    *event = own(std::make_unique<CUevent_st>());
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventDestroy(CUevent event) {
    return destroy(event);
}
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
    if (stream != nullptr && stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    event->time_ms = driver().clock_ms;
    return driver().sticky;
}
CUresult CUDAAPI cuEventSynchronize(CUevent) {
    return driver().sticky;
}
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    if (start->time_ms < 0 || end->time_ms < 0) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = static_cast<float>(end->time_ms - start->time_ms);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    if (nodes != nullptr)
        for (std::size_t i = 0; i < std::min(*count, graph->nodes.size()); ++i)
            nodes[i] = graph->nodes[i].get();
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    *type = node->work.function != nullptr ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_MEMSET;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    if (node->work.function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = {};
    parameters->func = node->work.function;
    parameters->gridDimX = node->work.grid[0];
    parameters->gridDimY = node->work.grid[1];
    parameters->gridDimZ = node->work.grid[2];
    parameters->blockDimX = node->work.block[0];
    parameters->blockDimY = node->work.block[1];
    parameters->blockDimZ = node->work.block[2];
    parameters->sharedMemBytes = node->work.shared_bytes;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
    auto made = std::make_unique<CUgraphExec_st>();
    for (const auto& node : graph->nodes) made->work.push_back(node->work);
    *executable = own(std::move(made));
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphUpload(CUgraphExec, CUstream) {
    return driver().sticky;
}
CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    for (const Work& work : executable->work)
        if (const CUresult result = submit(stream, work); result != CUDA_SUCCESS) return result;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec executable) {
    return destroy(executable);
}
CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
    return destroy(graph);
}

// ---- the rest ----

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                        void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                        const cuuint32_t* box, const cuuint32_t* element_strides,
                                        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    ptx::TensorMap made;
    made.type = static_cast<ptx::TensorMapType>(type);
    made.rank = static_cast<std::uint8_t>(rank);
    made.address = reinterpret_cast<std::uint64_t>(address);
    made.interleave = static_cast<std::uint8_t>(interleave);
    made.swizzle = static_cast<ptx::TensorMapSwizzle>(swizzle);
    made.promotion = static_cast<ptx::TensorMapPromotion>(promotion);
    made.fill = static_cast<ptx::TensorMapFill>(fill);
    for (unsigned i = 0; i < rank; ++i) {
        made.sizes[i] = sizes[i];
        made.box[i] = box[i];
        made.element_strides[i] = element_strides[i];
        if (i > 0) made.strides[i - 1] = strides[i - 1];
    }
    try {
        const auto bytes = made.encode();
        std::memcpy(map, bytes.data(), bytes.size());
        return CUDA_SUCCESS;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "virtual CUDA: %s\n", failure.what());
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                                  CUdriverProcAddressQueryResult* status) {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&driver), &info);
    void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *function = nullptr;
    for (const char* version : {"_v4", "_v3", "_v2", ""}) {
        *function = library == nullptr ? nullptr : dlsym(library, (std::string(symbol) + version).c_str());
        if (*function != nullptr) break;
    }
    if (*function == nullptr && std::string(symbol) == "cuGraphInstantiate")
        *function = dlsym(library, "cuGraphInstantiateWithFlags");
    if (status != nullptr)
        *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
