// Every kernel of the library on the model: values or none, skipping cycles or not, the cycles are the same.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "isa/numerics/formats.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "models/gpu/gpu.h"
#include "workloads/kernels/library.h"

using namespace heddle;
using kernels::LibraryKernel;
using kernels::SampleBuffer;

namespace {

/// Small integers are exact in every type, so that nothing overflows; indices stay below their limit.
std::vector<std::byte> content(const SampleBuffer& buffer) {
    std::vector<std::byte> bytes(buffer.bytes, std::byte{0});
    if (buffer.content == SampleBuffer::Content::zeros) return bytes;
    const unsigned size = kernels::bytes_of(buffer.type);
    std::uint32_t state = 12345;
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
        state = state * 1664525u + 1013904223u;
        const bool index = buffer.content == SampleBuffer::Content::index;
        const std::uint32_t number =
            index ? (state >> 8) % static_cast<std::uint32_t>(buffer.limit) : (state >> 28);
        const float real = static_cast<float>(number) / 16;
        std::uint64_t bits = number;
        switch (buffer.type) {
            case kernels::ElementType::f64:
                bits = std::bit_cast<std::uint64_t>(static_cast<double>(real));
                break;
            case kernels::ElementType::f32:
                bits = std::bit_cast<std::uint32_t>(real);
                break;
            case kernels::ElementType::f16:
                bits = numerics::fp32_to_fp16(real);
                break;
            case kernels::ElementType::bf16:
                bits = numerics::fp32_to_bf16(real);
                break;
            case kernels::ElementType::boolean:
                bits = number & 1;
                break;
            default:
                break;
        }
        std::memcpy(&bytes[at], &bits, size);
    }
    return bytes;
}

struct Runner {
    models::gpu::Gpu gpu;
    explicit Runner(const models::gpu::GpuConfig& config) : gpu("gpu", config) {}

    models::gpu::KernelResult run(const LibraryKernel& sample, ptx::Mode mode, bool tick_every_cycle,
                                  ptx::Assembly assembly = ptx::Assembly::as_written,
                                  models::Cycle window = models::kNever) {
        const auto module = std::make_shared<const ptx::Module>(ptx::parse(sample.kernel.text, sample.name));
        const unsigned capability = gpu.config().compute_capability;
        const ptx::LoadedKernel kernel(module, sample.kernel.entry, capability, assembly);
        ptx::GlobalMemory memory;
        std::vector<std::uint64_t> bases;
        for (const SampleBuffer& buffer : sample.buffers) {
            const bool backed =
                mode == ptx::Mode::functional || buffer.content == SampleBuffer::Content::index;
            bases.push_back(memory.allocate(buffer.name, buffer.bytes, backed));
            if (backed) memory.write(bases.back(), content(buffer));
        }
        std::vector<std::vector<std::byte>> values;
        for (std::size_t i = 0; i < sample.arguments.size(); ++i) {
            const kernels::KernelArgument& argument = sample.arguments[i];
            if (argument.tensor_map) {
                const std::uint64_t address = bases[argument.buffer] + argument.byte_offset;
                const auto map = ptx::make_tensor_map(*argument.tensor_map, address).encode();
                values.emplace_back(map.begin(), map.end());
                continue;
            }
            std::uint64_t bits = argument.bits;
            if (argument.pointer) {
                bits =
                    argument.buffer == kernels::kNoBuffer ? 0 : bases[argument.buffer] + argument.byte_offset;
            }
            std::vector<std::byte> bytes(sample.kernel.parameters[i].bytes);
            std::memcpy(bytes.data(), &bits, bytes.size());
            values.push_back(bytes);
        }
        ptx::LaunchContext launch;
        launch.kernel = &kernel;
        launch.grid = {sample.grid[0], sample.grid[1], sample.grid[2]};
        launch.block = {sample.kernel.block[0], sample.kernel.block[1], sample.kernel.block[2]};
        const kernels::Extent3& cluster = sample.kernel.cluster;
        launch.cluster = {cluster[0], cluster[1], cluster[2]};
        launch.dynamic_shared_bytes = sample.kernel.dynamic_shared_bytes;
        launch.parameters = ptx::pack_parameters(kernel, values);
        launch.memory = &memory;
        launch.mode = mode;
        launch.compute_capability = gpu.config().compute_capability;
        models::gpu::RunOptions options;
        options.tick_every_cycle = options.audit = tick_every_cycle;
        options.window = window;
        return gpu.run(launch, options);
    }
};

