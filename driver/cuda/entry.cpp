// How programs find functions, and what errors are called.
#include <dlfcn.h>

#include <cstring>

#include "driver/cuda/state.h"
#include "driver/protocol/errors.h"

using namespace heddle::driver;

namespace {

/// The driver's entry of a code; nullptr: it has none.
const ErrorText* driver_error(CUresult code) {
    const ErrorText* const found = find_error(code);
    return found == nullptr || found->driver == nullptr ? nullptr : found;
}

}  // namespace

HEDDLE_API CUresult cuGetErrorString(CUresult error, const char** text) {
    const ErrorText* const found = driver_error(error);
    *text = found == nullptr ? nullptr : found->text;
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGetErrorName(CUresult error, const char** name) {
    const ErrorText* const found = driver_error(error);
    *name = found == nullptr ? nullptr : found->driver;
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

namespace heddle::driver {

namespace {

/// Since which version of CUDA a newer form of a function is meant by its plain name.
struct Since {
    const char *name, *suffix;
    int version;
};
constexpr Since kSince[] = {
    {"cuCtxCreate", "_v3", 11040}, {"cuCtxCreate", "_v4", 12050}, {"cuCtxGetDevice", "_v2", 13000}, {"cuCtxSynchronize", "_v2", 13000},
    {"cuDeviceGetUuid", "_v2", 11040}, {"cuDevicePrimaryCtxRelease", "_v2", 11000}, {"cuDevicePrimaryCtxReset", "_v2", 11000},
    {"cuDevicePrimaryCtxSetFlags", "_v2", 11000}, {"cuEventElapsedTime", "_v2", 12080}, {"cuGetProcAddress", "_v2", 12000},
    {"cuGraphAddDependencies", "_v2", 12030}, {"cuGraphAddKernelNode", "_v2", 12000}, {"cuGraphAddNode", "_v2", 12030},
    {"cuGraphExecKernelNodeSetParams", "_v2", 12000}, {"cuGraphExecUpdate", "_v2", 12000}, {"cuGraphGetEdges", "_v2", 12030},
    {"cuGraphKernelNodeGetParams", "_v2", 12000}, {"cuGraphKernelNodeSetParams", "_v2", 12000},
    {"cuGraphNodeGetDependencies", "_v2", 12030}, {"cuGraphNodeGetDependentNodes", "_v2", 12030}, {"cuGraphRemoveDependencies", "_v2", 12030},
    {"cuIpcOpenMemHandle", "_v2", 11000}, {"cuMemAdvise", "_v2", 12020}, {"cuMemPrefetchAsync", "_v2", 12020}, {"cuMemcpy3DBatchAsync", "_v2", 13000},
    {"cuMemcpyBatchAsync", "_v2", 13000}, {"cuStreamBatchMemOp", "_v2", 11070}, {"cuStreamGetCaptureInfo", "_v2", 11030},
    {"cuStreamGetCaptureInfo", "_v3", 12030}, {"cuStreamGetCtx", "_v2", 12050}, {"cuStreamUpdateCaptureDependencies", "_v2", 12030},
    {"cuStreamWaitValue32", "_v2", 11070}, {"cuStreamWaitValue64", "_v2", 11070}, {"cuStreamWriteValue32", "_v2", 11070},
    {"cuStreamWriteValue64", "_v2", 11070},
};

bool is_too_new(std::string_view name, std::string_view suffix, int version) {
    for (const Since& since : kSince)
        if (name == since.name && suffix == since.suffix) return version < since.version;
    return false;
}

}  // namespace

void* find_entry(const char* name, int version, bool per_thread) {
    Dl_info self{};
    if (dladdr(reinterpret_cast<void*>(&find_entry), &self) == 0) return nullptr;
    static void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (const char* const suffix : {"_v4", "_v3", "_v2", ""}) {
        if (is_too_new(name, suffix, version)) continue;
        for (const char* const stream : {"_ptsz", "_ptds", ""}) {
            if (*stream != '\0' && !per_thread) continue;
            if (void* const found = dlsym(library, (std::string(name) + suffix + stream).c_str())) return found;
        }
    }
    return nullptr;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuGetProcAddress_v2(const char* name, void** entry, int version, std::uint64_t flags, int* found) {
    if (name == nullptr || entry == nullptr || flags > 2) return CUDA_ERROR_INVALID_VALUE;
    *entry = find_entry(name, version, flags == 2);
    if (found != nullptr) *found = *entry == nullptr ? 1 : 0;
    return *entry == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGetProcAddress(const char* name, void** entry, int version, std::uint64_t flags) { return cuGetProcAddress_v2(name, entry, version, flags, nullptr); }
/// Tables that NVIDIA's own libraries ask their own driver for. This is another driver, and has none.
HEDDLE_API CUresult cuGetExportTable(const void** table, const CUuuid*) {
    *table = nullptr;
    Dl_info caller{};
    const bool known = dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr;
    const std::string path = known ? caller.dli_fname : "";
    const std::string name = path.substr(path.find_last_of('/') + 1);
    if (name.find(".so") == std::string::npos)
        complain("the CUDA runtime is linked into this program, and asks for NVIDIA's own driver: link it with `nvcc -cudart shared`, or in CMake with "
                 "CUDA_RUNTIME_LIBRARY Shared");
    else
        complain(name + " asks for NVIDIA's own driver, and there is nothing that stands in for it yet: its calls fail");
    return CUDA_ERROR_NOT_FOUND;
}
