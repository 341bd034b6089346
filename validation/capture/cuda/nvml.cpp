#include "validation/capture/cuda/nvml.h"

namespace heddle::capture {
namespace {

// As in nvml.h: nvmlReturn_t is an enum with 0 for success; the handle is a pointer. Numbers of
// nvmlClockType_t.
using Status = int;
constexpr int kClockSm = 1, kClockMemory = 2, kTemperatureOfGpu = 0;

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) : library_({"libnvidia-ml.so.1"}) {
    const auto initialise = library_.find_as<Status (*)()>("nvmlInit_v2");
    const auto by_bus = library_.find_as<Status (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (initialise == nullptr || by_bus == nullptr || pci_bus_id.empty() || initialise() != 0) return;
    if (by_bus(pci_bus_id.c_str(), &device_) != 0) device_ = nullptr;
}

void Nvml::add(Record& record, const char* key, const char* function) const {
    const auto get = library_.find_as<Status (*)(void*, unsigned*)>(function);
    unsigned value = 0;
    if (get != nullptr && get(device_, &value) == 0) record.integer(key, value);
}

void Nvml::add(Record& record, const char* key, const char* function, int which) const {
    const auto get = library_.find_as<Status (*)(void*, int, unsigned*)>(function);
    unsigned value = 0;
    if (get != nullptr && get(device_, which, &value) == 0) record.integer(key, value);
}

Record Nvml::telemetry() const {
    Record record;
    if (device_ == nullptr) return record;
    add(record, "sm_clock_mhz", "nvmlDeviceGetClockInfo", kClockSm);
    add(record, "memory_clock_mhz", "nvmlDeviceGetClockInfo", kClockMemory);
    add(record, "maximum_sm_clock_mhz", "nvmlDeviceGetMaxClockInfo", kClockSm);
    add(record, "power_milliwatts", "nvmlDeviceGetPowerUsage");
    add(record, "power_limit_milliwatts", "nvmlDeviceGetEnforcedPowerLimit");
    add(record, "temperature_celsius", "nvmlDeviceGetTemperature", kTemperatureOfGpu);
    add(record, "performance_state", "nvmlDeviceGetPerformanceState");
    using GetReasons = Status (*)(void*, unsigned long long*);
    auto reasons = library_.find_as<GetReasons>("nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons == nullptr)
        reasons = library_.find_as<GetReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
    unsigned long long bits = 0;
    if (reasons != nullptr && reasons(device_, &bits) == 0) record.hexadecimal("clocks_event_reasons", bits);
    return record;
}

std::string Nvml::driver_version() const {
    const auto get = library_.find_as<Status (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    char text[96] = {};
    if (device_ == nullptr || get == nullptr || get(text, sizeof text - 1) != 0) return {};
    return text;
}

}  // namespace heddle::capture
