#include "validation/capture/cuda/cuda_context.h"

#include <thread>

#include "isa/common/error.h"

namespace heddle::capture {
namespace {

/// After these the context answers every call with the same error, and only a new process helps.
bool is_fatal(CUresult status) {
    switch (status) {
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_UNKNOWN:
            return true;
        default:
            return false;
    }
}

std::string text_of(const DriverApi& api, CUresult status) {
    const char *name = nullptr, *description = nullptr;
    api.cuGetErrorName(status, &name);
    api.cuGetErrorString(status, &description);
    std::string text = name == nullptr ? "status " + std::to_string(static_cast<int>(status)) : name;
    if (description != nullptr) text += std::string(" (") + description + ")";
    return text;
}

}  // namespace

CudaContext::CudaContext() : api_(load_driver()) {}

CudaContext::CudaContext(unsigned ordinal) : CudaContext() {
    if (const CUresult status = api_.cuInit(0); status != CUDA_SUCCESS)
        throw Error("the CUDA driver finds no GPU that it can use: cuInit: " + text_of(api_, status), {},
                    "check with nvidia-smi that a GPU is visible to this process");
    int count = 0;
    check(api_.cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (static_cast<int>(ordinal) >= count)
        throw Error("there is no cuda:" + std::to_string(ordinal) + ": this machine has " +
                        std::to_string(count) + " GPU(s)",
                    {}, "use --device cuda:0");
    check(api_.cuDeviceGet(&device_, static_cast<int>(ordinal)), "cuDeviceGet");
    // The primary context is the one that cublasLt uses.
    check(api_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    check(api_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    check(api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

CudaContext::~CudaContext() {
    if (context_ == nullptr || lost_) return;
    if (stream_ != nullptr) api_.cuStreamDestroy(stream_);
    api_.cuDevicePrimaryCtxRelease(device_);
}

int CudaContext::attribute(CUdevice_attribute attribute) const {
    int value = 0;
    check(api_.cuDeviceGetAttribute(&value, attribute, device_),
          [&] { return "cuDeviceGetAttribute(" + std::to_string(static_cast<int>(attribute)) + ")"; });
    return value;
}

void CudaContext::fail(CUresult status, const std::string& call) const {
    if (is_fatal(status)) lost_ = true;
    throw DeviceError(call + ": " + text_of(api_, status), lost_);
}

void CudaContext::require_alive() const {
    if (lost_) throw DeviceError("the device was lost before", true);
}

bool CudaContext::find_lost() const {
    if (!lost_) lost_ = is_fatal(api_.cuStreamQuery(stream_));
    return lost_;
}

void CudaContext::wait() const {
    require_alive();
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned polls = 0;; ++polls) {
        const CUresult status = api_.cuStreamQuery(stream_);
        if (status == CUDA_SUCCESS) return;
        if (status != CUDA_ERROR_NOT_READY) fail(status, "waiting for the work on the stream");
        if (polls < 1000) continue;  // about a millisecond: most work is done by then
        if (std::chrono::steady_clock::now() - begin > kHangLimit) {
            lost_ = true;
            throw DeviceError(
                "a kernel does not end: not done after " + std::to_string(kHangLimit.count()) + " seconds",
                true);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

CUgraph CudaContext::capture(const std::function<void()>& enqueue) const {
    require_alive();
    check(api_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
    CUgraph graph = nullptr;
    try {
        enqueue();
    } catch (...) {
        // The stream must leave its capture whatever happened; what was recorded is of no use.
        if (api_.cuStreamEndCapture(stream_, &graph) == CUDA_SUCCESS && graph != nullptr)
            api_.cuGraphDestroy(graph);
        throw;
    }
    check(api_.cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture");
    return graph;
}

}  // namespace heddle::capture
