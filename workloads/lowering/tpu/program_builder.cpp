#include "workloads/lowering/tpu/program_builder.h"

#include <algorithm>
#include <tuple>

#include "isa/common/error.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {

ProgramBuilder::ProgramBuilder(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                               const TensorPlacement& placement)
    : trace_(&trace), op_(&trace.ops.at(op)), target_(target), placement_(placement) {
    for (unsigned core = 0; core < target.cores; ++core) cores_.emplace_back(target, core);
}

HbmView ProgramBuilder::view(trace::TensorId id, const std::string& operand) const {
    const trace::Tensor& tensor = trace_->tensor(id);
    const auto type = tpu_type(tensor.type);
    if (!type) throw Unsupported{"a TPU has no " + trace::name_of(tensor.type)};
    HbmView view;
    view.type = *type;
    view.boolean = tensor.type == trace::ElementType::boolean;
    view.shape = tensor.shape;
    view.strides = op_->strides(operand);
    if (view.strides.empty()) view.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    // A stride along an axis of one element says nothing.
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
        if (view.strides[axis] < 0) throw Unsupported{operand + " has a negative stride"};
    }
    view.address = (addresses_ != nullptr ? addresses_->at(id) : placement_.address(id)) +
                   static_cast<std::uint64_t>(op_->offset(operand)) * bytes_of(view.type);
    return view;
}

HbmView ProgramBuilder::input_view(std::size_t i) const {
    return view(op_->inputs.at(i), "input" + std::to_string(i));
}
HbmView ProgramBuilder::output_view(std::size_t i) const {
    return view(op_->outputs.at(i), "output" + std::to_string(i));
}

HbmView ProgramBuilder::input_view(std::size_t i, const std::vector<std::int64_t>& shape) const {
    HbmView view = input_view(i);
    std::vector<std::int64_t> strides(shape.size(), 0);
    const std::size_t missing = shape.size() - view.shape.size();
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
        if (view.shape[axis] != 1) strides[missing + axis] = view.strides[axis];
    }
    view.shape = shape;
    view.strides = std::move(strides);
    return view;
}

namespace {

HbmView flattened(HbmView view, const std::string& operand) {
    std::int64_t expected = 1;
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
        if (view.shape[axis] != 1 && view.strides[axis] != expected)
            throw Unsupported{operand + " is not dense"};
        expected *= view.shape[axis];
    }
    view.shape = {expected};
    view.strides = {1};
    return view;
}

}  // namespace

HbmView ProgramBuilder::dense_input(std::size_t i) const {
    return flattened(input_view(i), "input" + std::to_string(i));
}
HbmView ProgramBuilder::dense_output(std::size_t i) const {
    return flattened(output_view(i), "output" + std::to_string(i));
}

HbmView ProgramBuilder::workspace(const std::vector<std::int64_t>& shape, tpu::ElementType type) {
    HbmView view;
    view.address = placement_.workspace_address() + workspace_bytes_;
    view.type = type;
    view.shape = shape;
    view.strides = trace::broadcast_strides(shape, shape);
    const auto bytes = static_cast<std::uint64_t>(trace::element_count(shape)) * bytes_of(type);
    workspace_bytes_ += divide_up(bytes, 512) * 512;
    return view;
}

std::shared_ptr<const tpu::VectorKernel> ProgramBuilder::kernel(tpu::VectorKernel kernel,
                                                                const std::vector<tpu::ElementType>& inputs) {
    for (const auto& known : kernels_) {
        kernel.name = known->name;
        if (kernel == *known) return known;
    }
    kernel.name = "k" + std::to_string(kernels_.size());
    try {
        check(kernel, inputs);
    } catch (const Error& error) {
        throw Unsupported{error.problem()};
    }
    kernels_.push_back(std::make_shared<const tpu::VectorKernel>(std::move(kernel)));
    return kernels_.back();
}

void ProgramBuilder::meet() {
    for (CoreBuilder& core : cores_) core.wait_for_all();
    if (cores_.size() == 1) return;
    if (meeting_flags_.empty()) {
        for (CoreBuilder& receiver : cores_) {
            meeting_flags_.emplace_back();
            for (std::size_t sender = 0; sender < cores_.size(); ++sender) {
                meeting_flags_.back().push_back(receiver.new_flag());
            }
        }
    }
    for (CoreBuilder& sender : cores_) {
        tpu::Instruction signal{tpu::Signal{}, {}, {}, 0};
        for (CoreBuilder& receiver : cores_) {
            if (&receiver == &sender) continue;
            signal.signals.push_back(
                {meeting_flags_[receiver.core()][sender.core()], static_cast<std::int16_t>(receiver.core())});
        }
        sender.append(std::move(signal));
    }
    for (CoreBuilder& receiver : cores_) {
        tpu::Instruction wait{tpu::Wait{}, {}, {}, 0};
        for (const CoreBuilder& sender : cores_) {
            if (&receiver != &sender)
                wait.waits.push_back({meeting_flags_[receiver.core()][sender.core()], 1});
        }
        receiver.append(std::move(wait));
    }
}

void ProgramBuilder::part(const trace::Trace& parts, trace::OpId op,
                          const std::vector<std::uint64_t>& addresses,
                          const std::function<void(ProgramBuilder&)>& lower) {
    const auto whole = std::tuple(trace_, op_, addresses_);
    trace_ = &parts;
    op_ = &parts.ops.at(op);
    addresses_ = &addresses;
    lower(*this);
    std::tie(trace_, op_, addresses_) = whole;
}

tpu::Program ProgramBuilder::finish() {
    tpu::Program program;
    program.name = op_->name.empty() ? trace::name_of(op_->kind) : op_->name;
    // A name is one word of the text form.
    std::replace(program.name.begin(), program.name.end(), ' ', '_');
    for (CoreBuilder& core : cores_) program.cores.push_back(core.finish());
    return program;
}

void pipeline(std::size_t steps, std::size_t ahead, const std::function<void(std::size_t)>& load,
              const std::function<void(std::size_t)>& compute) {
    std::size_t loaded = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        while (loaded < steps && loaded <= step + ahead) load(loaded++);
        compute(step);
    }
}

Range part_of(std::uint64_t count, std::uint64_t parts, std::uint64_t index) {
    return {count * index / parts, count * (index + 1) / parts};
}

}  // namespace heddle::lowering::on_tpu
