// NVML: what monitors and frameworks ask about boards. Facts come from the driver beside this library, what changes from the virtual GPU.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "driver/cuda/types.h"
#include "driver/nvml/types.h"
#include "driver/protocol/protocol.h"

#define HEDDLE_API extern "C" __attribute__((visibility("default")))

extern "C" {
CUresult cuInit(unsigned);
CUresult cuDriverGetVersion(int*);
CUresult cuDeviceGetCount(int*);
CUresult cuDeviceGetName(char*, int, CUdevice);
CUresult cuDeviceGetUuid_v2(CUuuid*, CUdevice);
CUresult cuDeviceGetAttribute(int*, int, CUdevice);
CUresult heddle_missing(const char*);
CUresult heddle_board_state(heddle::driver::BoardState*, CUdevice);
}

struct Board {
    CUdevice device;
};

namespace {

/// The version of the driver that goes with the version of CUDA that libcuda.so.1 says it has.
constexpr const char* kDriverVersion = "580.00";
/// There is no model of heat: the temperature is a line from that of an idle board without power to that at its limit.
constexpr double kCold = 30, kHot = 80;

std::mutex initialised_guard;
unsigned initialised = 0;
std::vector<Board>& boards() {
    static auto* const all = new std::vector<Board>;
    return *all;
}

nvmlReturn_t check(nvmlDevice_t board) {
    if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
    for (const Board& known : boards())
        if (&known == board) return NVML_SUCCESS;
    return NVML_ERROR_INVALID_ARGUMENT;
}

/// At the beginning of what asks about a board, and answers through a pointer.
#define HEDDLE_BOARD(BOARD, ANSWER)                                              \
    if (const nvmlReturn_t wrong = check(BOARD); wrong != NVML_SUCCESS) return wrong; \
    if ((ANSWER) == nullptr) return NVML_ERROR_INVALID_ARGUMENT

unsigned fact(nvmlDevice_t board, int which) {
    int value = 0;
    cuDeviceGetAttribute(&value, which, board->device);
    return static_cast<unsigned>(value);
}

nvmlReturn_t state_of(nvmlDevice_t board, heddle::driver::BoardState* state) {
    return heddle_board_state(state, board->device) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t put_text(char* to, unsigned room, const std::string& text) {
    if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (text.size() + 1 > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return NVML_SUCCESS;
}

std::string uuid_of(CUdevice device) {
    CUuuid uuid{};
    cuDeviceGetUuid_v2(&uuid, device);
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits;
    }
    return text;
}

/// Clocks: of graphics, SMs, memory, video.
nvmlReturn_t clock_of(nvmlDevice_t board, unsigned type, unsigned* mhz) {
    HEDDLE_BOARD(board, mhz);
    if (type > 3) return NVML_ERROR_INVALID_ARGUMENT;
    *mhz = fact(board, type == 2 ? 36 : 13) / 1000;
    return NVML_SUCCESS;
}

/// No process but the program itself is on the board, and the program does not count itself.
nvmlReturn_t no_processes(nvmlDevice_t board, unsigned* count) {
    HEDDLE_BOARD(board, count);
    *count = 0;
    return NVML_SUCCESS;
}

}  // namespace

extern "C" unsigned heddle_nvml_missing(const char* name) {
    heddle_missing(name);  // says so once
    return NVML_ERROR_NOT_SUPPORTED;
}

HEDDLE_API nvmlReturn_t nvmlInitWithFlags(unsigned) {
    const std::lock_guard<std::mutex> lock(initialised_guard);
    if (initialised == 0) {
        int count = 0;
        if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS) return NVML_ERROR_DRIVER_NOT_LOADED;
        if (boards().empty())
            for (int device = 0; device < count; ++device) boards().push_back({device});
    }
    ++initialised;
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlInit_v2() { return nvmlInitWithFlags(0); }
HEDDLE_API nvmlReturn_t nvmlInit() { return nvmlInitWithFlags(0); }
HEDDLE_API nvmlReturn_t nvmlShutdown() {
    const std::lock_guard<std::mutex> lock(initialised_guard);
    if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
    --initialised;
    return NVML_SUCCESS;
}
HEDDLE_API const char* nvmlErrorString(nvmlReturn_t error) {
    constexpr const char* texts[] = {"Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions", "Already Initialized", "Not Found",
                                     "Insufficient Size", "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
                                     "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires restart",
                                     "The operating system has blocked the request.", "Driver/library version mismatch", "In use by another client",
                                     "Insufficient Memory", "No data", "ECC of the virtual GPU is not supported", "Insufficient Resources", "Frequency not supported",
                                     "Argument version mismatch", "The function is deprecated", "Not ready", "GPU not found", "Invalid state"};
    return error < std::size(texts) ? texts[error] : "Unknown Error";
}

HEDDLE_API nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned room) { return initialised == 0 ? NVML_ERROR_UNINITIALIZED : put_text(version, room, kDriverVersion); }
HEDDLE_API nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned room) { return put_text(version, room, std::string("13.") + kDriverVersion); }
HEDDLE_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
    if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return cuDriverGetVersion(version) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}
