// A device that is plain memory, and a BLAS of a few loops that share nothing with the plans: what a capture
// of it says can be checked by eye.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "validation/capture/device.h"

namespace heddle::capture::test {

/// f32 products only, one chain of fused multiply-adds over k, then fma(alpha, sum, beta * C), bias, ReLU.
/// Its algorithms call themselves `id`; `spoil` may change an output.
class LoopBlas : public Blas {
  public:
    explicit LoopBlas(int id) : id_(id) {}
    std::function<float(const GemmProblem&, std::uint64_t row, std::uint64_t column, float)> spoil =
        [](const GemmProblem&, std::uint64_t, std::uint64_t, float value) { return value; };
    bool descending = false;  ///< adds from the last product to the first
    bool gives_errors = false;

    std::vector<GemmAlgorithm> algorithms(const GemmProblem& p, unsigned) override {
        if (p.a != Type::f32 || p.compute == Compute::tf32) return {};
        if (p.epilogue == Epilogue::gelu || p.epilogue == Epilogue::gelu_bias) return {};
        GemmAlgorithm algorithm;
        algorithm.id = id_;
        algorithm.inner_shape = 8;
        algorithm.split_k = 1;
        return {algorithm};
    }

    void run(const GemmProblem& p, const GemmAlgorithm&, const GemmOperands& x) override {
        if (gives_errors) throw DeviceError("cublasLtMatmul: not today");
        const auto* a = reinterpret_cast<const float*>(x.a);
        const auto* b = reinterpret_cast<const float*>(x.b);
        const auto* c = reinterpret_cast<const float*>(x.c);
        const auto* bias = reinterpret_cast<const float*>(x.bias);
        auto* d = reinterpret_cast<float*>(x.d);
        for (std::uint64_t l = 0; l < p.batch; ++l)
            for (std::uint64_t i = 0; i < p.m; ++i)
                for (std::uint64_t j = 0; j < p.n; ++j) {
                    float sum = 0;
                    for (std::uint64_t step = 0; step < p.k; ++step) {
                        const std::uint64_t k = descending ? p.k - 1 - step : step;
                        const float left = a[l * p.elements_a() / p.batch +
                                             (p.transpose_a ? k * p.row_a() + i : i * p.row_a() + k)];
                        const float right = b[l * p.elements_b() / p.batch +
                                              (p.transpose_b ? j * p.row_b() + k : k * p.row_b() + j)];
                        sum = std::fma(left, right, sum);
                    }
                    float value = static_cast<float>(p.alpha) * sum;
                    if (p.beta != 0)
                        value = std::fma(
                            static_cast<float>(p.alpha), sum,
                            static_cast<float>(p.beta) * c[l * p.elements_c() / p.batch + i * p.row_c() + j]);
                    if (bias != nullptr) value += bias[j];
                    if ((p.epilogue == Epilogue::relu || p.epilogue == Epilogue::relu_bias) && value < 0)
                        value = 0;
                    d[l * p.elements_d() / p.batch + i * p.row_d() + j] = spoil(p, i, j, value);
                }
    }
    void observe(const GemmProblem&, GemmAlgorithm& algorithm, const GemmOperands&) override {
        algorithm.kernels = "loop_gemm";
    }

  private:
    int id_;
};

class HostDevice : public Device {
  public:
    explicit HostDevice(int algorithm_id) : loops(algorithm_id) {}

    bool is_silicon() const override { return false; }
    unsigned compute_capability() const override { return 90; }
    unsigned sm_count() const override { return 1; }
    std::uint64_t l2_bytes() const override { return 1 << 20; }
    std::uint64_t free_bytes() const override { return std::uint64_t{1} << 32; }
    Record describe() const override {
        return Record().text("name", "loops").integer("compute_capability", 90);
    }
    Record telemetry() const override { return {}; }
    Address allocate(std::uint64_t bytes) override {
        std::vector<std::uint64_t> memory(bytes / 8 + 2);
        const auto address = reinterpret_cast<Address>(memory.data());
        memory_[address] = std::move(memory);
        return address;
    }
    void release(Address address) override { memory_.erase(address); }
    void write(Address to, std::span<const std::byte> bytes) override {
        std::memcpy(reinterpret_cast<void*>(to), bytes.data(), bytes.size());
    }
    void read(Address from, std::span<std::byte> bytes) override {
        std::memcpy(bytes.data(), reinterpret_cast<const void*>(from), bytes.size());
    }
    void fill(Address to, std::uint8_t value, std::uint64_t bytes) override {
        std::memset(reinterpret_cast<void*>(to), value, bytes);
    }
    KernelHandle load(const std::string&, const std::string&) override {
        throw DeviceError("loops take no PTX");
    }
    KernelAttributes attributes(KernelHandle) const override { return {}; }
    void launch(const Launch&) override {}
    void synchronise() override {}
    std::array<std::byte, 128> encode_tensor_map(const TensorMapDescription&) override { return {}; }
    std::vector<double> time(const std::function<void()>&, const TimingOptions&) override { return {}; }
    Blas* blas() override { return &loops; }

    LoopBlas loops;

  private:
    std::map<Address, std::vector<std::uint64_t>> memory_;
};

}  // namespace heddle::capture::test
