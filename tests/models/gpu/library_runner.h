// Kernels of the library on a GPU model, with and without values.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "isa/numerics/formats.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "models/gpu/gpu.h"
#include "workloads/kernels/library.h"

namespace heddle::library_test {

using kernels::LibraryKernel;
using kernels::SampleBuffer;

/// Small integers are exact in every type, so that nothing overflows; indices stay below their limit.
inline std::vector<std::byte> content(const SampleBuffer& buffer) {
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
    explicit Runner(const models::gpu::GpuConfig& config, const char* name = "gpu") : gpu(name, config) {}

    models::gpu::KernelResult run(const LibraryKernel& sample, ptx::Mode mode,
                                  models::gpu::RunOptions options = {},
                                  ptx::Assembly assembly = ptx::Assembly::as_written) {
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
        return gpu.run(launch, options);
    }
};

}  // namespace heddle::library_test
