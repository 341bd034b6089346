// How programs find functions, and what errors are called.
#include <dlfcn.h>

#include <cstring>

#include "driver/cuda/state.h"

using namespace heddle::driver;

namespace {

struct ErrorText {
    CUresult code;
    const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* error_of(CUresult code) {
    for (const ErrorText& error : kErrors)
        if (error.code == code) return &error;
    return nullptr;
}

}  // namespace

HEDDLE_API CUresult cuGetErrorString(CUresult error, const char** text) {
    const ErrorText* const found = error_of(error);
    *text = found == nullptr ? nullptr : found->text;
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGetErrorName(CUresult error, const char** name) {
    const ErrorText* const found = error_of(error);
    *name = found == nullptr ? nullptr : found->name;
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

namespace heddle::driver {

// The newest version of a function goes by its plain name.
void* find_entry(const char* name) {
    Dl_info self{};
    if (dladdr(reinterpret_cast<void*>(&find_entry), &self) == 0) return nullptr;
    static void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (const char* const version : {"_v4", "_v3", "_v2", ""})
        if (void* const found = dlsym(library, (std::string(name) + version).c_str())) return found;
    return nullptr;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuGetProcAddress_v2(const char* name, void** entry, int, std::uint64_t, int* found) {
    *entry = find_entry(name);
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
