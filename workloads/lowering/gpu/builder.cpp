#include "workloads/lowering/gpu/builder.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::lowering {
namespace {

/// Bytes from the start of its storage that an operand reaches.
std::uint64_t reach(const trace::Trace& trace, const trace::Op& op, const std::string& side, std::size_t i,
                    trace::TensorId id) {
    const trace::Tensor& tensor = trace.tensor(id);
    const std::int64_t offset = op.offset(side + std::to_string(i));
    const std::vector<std::int64_t> strides = op.strides(side + std::to_string(i));
    std::int64_t elements = tensor.elements();
    if (!strides.empty() && elements > 0) {
        elements = 1;
        for (std::size_t axis = 0; axis < strides.size() && axis < tensor.shape.size(); ++axis) {
            elements += (tensor.shape[axis] - 1) * strides[axis];
        }
    }
    return static_cast<std::uint64_t>(offset + elements) * trace::bytes_of(tensor.type);
}

}  // namespace

kernels::ElementType kernel_type(trace::ElementType type) {
    using trace::ElementType;
    switch (type) {
        case ElementType::f64:
            return kernels::ElementType::f64;
        case ElementType::f32:
            return kernels::ElementType::f32;
        case ElementType::f16:
            return kernels::ElementType::f16;
        case ElementType::bf16:
            return kernels::ElementType::bf16;
        case ElementType::i64:
            return kernels::ElementType::i64;
        case ElementType::i32:
            return kernels::ElementType::i32;
        case ElementType::i8:
            return kernels::ElementType::i8;
        case ElementType::u8:
            return kernels::ElementType::u8;
        case ElementType::boolean:
            return kernels::ElementType::boolean;
        case ElementType::e4m3:
            return kernels::ElementType::e4m3;
        case ElementType::e5m2:
            return kernels::ElementType::e5m2;
        case ElementType::tf32:
        case ElementType::i16:
            break;
    }
    throw Unsupported{"no kernel for elements of type " + trace::name_of(type)};
}

bool is_dense(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    if (strides.size() != shape.size()) return false;
    std::int64_t expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && strides[axis] != expected) return false;
        expected *= shape[axis];
    }
    return true;
}

GpuProgramBuilder::GpuProgramBuilder(const trace::Trace& trace, const target::GpuTarget& target,
                                     GemmPicker pick_gemm)
    : trace_(trace), target_(target), pick_gemm_(std::move(pick_gemm)) {
    assign_buffers();
}

void GpuProgramBuilder::assign_buffers() {
    std::vector<std::uint64_t> bytes(trace_.tensors.size());
    for (std::size_t id = 0; id < trace_.tensors.size(); ++id) bytes[id] = trace_.tensors[id].bytes();
    for (const trace::Op& op : trace_.ops) {
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            bytes[op.inputs[i]] = std::max(bytes[op.inputs[i]], reach(trace_, op, "input", i, op.inputs[i]));
        }
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
            bytes[op.outputs[i]] =
                std::max(bytes[op.outputs[i]], reach(trace_, op, "output", i, op.outputs[i]));
        }
    }
    std::map<std::uint64_t, program::BufferId> by_storage;
    buffer_of_tensor_.resize(trace_.tensors.size());
    for (std::size_t id = 0; id < trace_.tensors.size(); ++id) {
        const trace::Tensor& tensor = trace_.tensors[id];
        const auto found = tensor.storage == 0 ? by_storage.end() : by_storage.find(tensor.storage);
        if (found != by_storage.end()) {
            buffer_of_tensor_[id] = found->second;
            program::Buffer& buffer = program_.buffers[found->second];
            buffer.bytes = std::max(buffer.bytes, bytes[id]);
            continue;
        }
        const auto buffer = static_cast<program::BufferId>(program_.buffers.size());
        // A pointer to nothing still needs an address.
        program_.buffers.push_back({tensor.name, std::max<std::uint64_t>(bytes[id], 1), std::nullopt});
        buffer_of_tensor_[id] = buffer;
        if (tensor.storage != 0) by_storage[tensor.storage] = buffer;
    }
}

void GpuProgramBuilder::begin_op(trace::OpId op) {
    op_ = op;
}

kernels::KernelArgument GpuProgramBuilder::input_pointer(std::string parameter, std::size_t i) const {
    const std::int64_t offset = op().offset("input" + std::to_string(i));
    return kernels::pointer_argument(std::move(parameter), buffer_of(op().inputs.at(i)),
                                     static_cast<std::uint64_t>(offset) * trace::bytes_of(input(i).type));
}

