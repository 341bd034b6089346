// Ops of PyTorch that only move or set values: copies, joins, fills.
#include <unordered_map>

#include "workloads/importers/operations.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

void copy(Builder& builder, const Launch& launch, const Call& call) {
    // copy_(self, source)
    const auto tensor = [&call](std::size_t i) -> const RecordedTensor* {
        return i < call.inputs.size() && call.inputs[i].tensor ? &*call.inputs[i].tensor : nullptr;
    };
    const RecordedTensor& to = need(tensor(0), "target of the copy");
    const RecordedTensor& from = need(tensor(1), "source of the copy");
    if (!to.on_gpu() && !from.on_gpu()) throw NotUnderstood{"a copy on the host"};
    Op op;
    op.kind = to.on_gpu() && from.on_gpu() ? OpKind::copy : OpKind::host_copy;
    if (op.kind == OpKind::host_copy)
        op.set(keys::host_copy.direction, to.on_gpu() ? "host_to_device" : "device_to_host");
    if (from.on_gpu()) builder.input(op, from);
    if (to.on_gpu()) builder.output(op, to);
    describe_access(op, launch.name);
    builder.add(std::move(op), launch, &call);
}

void read_back(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::host_copy;
    op.set(keys::host_copy.direction, "device_to_host");
    builder.input(op, need(call.gpu_tensor(0), "scalar of " + call.name));
    builder.add(std::move(op), launch, &call);
}

/// cat, and stack, which gives every tensor a new axis of one element along which they are joined.
void join(Builder& builder, const Launch& launch, const Call& call) {
    if (call.inputs.empty() || call.inputs[0].tensors.empty())
        throw NotUnderstood{"the tensors that are joined were not recorded"};
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    std::int64_t axis = integer_operand(call, 1, 0);
    if (axis < 0) axis += static_cast<std::int64_t>(result.shape.size());
    Op op;
    op.kind = OpKind::concat;
    op.set(keys::concat.axis, axis);
    for (const RecordedTensor& tensor : call.inputs[0].tensors) {
        if (call.name == "cat") {
            if (tensor.elements() > 0) builder.input(op, tensor);
            continue;
        }
        if (axis < 0 || axis > static_cast<std::int64_t>(tensor.shape.size()))
            throw NotUnderstood{"an axis that tensors do not have"};
        Shape shape = tensor.shape;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
        RecordedTensor part = tensor;
        part.strides = trace::broadcast_strides(shape, shape);
        part.shape = std::move(shape);
        builder.input(op, part);
    }
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

/// clone, contiguous, _to_copy where no call within them does the work.
void whole_copy(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& from = need(call.gpu_tensor(0), "source of " + call.name);
    const RecordedTensor& to = need(call.output_tensor(0), "result of " + call.name);
    if (from.storage == to.storage) throw NotUnderstood{"a copy onto itself"};
    Op op;
    op.kind = OpKind::copy;
    builder.input(op, from);
    builder.output(op, to);
    builder.add(std::move(op), launch, &call);
}

/// triu, tril: one side of the diagonal, and zeros beyond it.
void triangle(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::copy;
    assume(op, "the part that becomes zero is read too");
    builder.input(op, need(call.gpu_tensor(0), "source of " + call.name));
    builder.output(op, need(call.output_tensor(0), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

/// New tensors of one value; gradients of slices are zero but for the slice.
void whole_fill(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::fill;
    op.set(keys::fill.value, call.name.rfind("ones", 0) == 0 ? 1.0 : 0.0);
    if (call.name.ends_with("_backward")) assume(op, "the slice is written by the same kernel");
    builder.output(op, need(call.output_tensor(0), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

using Movement = void (*)(Builder&, const Launch&, const Call&);

const std::unordered_map<std::string, Movement>& movements() {
    static const std::unordered_map<std::string, Movement> table{
        {"copy", copy},
        {"_local_scalar_dense", read_back},
        {"cat", join},
        {"stack", join},
        {"clone", whole_copy},
        {"contiguous", whole_copy},
        {"_to_copy", whole_copy},
        {"triu", triangle},
        {"tril", triangle},
        {"zeros", whole_fill},
        {"zeros_like", whole_fill},
        {"ones_like", whole_fill},
        {"full_like", whole_fill},
        {"new_zeros", whole_fill},
        {"select_backward", whole_fill},
        {"slice_backward", whole_fill},
    };
    return table;
}

}  // namespace

bool is_movement(const std::string& name) {
    return movements().contains(name);
}

bool movement_operation(Builder& builder, const Launch& launch, const Call& call) {
    const auto found = movements().find(call.name);
    if (found == movements().end()) return false;
    found->second(builder, launch, call);
    return true;
}

}  // namespace heddle::importers
