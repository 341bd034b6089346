#include "validation/capture/cuda/driver_api.h"

#include "isa/common/error.h"
#include "validation/capture/cuda/shared_library.h"

#define HEDDLE_TEXT(name) #name
#define HEDDLE_EXPANDED_TEXT(name) HEDDLE_TEXT(name)

namespace heddle::capture {
namespace {

/// The timing of events got a second name in CUDA 12.8, with the same arguments.
std::string older_name(const std::string& name) {
    return name == "cuEventElapsedTime_v2" ? "cuEventElapsedTime" : name;
}

}  // namespace

DriverApi load_driver() {
    const SharedLibrary library({"libcuda.so.1"});
    if (!library)
        throw Error("there is no CUDA driver on this machine: " + library.error(), {},
                    "run on a machine with an NVIDIA GPU and its driver");
    DriverApi api;
    std::string missing;
    const auto find = [&](auto& function, const std::string& name, bool required) {
        using Function = std::remove_reference_t<decltype(function)>;
        function = library.find_as<Function>(name.c_str());
        if (function == nullptr) function = library.find_as<Function>(older_name(name).c_str());
        if (function == nullptr && required) missing += " " + name;
    };
#define HEDDLE_FIND(function) find(api.function, HEDDLE_EXPANDED_TEXT(function), true);
    HEDDLE_CUDA_DRIVER_FUNCTIONS(HEDDLE_FIND)
#undef HEDDLE_FIND
#define HEDDLE_FIND(function) find(api.function, HEDDLE_EXPANDED_TEXT(function), false);
    HEDDLE_CUDA_OPTIONAL_FUNCTIONS(HEDDLE_FIND)
#undef HEDDLE_FIND
    if (!missing.empty())
        throw Error("the CUDA driver is too old: it lacks" + missing, {},
                    "install a driver of CUDA 12.0 or newer");
    return api;
}

std::vector<std::string> required_driver_functions() {
#define HEDDLE_NAME(function) HEDDLE_EXPANDED_TEXT(function),
    return {HEDDLE_CUDA_DRIVER_FUNCTIONS(HEDDLE_NAME)};
#undef HEDDLE_NAME
}

}  // namespace heddle::capture
