// Devices and contexts.
#include <cstdio>
#include <cstring>

#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

extern "C" {
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
}

namespace heddle::driver {
namespace {

std::vector<Context*>& context_stack() {
    thread_local auto* const stack = new std::vector<Context*>;  // programs call until their very end
    return *stack;
}
bool initialised = false;

bool is_device(CUdevice device) {
    return device >= 0 && static_cast<std::size_t>(device) < Client::get().devices().size();
}

}  // namespace

Context*& current_context() {
    thread_local Context* none = nullptr;
    if (context_stack().empty()) return none = nullptr;
    return context_stack().back();
}

Context& primary_context(CUdevice device) {
    static auto* const contexts = new std::map<CUdevice, Context>;
    Context& context = (*contexts)[device];
    context.device = device;
    context.primary = true;
    return context;
}

CUdevice current_device() {
    Context* const context = current_context();
    return context == nullptr ? 0 : context->device;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuInit(unsigned flags) {
    HEDDLE_CALL;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    initialised = true;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetCount(int* count) {
    HEDDLE_CALL;
    *count = static_cast<int>(Client::get().devices().size());
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    HEDDLE_CALL;
    if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device) || bytes <= 0) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(bytes), "%s", Client::get().devices()[static_cast<std::size_t>(device)].name);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    std::memset(uuid, 0, sizeof *uuid);
    std::memcpy(uuid->bytes, "heddle", 6);
    uuid->bytes[15] = static_cast<char>(device);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
HEDDLE_API CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = Client::get().devices()[static_cast<std::size_t>(device)].memory_bytes;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
    HEDDLE_CALL;
    return device_attribute(value, attribute, device);
}
HEDDLE_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    HEDDLE_CALL;
    const CUresult status = device_attribute(major, 75, device);
    return status != CUDA_SUCCESS ? status : device_attribute(minor, 76, device);
}
HEDDLE_API CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", device + 1);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    HEDDLE_CALL;
    unsigned domain = 0, bus = 0;
    if (std::sscanf(text, "%x:%x", &domain, &bus) != 2 || !is_device(static_cast<int>(bus) - 1)) return CUDA_ERROR_INVALID_DEVICE;
    *device = static_cast<int>(bus) - 1;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    HEDDLE_CALL;
    if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetP2PAttribute(int* value, int attribute, CUdevice, CUdevice) {
    *value = attribute != 1;  // performance rank 1, the rest is supported
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuCtxDisablePeerAccess(CUcontext) { return CUDA_SUCCESS; }

HEDDLE_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *context = &primary_context(device);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice) {
    HEDDLE_CALL;
    return Client::get().synchronise();
}
HEDDLE_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    HEDDLE_CALL;
    primary_context(device).flags = flags;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    HEDDLE_CALL;
    *flags = primary_context(device).flags;
    *active = 1;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *context = new Context{device, flags, false};
    context_stack().push_back(*context);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxCreate_v3(CUcontext* context, void*, int, unsigned flags, CUdevice device) { return cuCtxCreate_v2(context, flags, device); }
