// The functions of the CUDA driver that the capture calls, found in libcuda.so.1 at run time.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

namespace heddle::capture {

// cuda.h renames functions to their newest version (cuMemAlloc is cuMemAlloc_v2), so members and the names
// that are looked up have to go through the preprocessor: a list and macros, here alone.
// clang-format off
#define HEDDLE_CUDA_DRIVER_FUNCTIONS(F) \
    F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuGetErrorString) F(cuDeviceGetCount) \
    F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDeviceTotalMem) \
    F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease) F(cuCtxSetCurrent) \
    F(cuMemGetInfo) F(cuMemAlloc) F(cuMemFree) \
    F(cuMemcpyHtoDAsync) F(cuMemcpyDtoHAsync) F(cuMemsetD8Async) F(cuModuleLoadDataEx) \
    F(cuModuleGetFunction) F(cuFuncGetAttribute) F(cuFuncSetAttribute) F(cuLaunchKernelEx) \
    F(cuStreamCreate) F(cuStreamDestroy) F(cuStreamSynchronize) F(cuStreamQuery) F(cuStreamBeginCapture) \
    F(cuStreamEndCapture) F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventElapsedTime) \
    F(cuGraphInstantiate) F(cuGraphUpload) F(cuGraphLaunch) F(cuGraphExecDestroy) F(cuGraphDestroy) \
    F(cuGraphGetNodes) F(cuGraphNodeGetType) F(cuGraphKernelNodeGetParams) F(cuTensorMapEncodeTiled)
// clang-format on
// Left null where the driver is too old to have them.
// clang-format off
#define HEDDLE_CUDA_OPTIONAL_FUNCTIONS(F) \
    F(cuFuncGetName) F(cuKernelGetName) F(cuDeviceGetPCIBusId) F(cuDeviceGetUuid)
// clang-format on

struct DriverApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared stands bare.
#define HEDDLE_DECLARE(function) decltype(&::function) function = nullptr;
    HEDDLE_CUDA_DRIVER_FUNCTIONS(HEDDLE_DECLARE)
    HEDDLE_CUDA_OPTIONAL_FUNCTIONS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
};

/// Opens the library and finds the functions. Throws heddle::Error: there is no driver, or it is too old.
DriverApi load_driver();

/// Names of the functions without which there is no capture, as the library spells them: for tests.
std::vector<std::string> required_driver_functions();

}  // namespace heddle::capture
