// One GPU's context and stream, with every status checked.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "validation/capture/cuda/driver_api.h"
#include "validation/capture/device.h"

namespace heddle::capture {

/// Kernels of the capture take milliseconds: one that is not done after this long never will be.
inline constexpr std::chrono::seconds kHangLimit{30};

class CudaContext {
  public:
    /// Throws heddle::Error: no driver, no such GPU.
    explicit CudaContext(unsigned ordinal);
    /// Gives the context back, with all memory, modules and streams in it; a lost one is left to the driver,
    /// since calls on it may never return.
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    const DriverApi& api() const { return api_; }
    CUdevice device() const { return device_; }
    CUstream stream() const { return stream_; }
    int attribute(CUdevice_attribute attribute) const;

    /// Throws DeviceError "CALL: NAME (description)" unless `status` is success; `call` is a text or makes
    /// one.
    void check(CUresult status, const char* call) const {
        if (status != CUDA_SUCCESS) fail(status, call);
    }
    template <typename MakeText>
    void check(CUresult status, const MakeText& make_text) const {
        if (status != CUDA_SUCCESS) fail(status, make_text());
    }
    /// Throws at once when an earlier call lost the device: later ones could wait for ever.
    void require_alive() const;
    bool lost() const { return lost_; }
    /// True, from now on, when the context has failed for good.
    bool find_lost() const;

    /// Waits for the stream; DeviceError.lost when it does not end within kHangLimit.
    void wait() const;
    /// What `enqueue` puts on the stream, as a graph that is run by nobody. The caller destroys it.
    CUgraph capture(const std::function<void()>& enqueue) const;

  private:
    /// Holds nothing of the device yet: once it is done, the destructor runs even if the public constructor
    /// throws.
    CudaContext();
    [[noreturn]] void fail(CUresult status, const std::string& call) const;

    DriverApi api_;
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
    CUstream stream_ = nullptr;
    mutable bool lost_ = false;
};

}  // namespace heddle::capture