void compare_all(Runner& runner) {
    const std::vector<LibraryKernel> samples =
        kernels::library_samples(runner.gpu.config().compute_capability);
    REQUIRE(samples.size() > 50);
    for (const LibraryKernel& sample : samples) {
        CAPTURE(sample.name);
        const models::gpu::KernelResult timing = runner.run(sample, ptx::Mode::timing, false);
        CHECK(timing.cycles > 0);
        CHECK(timing.warp_instructions > 0);
        const models::gpu::KernelResult functional = runner.run(sample, ptx::Mode::functional, false);
        CHECK(functional.cycles == timing.cycles);
        CHECK(functional.warp_instructions == timing.warp_instructions);
        CHECK(functional.sub_core_cycles == timing.sub_core_cycles);
        const models::gpu::KernelResult every_cycle = runner.run(sample, ptx::Mode::timing, true);
        CHECK(every_cycle.cycles == timing.cycles);
        CHECK(every_cycle.sub_core_cycles == timing.sub_core_cycles);
        // Within a cluster's window the order is that of the SMs.
        if (sample.kernel.cluster[0] * sample.kernel.cluster[1] * sample.kernel.cluster[2] > 1) continue;
        const models::gpu::KernelResult one_by_one =
            runner.run(sample, ptx::Mode::timing, false, ptx::Assembly::as_written, 1);
        CHECK(one_by_one.cycles == timing.cycles);
        CHECK(one_by_one.sub_core_cycles == timing.sub_core_cycles);
    }
}

}  // namespace

TEST_CASE("library kernels take the same cycles in every mode on an H100") {
    Runner runner(models::gpu::GpuConfig{});
    compare_all(runner);
}

TEST_CASE("library kernels take the same cycles in every mode on a machine like an A100") {
    models::gpu::GpuConfig config;
    config.compute_capability = 80;
    config.clock = 1.41e9;
    config.sm.count = 108;
    config.tensor.f16 = 1024;
    config.tensor.mma_sync_efficiency = 1;
    config.shared.bytes = 167936;
    config.shared.bytes_per_cta = 166912;
    config.l1.unified_bytes = 192 << 10;
    config.l2.bytes = 40ull << 20;
    Runner runner(config);
    compare_all(runner);
}

TEST_CASE("the scheduling pass makes library kernels faster, and few of them a little slower") {
    // Which are slower, and why as far as it is known: docs/scheduling.md. Kernels this small change by some
    // per cent with the order in which their loads reach memory.
    constexpr double kSlower = 1.02, kMuchSlower = 1.1;
    Runner runner(models::gpu::GpuConfig{});
    // Of which the pass spills registers, as ptxas does, and which as written has more than there are.
    const std::string spilled = "attention gradient d128 64 keys causal edges";
    const std::vector<LibraryKernel> samples = kernels::library_samples(90);
    std::size_t faster = 0, slower = 0;
    double logarithms = 0;
    for (const LibraryKernel& sample : samples) {
        const auto cycles = [&](ptx::Assembly assembly) {
            return static_cast<double>(runner.run(sample, ptx::Mode::timing, false, assembly).cycles);
        };
        const double written = cycles(ptx::Assembly::as_written),
                     scheduled = cycles(ptx::Assembly::scheduled);
        CAPTURE(sample.name, written, scheduled);
        if (sample.name != spilled) CHECK(scheduled <= kMuchSlower * written);
        if (scheduled > kSlower * written) ++slower;
        if (scheduled < written) ++faster;
        logarithms += std::log(scheduled / written);
    }
    CHECK(faster > 50);
    CHECK(slower * 8 <= samples.size());
    CHECK(logarithms / static_cast<double>(samples.size()) < std::log(0.99));
}
