#include "validation/capture/cuda/cublaslt_api.h"

#include "validation/capture/cuda/shared_library.h"
#include "validation/capture/device.h"

namespace heddle::capture {

CublasLtApi load_cublaslt() {
    // Descriptors and attributes are those of the headers that this was compiled with: the same major
    // version.
    const std::string file = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    const SharedLibrary library({file, std::string(HEDDLE_CUDA_LIBRARY_FOLDER) + "/" + file});
    if (!library) throw DeviceError("cublasLt cannot be opened: " + library.error());
    CublasLtApi api;
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
        function = library.find_as<std::remove_reference_t<decltype(function)>>(name);
        if (function == nullptr) missing += std::string(" ") + name;
    };
#define HEDDLE_FIND(function) find(api.function, #function);
    HEDDLE_CUBLASLT_FUNCTIONS(HEDDLE_FIND)
#undef HEDDLE_FIND
    if (!missing.empty()) throw DeviceError(file + " lacks" + missing);
    return api;
}

std::vector<std::string> required_cublaslt_functions() {
#define HEDDLE_NAME(function) #function,
    return {HEDDLE_CUBLASLT_FUNCTIONS(HEDDLE_NAME)};
#undef HEDDLE_NAME
}

}  // namespace heddle::capture