HEDDLE_API CUresult cuCtxCreate_v4(CUcontext* context, void*, unsigned flags, CUdevice device) { return cuCtxCreate_v2(context, flags, device); }
HEDDLE_API CUresult cuCtxDestroy_v2(CUcontext context) {
    HEDDLE_CALL;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::erase(context_stack(), context);
    if (!context->primary) delete context;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
    context_stack().push_back(context);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    if (context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = context_stack().back();
    context_stack().pop_back();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSetCurrent(CUcontext context) {
    if (!context_stack().empty()) context_stack().pop_back();
    if (context != nullptr) context_stack().push_back(context);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current_context();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxGetDevice(CUdevice* device) {
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = current_device();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxGetFlags(unsigned* flags) {
    *flags = current_context() == nullptr ? 0 : current_context()->flags;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSetFlags(unsigned flags) {
    if (current_context() != nullptr) current_context()->flags = flags;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
    *version = 3020;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
    *id = reinterpret_cast<std::uintptr_t>(context == nullptr ? current_context() : context);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSynchronize() {
    HEDDLE_CALL;
    return Client::get().synchronise();
}
namespace {
/// A call for another context than the current one: nullptr is the current one.
template <class Work>
CUresult in_context(CUcontext context, Work work) {
    HEDDLE_CALL;
    if (context == nullptr && current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) context_stack().push_back(context);
    const CUresult status = work();
    if (context != nullptr) context_stack().pop_back();
    return status;
}
}  // namespace
HEDDLE_API CUresult cuCtxSynchronize_v2(CUcontext context) {
    return in_context(context, [] { return Client::get().synchronise(); });
}
HEDDLE_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
    return in_context(context, [device] { return *device = current_device(), CUDA_SUCCESS; });
}
HEDDLE_API CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
    return in_context(context, [event] { return cuEventRecord(event, nullptr); });
}
HEDDLE_API CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
    return in_context(context, [event] { return cuStreamWaitEvent(nullptr, event, 0); });
}
HEDDLE_API CUresult cuCtxAttach(CUcontext* context, unsigned flags) {
    if (context == nullptr || flags != 0 || current_context() == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = current_context();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxDetach(CUcontext context) { return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS; }
/// CUexecAffinityParam: a type, and for that of SMs (0) how many there are.
HEDDLE_API CUresult cuCtxGetExecAffinity(unsigned* affinity, unsigned type) {
    HEDDLE_CALL;
    if (affinity == nullptr || type != 0) return 224;  // CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
    affinity[0] = 0;
    affinity[1] = Client::get().devices()[static_cast<std::size_t>(current_device())].sms;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetExecAffinitySupport(int* supported, unsigned, CUdevice device) {
    HEDDLE_CALL;
    if (supported == nullptr || !is_device(device)) return CUDA_ERROR_INVALID_VALUE;
    *supported = 0;  // all contexts have all SMs
    return CUDA_SUCCESS;
}
/// CUdevprop, of old programs.
HEDDLE_API CUresult cuDeviceGetProperties(int* properties, CUdevice device) {
    HEDDLE_CALL;
    if (properties == nullptr || !is_device(device)) return CUDA_ERROR_INVALID_VALUE;
    constexpr int of[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    for (std::size_t i = 0; i < std::size(of); ++i) device_attribute(properties + i, of[i], device);
    return CUDA_SUCCESS;
}
// Older names of what did not change.
HEDDLE_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
HEDDLE_API CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }
HEDDLE_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) { return cuDevicePrimaryCtxSetFlags_v2(device, flags); }
HEDDLE_API CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) { return cuCtxCreate_v2(context, flags, device); }
HEDDLE_API CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }
HEDDLE_API CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
HEDDLE_API CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxPopCurrent_v2(context); }
HEDDLE_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CUDA_SUCCESS;
}
namespace {
std::size_t& limit_of(unsigned limit) {
    static auto* const limits = new std::map<unsigned, std::size_t>{{0, 1024}, {1, 1 << 20}, {2, 8 << 20}};
    return (*limits)[limit];
}
}  // namespace
HEDDLE_API CUresult cuCtxGetLimit(std::size_t* value, unsigned limit) {
    *value = limit_of(limit);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSetLimit(unsigned limit, std::size_t value) {
    HEDDLE_CALL;
    limit_of(limit) = value;
    return Client::get().tell(Call::set_limit, Writer().put(limit).put(std::uint64_t{value}));
}
HEDDLE_API CUresult cuCtxGetCacheConfig(int* config) {
    *config = 0;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSetCacheConfig(int) {
    HEDDLE_CALL;
    return without_effect("a preferred size of shared memory");
}
HEDDLE_API CUresult cuCtxGetSharedMemConfig(int* config) {
    *config = 1;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSetSharedMemConfig(int) {
    HEDDLE_CALL;
    return without_effect("a width of banks of shared memory");
}
HEDDLE_API CUresult cuCtxResetPersistingL2Cache() {
    HEDDLE_CALL;
    return without_effect("to reset persisting lines of L2");
}
/// For libnvidia-ml.so.1 beside this library.
HEDDLE_API CUresult heddle_board_state(BoardState* state, CUdevice device) {
    HEDDLE_CALL;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const Received received = Client::get().ask(Call::board, Writer().put(static_cast<std::uint32_t>(device)));
    *state = received.reader().get<BoardState>();
    return received.status;
}
HEDDLE_API CUresult cuProfilerStart() {
    HEDDLE_CALL;
    return Client::get().tell(Call::profiler, Writer().put(std::uint32_t{1}));
}
HEDDLE_API CUresult cuProfilerStop() {
    HEDDLE_CALL;
    return Client::get().tell(Call::profiler, Writer().put(std::uint32_t{0}));
}
