// A device for tests of sections: kernels run functionally, without time, with the arithmetic of any
// generation.
#pragma once

#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"
#include "validation/capture/device.h"

namespace heddle::capture::test {

class FunctionalDevice : public Device {
  public:
    explicit FunctionalDevice(unsigned compute_capability) : capability_(compute_capability) {}

    bool is_silicon() const override { return false; }
    unsigned compute_capability() const override { return capability_; }
    unsigned sm_count() const override { return 1; }
    std::uint64_t l2_bytes() const override { return 1 << 20; }
    std::uint64_t free_bytes() const override { return std::uint64_t{1} << 32; }
    Record describe() const override { return {}; }
    Record telemetry() const override { return {}; }
    Address allocate(std::uint64_t bytes) override { return memory_.allocate("buffer", bytes, true); }
    void release(Address) override {}
    void write(Address to, std::span<const std::byte> bytes) override { memory_.write(to, bytes); }
    void read(Address from, std::span<std::byte> bytes) override { memory_.read(from, bytes); }
    void fill(Address to, std::uint8_t value, std::uint64_t bytes) override {
        memory_.write(to, std::vector<std::byte>(bytes, std::byte{value}));
    }
    KernelHandle load(const std::string& ptx, const std::string& entry) override {
        try {
            kernels_.emplace_back(ptx::parse_shared(ptx, "probe.ptx"), entry);
        } catch (const Error& error) {
            throw DeviceError(error.what());
        }
        return static_cast<KernelHandle>(kernels_.size() - 1);
    }
    KernelAttributes attributes(KernelHandle) const override { return {}; }
    void launch(const Launch& launch) override {
        const ptx::LoadedKernel& kernel = kernels_.at(launch.kernel);
        ptx::LaunchContext context;
        context.kernel = &kernel;
        context.grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
        context.block = {launch.block[0], launch.block[1], launch.block[2]};
        context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
        context.parameters = ptx::pack_parameters(kernel, launch.parameters);
        context.memory = &memory_;
        context.compute_capability = capability_;
        try {
            ptx::run_functionally(context);
        } catch (const std::exception& error) {
            throw DeviceError(error.what());
        }
    }
    void synchronise() override {}
    std::array<std::byte, 128> encode_tensor_map(const TensorMapDescription&) override {
        throw DeviceError("no tensor maps");
    }
    std::vector<double> time(const std::function<void()>&, const TimingOptions&) override {
        throw DeviceError("no time");
    }
    Blas* blas() override { return blas_; }
    void set_blas(Blas* blas) { blas_ = blas; }

  private:
    unsigned capability_;
    ptx::GlobalMemory memory_;
    std::deque<ptx::LoadedKernel> kernels_;
    Blas* blas_ = nullptr;
};

}  // namespace heddle::capture::test
