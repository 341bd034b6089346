// What the sections of a capture ask of a device: memory, kernels given as PTX, time, and a BLAS. A real GPU
// answers (cuda/), or Heddle's own model of one (simulator/), so that the same sections run on both.
//
// Only the standard library and the rooms that need nothing else (isa/common, isa/numerics,
// workloads/kernels) are used here: the program is built on machines that have a GPU and a compiler and
// nothing more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/target/tensor_map.h"
#include "validation/capture/blas.h"
#include "validation/capture/record.h"

namespace heddle::capture {

/// The device refused or failed: an unsupported instruction, no memory left, a launch that went wrong. A
/// section records it with the item that it belongs to and goes on, unless `lost`.
struct DeviceError : std::runtime_error {
    explicit DeviceError(const std::string& what, bool is_lost = false)
        : std::runtime_error(what), lost(is_lost) {}
    bool lost = false;  ///< nothing can be run after this one
};

using Address = std::uint64_t;  ///< in device memory
using KernelHandle = std::uint32_t;
using Extent3 = std::array<std::uint32_t, 3>;

struct KernelAttributes {
    unsigned registers_per_thread = 0;
    unsigned static_shared_bytes = 0;
    unsigned local_bytes = 0;
    unsigned maximum_threads = 0;
};

/// Bytes of one kernel parameter, as the PTX declares it.
using ParameterBytes = std::vector<std::byte>;
template <typename T>
ParameterBytes parameter(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    return {bytes, bytes + sizeof value};
}

struct Launch {
    KernelHandle kernel = 0;
    Extent3 grid{1, 1, 1}, block{1, 1, 1};
    Extent3 cluster{1, 1, 1};  ///< more than one CTA: a cluster launch
    std::uint32_t dynamic_shared_bytes = 0;
    std::vector<ParameterBytes> parameters;
};

/// What cuTensorMapEncodeTiled() takes; dimension 0 is the innermost. Numbers as in cuda.h.
struct TensorMapDescription {
    unsigned data_type = 0;  ///< CUtensorMapDataType
    unsigned rank = 2;
    Address address = 0;
    std::array<std::uint64_t, 5> sizes{};
    std::array<std::uint64_t, 4> strides{};  ///< bytes, of dimensions 1 and up
    std::array<std::uint32_t, 5> box{};
    std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};
    unsigned interleave = 0, swizzle = 0, l2_promotion = 0, fill = 0;
};

/// The same from a kernel compiler's.
TensorMapDescription describe_tensor_map(const target::TensorMapSpec& spec, Address address);

struct TimingOptions {
    unsigned warm_up = 2;       ///< runs that are not timed
    unsigned repetitions = 10;  ///< timed runs, each reported by itself
    bool cold_l2 = false;       ///< L2 is overwritten before every run
    bool graph = true;          ///< as one CUDA graph: no host work between launches
};

/// One device. All work goes to one stream, in order; calls of launch() return before the work is done. Every
/// function throws DeviceError.
class Device {
  public:
    virtual ~Device() = default;

    /// False for the simulator: its numbers say nothing about silicon and are marked so.
    virtual bool is_silicon() const = 0;
    virtual unsigned compute_capability() const = 0;  ///< times ten: 90
    virtual unsigned sm_count() const = 0;
    virtual std::uint64_t l2_bytes() const = 0;
    virtual std::uint64_t free_bytes() const = 0;  ///< of device memory
    /// Name, properties, driver and library versions.
    virtual Record describe() const = 0;
    /// Clocks, power, temperature, reasons for throttling, now; empty where they cannot be read.
    virtual Record telemetry() const = 0;

    virtual Address allocate(std::uint64_t bytes) = 0;  ///< 256-byte aligned, values undefined
    virtual void release(Address address) = 0;
    virtual void write(Address to, std::span<const std::byte> bytes) = 0;
    /// Waits for all work before.
    virtual void read(Address from, std::span<std::byte> bytes) = 0;
    virtual void fill(Address to, std::uint8_t value, std::uint64_t bytes) = 0;

    /// Compiles PTX for this device. The message of a DeviceError has the compiler's log.
    virtual KernelHandle load(const std::string& ptx, const std::string& entry) = 0;
    virtual KernelAttributes attributes(KernelHandle kernel) const = 0;
    /// Dynamic shared memory beyond 48 KiB is asked for without the caller's help.
    virtual void launch(const Launch& launch) = 0;
    virtual void synchronise() = 0;
    virtual std::array<std::byte, 128> encode_tensor_map(const TensorMapDescription& map) = 0;

    /// Microseconds of what `enqueue` puts on the stream, one number for each repetition. `enqueue` is called
    /// once or more, and must not allocate, read or write.
    virtual std::vector<double> time(const std::function<void()>& enqueue, const TimingOptions& options) = 0;

    /// The vendor's matrix multiplication, or nullptr when there is none.
    virtual Blas* blas() = 0;
};

/// Device memory that is released at the end of the scope.
class DeviceBuffer {
  public:
    DeviceBuffer(Device& device, std::uint64_t bytes)
        : device_(&device), address_(device.allocate(bytes)), bytes_(bytes) {}
    DeviceBuffer(Device& device, std::span<const std::byte> contents)
        : DeviceBuffer(device, contents.size()) {
        device.write(address_, contents);
    }
    DeviceBuffer(DeviceBuffer&& other) noexcept
        : device_(other.device_), address_(other.address_), bytes_(other.bytes_) {
        other.device_ = nullptr;
    }
    DeviceBuffer& operator=(DeviceBuffer&&) = delete;
    ~DeviceBuffer() {
        if (device_ == nullptr) return;
        try {
            device_->release(address_);
        } catch (const DeviceError&) {  // a lost device releases nothing
        }
    }

    Address address() const { return address_; }
    std::uint64_t bytes() const { return bytes_; }
    std::vector<std::byte> read() const {
        std::vector<std::byte> values(bytes_);
        device_->read(address_, values);
        return values;
    }

  private:
    Device* device_;
    Address address_;
    std::uint64_t bytes_;
};

}  // namespace heddle::capture
