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
