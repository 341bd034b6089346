// What the files of the runtime share: the error of the thread, its device, and what the program has registered.
#pragma once

#include <cstdint>
#include <mutex>

#include "driver/cudart/driver_api.h"
#include "driver/cudart/types.h"

#define HEDDLE_API extern "C" __attribute__((visibility("default")))

/// The sources are compiled for the interface of CUDA 12 and for that of 13. HEDDLE_NEWEST(F) is the name of a function that has one form in 13 (F) and two in
/// 12, where F is the older of them (version_12.cpp) and F_v2 that of 13.
#if HEDDLE_CUDART == 12
#define HEDDLE_NEWEST(NAME) NAME##_v2
#else
#define HEDDLE_NEWEST(NAME) NAME
#endif

namespace heddle::runtime {

/// What cudaRuntimeGetVersion says: 1000 for each major version, 10 for each minor one.
constexpr int kRuntimeVersion = HEDDLE_CUDART == 12 ? 12080 : 13000;

/// The thread's last error becomes this one, unless it is success or "not ready". Returns it.
cudaError_t remember(cudaError_t error);
/// The device that the thread chose; 0 at first.
int& chosen_device();
/// The primary context of the thread's device is current.
cudaError_t ready();
/// Guards what is registered.
std::recursive_mutex& guard();

/// The function of the device that a host function, or a handle of cudaGetKernel, stands for.
cudaError_t function_of(const void* host, CUfunction* function);
/// The host function that stands for one of the device; the function itself where none does.
const void* host_of(CUfunction function);
/// Where a registered variable lies, and its size. `bytes` may be nullptr.
cudaError_t variable_of(const void* host, CUdeviceptr* address, std::size_t* bytes);
/// An attribute of a device (CUdevice_attribute); 0 where there is none.
int attribute(int which, int device);

inline CUdeviceptr number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace heddle::runtime

/// At the beginning of what needs a device.
#define HEDDLE_CALL                                                                    \
    const std::lock_guard<std::recursive_mutex> lock(heddle::runtime::guard());        \
    if (const cudaError_t not_ready = heddle::runtime::ready(); not_ready != cudaSuccess) return heddle::runtime::remember(not_ready)
/// A function that does what one of the driver does, in a few words: HEDDLE_PASS(cudaF, (int device), cuF(device)).
// NOLINTNEXTLINE(bugprone-macro-parentheses): parameters are given in parentheses
#define HEDDLE_PASS(NAME, PARAMETERS, CALL)                 \
    HEDDLE_API cudaError_t NAME PARAMETERS {                \
        HEDDLE_CALL;                                        \
        return heddle::runtime::remember(CALL);             \
    }
