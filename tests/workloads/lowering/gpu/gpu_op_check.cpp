#include "gpu_op_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>

#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/reference/elements.h"
#include "workloads/reference/execute.h"

namespace heddle::lowering::test {

using trace::ElementType;
using trace::Op;
using trace::TensorId;

double worst_error(const trace::Trace& trace, unsigned compute_capability) {
    trace.check();
    target::GpuTarget target;
    target.compute_capability = compute_capability;
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, target);
    for (const lowering::GpuLoweredOp& op : lowered.ops) REQUIRE(op.unsupported == "");

    reference::TensorValues truth(trace);
    ptx::GlobalMemory memory;
    std::vector<std::uint64_t> base;
    for (const program::Buffer& buffer : lowered.program.buffers) {
        base.push_back(memory.allocate(buffer.name, buffer.bytes, true));
    }
    for (const TensorId id : reference::external_tensors(trace)) {
        // What the type holds is what both begin with.
        const auto values = truth[id];
        const trace::ElementType type = trace.tensor(id).type;
        const std::vector<std::byte> bytes = reference::encode_elements(type, {values.begin(), values.end()});
        const std::vector<double> held = reference::decode_elements(type, bytes.data(), values.size());
        std::copy(held.begin(), held.end(), values.begin());
        memory.write(base[lowered.buffer_of_tensor[id]], bytes);
    }
    std::map<std::string, std::shared_ptr<ptx::LoadedKernel>> kernels;
    for (const program::KernelLaunch& launch : lowered.program.launches) {
        auto& kernel = kernels[launch.kernel->text];
        if (!kernel) {
            auto module =
                std::make_shared<const ptx::Module>(ptx::parse(launch.kernel->text, launch.kernel->entry));
            kernel = std::make_shared<ptx::LoadedKernel>(module, launch.kernel->entry);
        }
        std::vector<std::vector<std::byte>> arguments;
        for (const program::Argument& argument : launch.arguments) {
            const std::optional<program::BufferId> buffer = program::buffer_of(argument);
            const std::uint64_t address = buffer ? base[*buffer] : 0;
            if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
                const auto map = ptx::make_tensor_map(tensor->map, address + tensor->offset).encode();
                arguments.emplace_back(map.begin(), map.end());
            } else {
                arguments.push_back(program::argument_bytes(argument, address));
            }
        }
        ptx::LaunchContext context;
        context.kernel = kernel.get();
        context.grid = launch.grid;
        context.block = launch.block;
        context.cluster = launch.cluster;
        context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
        context.parameters = ptx::pack_parameters(*kernel, arguments);
        context.memory = &memory;
        context.compute_capability = compute_capability;
        REQUIRE(ptx::run_functionally(context) > 0);
    }

    reference::execute(trace, truth);
    double worst = 0;
    for (const Op& op : trace.ops) {
        for (const TensorId id : op.outputs) {
            const ElementType type = trace.tensor(id).type;
            const unsigned size = trace::bytes_of(type);
            const auto expected = truth[id];
            std::vector<std::byte> bytes(expected.size() * size);
            memory.read(base[lowered.buffer_of_tensor[id]], bytes);
            const std::vector<double> found = reference::decode_elements(type, bytes.data(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const double error = std::abs(found[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
                worst = std::max(worst, std::isnan(error) ? 1e30 : error);
            }
        }
    }
    return worst;
}

}  // namespace heddle::lowering::test
