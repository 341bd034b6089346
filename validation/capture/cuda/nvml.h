// Clocks, power and temperature from libnvidia-ml.so.1, which comes with the driver.
#pragma once

#include <string>

#include "validation/capture/cuda/shared_library.h"
#include "validation/capture/record.h"

namespace heddle::capture {

class Nvml {
  public:
    /// `pci_bus_id`: "0000:1b:00.0". Without the library, or without this GPU in it, every answer is empty.
    explicit Nvml(const std::string& pci_bus_id);

    Record telemetry() const;
    std::string driver_version() const;

  private:
    void add(Record& record, const char* key, const char* function) const;
    void add(Record& record, const char* key, const char* function, int which) const;

    SharedLibrary library_;
    void* device_ = nullptr;  ///< nvmlDevice_t
};

}  // namespace heddle::capture