HEDDLE_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }

HEDDLE_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
    if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = static_cast<unsigned>(boards().size());
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* board) {
    if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
    if (board == nullptr || index >= boards().size()) return NVML_ERROR_INVALID_ARGUMENT;
    *board = &boards()[index];
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* board) { return nvmlDeviceGetHandleByIndex_v2(index, board); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* board) {
    if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
    if (uuid == nullptr || board == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (Board& each : boards())
        if (uuid_of(each.device) == uuid) {
            *board = &each;
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t board, nvmlPciInfo_t* pci) {
    HEDDLE_BOARD(board, pci);
    *pci = {};
    pci->domain = fact(board, 50);
    pci->bus = fact(board, 33);
    pci->device = fact(board, 34);
    std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain & 0xffffu, pci->bus & 0xffu, pci->device & 0xffu);
    std::snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xffu, pci->device & 0xffu);
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t board, nvmlPciInfo_t* pci) { return nvmlDeviceGetPciInfo_v3(board, pci); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t board, nvmlPciInfo_t* pci) { return nvmlDeviceGetPciInfo_v3(board, pci); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* text, nvmlDevice_t* board) {
    if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
    if (text == nullptr || board == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    // domain:bus:device, or bus:device; what follows a point is the function of the device.
    unsigned domain = 0, bus = 0, device = 0;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3) {
        domain = 0;
        if (std::sscanf(text, "%x:%x", &bus, &device) != 2) return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (Board& each : boards())
        if (fact(&each, 50) == domain && fact(&each, 33) == bus && fact(&each, 34) == device) {
            *board = &each;
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* board) { return nvmlDeviceGetHandleByPciBusId_v2(text, board); }

HEDDLE_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t board, char* name, unsigned room) {
    HEDDLE_BOARD(board, name);
    char text[256] = {};
    cuDeviceGetName(text, sizeof text, board->device);
    return put_text(name, room, text);
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t board, char* uuid, unsigned room) {
    HEDDLE_BOARD(board, uuid);
    return put_text(uuid, room, uuid_of(board->device));
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t board, unsigned* index) {
    HEDDLE_BOARD(board, index);
    *index = static_cast<unsigned>(board->device);
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t board, unsigned* minor) { return nvmlDeviceGetIndex(board, minor); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t board, int* major, int* minor) {
    HEDDLE_BOARD(board, major);
    if (minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = static_cast<int>(fact(board, 75));
    *minor = static_cast<int>(fact(board, 76));
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t board, unsigned* architecture) {
    HEDDLE_BOARD(board, architecture);
    const unsigned capability = 10 * fact(board, 75) + fact(board, 76);
    *architecture = capability >= 100 ? 10 : capability >= 90 ? 9 : capability == 89 ? 8 : capability >= 80 ? 7 : capability == 75 ? 6 : capability >= 70 ? 5 : 0xffffffffu;
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t board, nvmlMemory_t* memory) {
    HEDDLE_BOARD(board, memory);
    heddle::driver::BoardState state{};
    const nvmlReturn_t status = state_of(board, &state);
    *memory = {state.memory_bytes, state.free_bytes, state.memory_bytes - state.free_bytes};
    return status;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t board, nvmlMemory_v2_t* memory) {
    HEDDLE_BOARD(board, memory);
    if (memory->version != (sizeof(nvmlMemory_v2_t) | 2u << 24)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    heddle::driver::BoardState state{};
    const nvmlReturn_t status = state_of(board, &state);
    memory->total = state.memory_bytes;
    memory->reserved = 0;
    memory->free = state.free_bytes;
    memory->used = state.memory_bytes - state.free_bytes;
    return status;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t board, unsigned* bits) {
    HEDDLE_BOARD(board, bits);
    *bits = fact(board, 37);
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t board, unsigned type, unsigned* mhz) { return clock_of(board, type, mhz); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t board, unsigned type, unsigned* mhz) { return clock_of(board, type, mhz); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t board, unsigned type, unsigned* mhz) { return clock_of(board, type, mhz); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t board, unsigned type, unsigned* mhz) { return clock_of(board, type, mhz); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t board, unsigned type, unsigned* mhz) { return clock_of(board, type, mhz); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t board, unsigned type, unsigned which, unsigned* mhz) { return which > 3 ? NVML_ERROR_INVALID_ARGUMENT : clock_of(board, type, mhz); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t board, unsigned* milliwatts) {
    HEDDLE_BOARD(board, milliwatts);
    heddle::driver::BoardState state{};
    const nvmlReturn_t status = state_of(board, &state);
    *milliwatts = state.power_mw;
    return status;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t board, unsigned* milliwatts) {
    HEDDLE_BOARD(board, milliwatts);
    heddle::driver::BoardState state{};
    const nvmlReturn_t status = state_of(board, &state);
    *milliwatts = state.power_limit_mw;
    return status;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t board, unsigned* milliwatts) { return nvmlDeviceGetPowerManagementLimit(board, milliwatts); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t board, unsigned* milliwatts) { return nvmlDeviceGetPowerManagementLimit(board, milliwatts); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t board, unsigned* least, unsigned* most) {
    HEDDLE_BOARD(board, least);
    const nvmlReturn_t status = nvmlDeviceGetPowerManagementLimit(board, least);
    return status != NVML_SUCCESS ? status : nvmlDeviceGetPowerManagementLimit(board, most);
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t board, nvmlUtilization_t* rates) {
    HEDDLE_BOARD(board, rates);
    heddle::driver::BoardState state{};
    const nvmlReturn_t status = state_of(board, &state);
    *rates = {state.busy_percent, state.memory_percent};
    return status;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t board, unsigned sensor, unsigned* celsius) {
    HEDDLE_BOARD(board, celsius);
    if (sensor != 0) return NVML_ERROR_INVALID_ARGUMENT;
    heddle::driver::BoardState state{};
    const nvmlReturn_t status = state_of(board, &state);
    *celsius = static_cast<unsigned>(kCold + (kHot - kCold) * state.power_mw / std::max(1u, state.power_limit_mw));
    return status;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t board, unsigned* count, void*) { return no_processes(board, count); }
HEDDLE_API nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t board, unsigned* mode) {
    HEDDLE_BOARD(board, mode);
    *mode = 1;  // the driver stays loaded
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t board, unsigned* mode) {
    HEDDLE_BOARD(board, mode);
    *mode = 0;  // many contexts
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t board, unsigned* state) {
    HEDDLE_BOARD(board, state);
    *state = 0;  // the highest
    return NVML_SUCCESS;
}
HEDDLE_API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t board, unsigned* current, unsigned* pending) {
    HEDDLE_BOARD(board, current);
    *current = 0;
    if (pending != nullptr) *pending = 0;
    return NVML_SUCCESS;
}
