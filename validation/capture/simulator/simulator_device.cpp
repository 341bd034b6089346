#include "validation/capture/simulator/simulator_device.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "isa/common/error.h"
#include "isa/ptx/tensor_map.h"
#include "sim/hardware/load_hardware.h"
#include "validation/capture/simulator/machine.h"
#include "validation/capture/simulator/simulator_blas.h"

namespace heddle::capture {
namespace {

/// What the machine finds wrong becomes what a device says.
template <typename Function>
auto guarded(Function&& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw DeviceError(error.what());
    } catch (const std::bad_alloc&) {
        throw DeviceError("the machine that simulates is out of memory");
    }
}

template <typename To>
To narrowed(std::uint64_t value, const char* what) {
    if (value > std::numeric_limits<To>::max())
        throw Error(std::string(what) + " of the tensor map is out of range: " + std::to_string(value));
    return static_cast<To>(value);
}

ptx::TensorMap tensor_map_of(const TensorMapDescription& description) {
    ptx::TensorMap map;
    map.type = static_cast<ptx::TensorMapType>(narrowed<std::uint8_t>(description.data_type, "the type"));
    map.rank = narrowed<std::uint8_t>(description.rank, "the rank");
    map.address = description.address;
    map.sizes = description.sizes;
    map.strides = description.strides;
    map.box = description.box;
    map.element_strides = description.element_strides;
    map.interleave = narrowed<std::uint8_t>(description.interleave, "the interleave");
    map.swizzle = static_cast<ptx::TensorMapSwizzle>(narrowed<std::uint8_t>(description.swizzle, "swizzle"));
    map.promotion =
        static_cast<ptx::TensorMapPromotion>(narrowed<std::uint8_t>(description.l2_promotion, "promotion"));
    map.fill = static_cast<ptx::TensorMapFill>(narrowed<std::uint8_t>(description.fill, "fill"));
    return map;
}

class SimulatorDevice : public Device {
  public:
    SimulatorDevice(sim::Hardware hardware, bool checked)
        : machine_(std::move(hardware)), blas_(make_simulator_blas(machine_)) {
        machine_.set_checked(checked);
    }

    bool is_silicon() const override { return false; }
    unsigned compute_capability() const override { return machine_.config().compute_capability; }
    unsigned sm_count() const override { return machine_.config().sm.count; }
    std::uint64_t l2_bytes() const override { return machine_.config().l2.bytes; }
    std::uint64_t free_bytes() const override { return machine_.free_bytes(); }

    Record describe() const override {
        const models::gpu::GpuConfig& config = machine_.config();
        Record record;
        record.text("name", "Heddle, model of " + machine_.hardware().name);
        record.flag("silicon", false);
        record.text("driver", "none: simulated");
        record.text("hardware", machine_.hardware().name);
        record.text("description", machine_.hardware().description);
        record.integer("compute_capability", config.compute_capability);
        record.integer("sm_count", config.sm.count);
        record.number("sm_clock_mhz", config.clock * 1e-6);
        record.integer("l2_bytes", static_cast<std::int64_t>(config.l2.bytes));
        record.integer("shared_bytes_per_sm", static_cast<std::int64_t>(config.shared.bytes));
        record.integer("shared_bytes_per_cta", static_cast<std::int64_t>(config.shared.bytes_per_cta));
        record.number("memory_bytes_per_second", config.hbm.bandwidth);
        return record;
    }
    Record telemetry() const override { return {}; }  // nothing is measured

    Address allocate(std::uint64_t bytes) override {
        return guarded([&] { return machine_.allocate("buffer " + std::to_string(++buffers_), bytes); });
    }
    void release(Address address) override {
        guarded([&] { machine_.release(address); });
    }
    void write(Address to, std::span<const std::byte> bytes) override {
        guarded([&] {
            machine_.memory().write(to, bytes);
            machine_.touch(to, bytes.size());
        });
    }
    void read(Address from, std::span<std::byte> bytes) override {
        guarded([&] { machine_.memory().read(from, bytes); });
    }
    void fill(Address to, std::uint8_t value, std::uint64_t bytes) override {
        guarded([&] {
            ptx::Allocation* allocation = machine_.memory().find(to, bytes);
            if (allocation == nullptr)
                throw Error("a fill of " + std::to_string(bytes) + " bytes is outside of every buffer");
            std::fill_n(allocation->data.begin() + static_cast<std::ptrdiff_t>(to - allocation->base), bytes,
                        std::byte{value});
            machine_.touch(to, bytes);
        });
    }

    KernelHandle load(const std::string& ptx, const std::string& entry) override {
        return guarded([&] { return machine_.load(ptx, entry); });
    }
    KernelAttributes attributes(KernelHandle handle) const override {
        return guarded([&] {
            const MachineKernel& kernel = machine_.kernel(handle);
            return KernelAttributes{kernel.loaded->registers_per_thread(),
                                    kernel.loaded->static_shared_bytes(), kernel.local_bytes,
                                    kernel.maximum_threads};
        });
    }
    void launch(const Launch& launch) override {
        guarded([&] { machine_.launch(launch); });
    }
    void synchronise() override {}
    std::array<std::byte, 128> encode_tensor_map(const TensorMapDescription& description) override {
        return guarded([&] { return tensor_map_of(description).encode(); });
    }

    std::vector<double> time(const std::function<void()>& enqueue, const TimingOptions& options) override {
        return guarded([&] {
            const double seconds = machine_.time(enqueue, options.cold_l2);
            return std::vector<double>(options.repetitions, seconds * 1e6);
        });
    }

    Blas* blas() override { return blas_.get(); }

  private:
    Machine machine_;
    std::unique_ptr<Blas> blas_;
    std::uint64_t buffers_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_simulator_device(const std::string& hardware, bool checked) {
    sim::Hardware loaded = sim::load_hardware(hardware);
    if (sim::gpu_machine(loaded) == nullptr)
        throw Error(loaded.name + " is a " + loaded.kind + ", a capture needs a GPU", {loaded.files.front()},
                    "choose h100-sxm, or list others with heddle hardware list");
    return std::make_unique<SimulatorDevice>(std::move(loaded), checked);
}

}  // namespace heddle::capture