kernels::KernelArgument GpuProgramBuilder::output_pointer(std::string parameter, std::size_t i) const {
    const std::int64_t offset = op().offset("output" + std::to_string(i));
    return kernels::pointer_argument(std::move(parameter), buffer_of(op().outputs.at(i)),
                                     static_cast<std::uint64_t>(offset) * trace::bytes_of(output(i).type));
}

program::BufferId GpuProgramBuilder::add_buffer(std::string name, std::uint64_t bytes) {
    program_.buffers.push_back({std::move(name), bytes, std::nullopt});
    return static_cast<program::BufferId>(program_.buffers.size() - 1);
}

program::BufferId GpuProgramBuilder::workspace(const std::string& purpose, std::uint64_t bytes) {
    const auto [found, added] =
        workspaces_.try_emplace(purpose, static_cast<program::BufferId>(program_.buffers.size()));
    if (added) program_.buffers.push_back({"workspace for " + purpose, 1, std::nullopt});
    program::Buffer& buffer = program_.buffers[found->second];
    buffer.bytes = std::max(buffer.bytes, bytes);
    return found->second;
}

void GpuProgramBuilder::steer_by_buffer(program::BufferId buffer, unsigned element_bytes, std::int64_t low,
                                        std::int64_t high) {
    program::SteeringFill fill;
    fill.kind = program::SteeringFill::Kind::uniform_integers;
    fill.element_bytes = static_cast<std::uint8_t>(element_bytes);
    fill.low = low;
    fill.high = high;
    program_.buffers[buffer].steering = fill;
}

void GpuProgramBuilder::steer_by_input(std::size_t i, std::int64_t low, std::int64_t high) {
    steer_by_buffer(buffer_of(op().inputs.at(i)), trace::bytes_of(input(i).type), low, high);
}

program::KernelLaunch launch_of(const kernels::GeneratedKernel& kernel,
                                std::shared_ptr<const program::KernelText> text, const kernels::Extent3& grid,
                                const std::vector<kernels::KernelArgument>& arguments) {
    program::KernelLaunch launch;
    launch.kernel = std::move(text);
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block = {kernel.block[0], kernel.block[1], kernel.block[2]};
    launch.cluster = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
    launch.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    const std::vector<kernels::KernelArgument> ordered = kernels::order_arguments(kernel, arguments);
    for (std::size_t i = 0; i < ordered.size(); ++i) {
        if (ordered[i].tensor_map) {
            launch.arguments.push_back(program::TensorMapArgument{ordered[i].buffer, ordered[i].byte_offset,
                                                                  *ordered[i].tensor_map});
        } else if (ordered[i].pointer && ordered[i].buffer != kernels::kNoBuffer) {
            launch.arguments.push_back(program::BufferArgument{ordered[i].buffer, ordered[i].byte_offset});
        } else {
            launch.arguments.push_back(program::ScalarArgument{ordered[i].bits, kernel.parameters[i].bytes});
        }
    }
    return launch;
}

void GpuProgramBuilder::launch(const kernels::GeneratedKernel& kernel, const kernels::Extent3& grid,
                               const std::vector<kernels::KernelArgument>& arguments) {
    auto& text = texts_[kernel.text];
    if (!text)
        text = std::make_shared<const program::KernelText>(program::KernelText{kernel.text, kernel.entry});
    program_.launches.push_back(launch_of(kernel, text, grid, arguments));
    program_.launches.back().op = op_;
}

std::vector<std::int64_t> GpuProgramBuilder::input_strides(std::size_t i) const {
    std::vector<std::int64_t> strides = op().strides("input" + std::to_string(i));
    if (strides.empty() || is_dense(input(i).shape, strides)) return {};
    return strides;
}

void GpuProgramBuilder::require_dense_outputs() const {
    for (std::size_t i = 0; i < op().outputs.size(); ++i) {
        const std::vector<std::int64_t> strides = op().strides("output" + std::to_string(i));
        if (!strides.empty() && !is_dense(output(i).shape, strides)) {
            throw Unsupported{"no " + trace::name_of(op().kind) + " kernel writes a result with strides"};
        }
    }
}

void GpuProgramBuilder::require_dense_input(std::size_t i) const {
    if (!input_strides(i).empty()) {
        throw Unsupported{"no " + trace::name_of(op().kind) + " kernel reads operand " + std::to_string(i) +
                          " with strides"};
    }
}

void GpuProgramBuilder::require_dense() const {
    require_dense_outputs();
    for (std::size_t i = 0; i < op().inputs.size(); ++i) require_dense_input(i);
}

}  // namespace heddle::lowering
