// Devices and contexts.
#include <cstdio>
#include <cstring>

#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

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

// What the hardware file says, and where it is silent what all devices of its compute capability have.
CUresult device_attribute(int* value, int attribute, CUdevice device) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const DeviceDescription& d = Client::get().devices()[static_cast<std::size_t>(device)];
    const unsigned capability = d.compute_capability;
    switch (attribute) {
        case 1: case 2: case 3: *value = 1024; break;
        case 4: *value = 64; break;
        case 5: *value = 0x7fffffff; break;
        case 6: case 7: *value = 65535; break;
        case 8: *value = static_cast<int>(d.shared_per_block); break;
        case 9: *value = 65536; break;
        case 10: *value = 32; break;
        case 11: *value = 0x7fffffff; break;
        case 12: case 82: *value = static_cast<int>(d.registers_per_sm); break;
        case 13: *value = static_cast<int>(d.clock_khz); break;
        case 14: *value = 512; break;
        case 51: *value = 32; break;
        case 16: *value = static_cast<int>(d.sms); break;
        case 33: *value = device + 1; break;
        case 36: *value = static_cast<int>(d.memory_clock_khz); break;
        case 37: *value = static_cast<int>(d.memory_bus_bits); break;
        case 38: *value = static_cast<int>(d.l2_bytes); break;
        case 39: *value = static_cast<int>(d.threads_per_sm); break;
        case 40: *value = 3; break;
        case 75: *value = static_cast<int>(capability / 10); break;
        case 76: *value = static_cast<int>(capability % 10); break;
        case 81: *value = static_cast<int>(d.shared_per_sm); break;
        case 87: *value = capability == 70 || capability == 80 || capability == 90 || capability == 100 ? 2 : 64; break;
        case 97: *value = static_cast<int>(d.shared_per_block_opt_in); break;
        case 106: *value = static_cast<int>(d.blocks_per_sm); break;
        case 108: *value = static_cast<int>(d.l2_bytes * 5 / 8); break;
        case 109: *value = 128 << 20; break;
        case 111: *value = static_cast<int>(d.shared_reserved); break;
        // What there is: asynchronous copies, mapped and managed memory, unified addresses, concurrent kernels, priorities, cooperative launches, pools.
        case 15: case 19: case 31: case 41: case 78: case 79: case 80: case 83: case 89: case 90: case 91: case 95: case 99: case 101: case 115: *value = 1; break;
        // Textures and surfaces: CUDA C++ Programming Guide, technical specifications per compute capability.
        case 21: case 22: *value = 131072; break;
        case 23: *value = 65536; break;
        case 24: case 25: case 26: *value = 16384; break;
        case 27: case 28: case 42: case 45: case 46: case 52: case 53: *value = 32768; break;
        case 29: case 43: *value = 2048; break;
        case 54: case 68: *value = 2046; break;
        case 55: case 61: case 63: case 64: case 66: case 67: *value = 32768; break;
        case 56: *value = 131072; break;
        case 57: *value = 65536; break;
        case 58: case 59: case 60: *value = 16384; break;
        case 62: case 65: *value = 2048; break;
        case 69: *value = 1 << 28; break;
        case 70: *value = 131072; break;
        case 71: *value = 65000; break;
        case 72: *value = 2097120; break;
        case 120: case 127: *value = capability >= 90 ? 1 : 0; break;
        case 130: case 131: case 134: *value = -1; break;
        default: *value = 0; break;
    }
    return CUDA_SUCCESS;
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
HEDDLE_API CUresult cuCtxSetCacheConfig(int) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuCtxGetSharedMemConfig(int* config) {
    *config = 1;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuCtxSetSharedMemConfig(int) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }
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
