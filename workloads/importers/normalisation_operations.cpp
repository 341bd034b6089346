// Ops of PyTorch by schema: softmax, layer and group norms, losses that pick labels.
#include <algorithm>

#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

/// The axis in operand `index`; the last one is not written down.
void set_axis(Op& op, const Call& call, std::size_t index, const RecordedTensor& tensor) {
    const auto rank = static_cast<std::int64_t>(tensor.shape.size());
    std::int64_t axis = integer_operand(call, index, -1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) throw NotUnderstood{call.name + " along an axis that is not there"};
    if (axis != rank - 1) op.set(keys::softmax.axis, axis);
}

void softmax(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    Op op;
    op.kind = OpKind::softmax;
    set_axis(op, call, 1, x);
    if (call.name == "_log_softmax") op.set(keys::softmax.logarithm, 1);
    builder.input(op, x);
    builder.output(op, need(call.output_tensor(0), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

void softmax_gradient(Builder& builder, const Launch& launch, const Call& call) {
    // (dy, y, axis, type)
    const RecordedTensor& y = operand(call, 1, "result");
    Op op;
    op.kind = OpKind::softmax_grad;
    set_axis(op, call, 2, y);
    if (call.name == "_log_softmax_backward_data") op.set(keys::softmax.logarithm, 1);
    builder.input(op, y);
    builder.input(op, operand(call, 0, "gradient"));
    builder.output(op, need(call.output_tensor(0), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

/// Whether one of the call's kernels is this one of PyTorch's eager mode.
bool has_kernel(const Launch& launch, const char* function) {
    const auto is_it = [&](const Call* kernel) {
        return parse_kernel_name(kernel->full_name).function == function;
    };
    return is_it(&launch.kernel) || std::any_of(launch.group.begin(), launch.group.end(), is_it);
}

void layer_norm(Builder& builder, const Launch& launch, const Call& call) {
    // (x, normalised shape, gamma, beta, epsilon) -> y, mean, rstd
    const RecordedTensor& x = operand(call, 0, "operand");
    const RecordedTensor& gamma = operand(call, 2, "gamma");
    const std::int64_t columns = gamma.elements(), rows = columns > 0 ? x.elements() / columns : 0;
    Op op;
    op.kind = OpKind::layer_norm;
    if (has_kernel(launch, "vectorized_layer_norm_kernel")) op.set(keys::any.eager, 1);
    op.set(keys::layer_norm.epsilon, number_operand(call, 4, 1e-5));
    builder.input(op, as_rows(x, columns));
    builder.input(op, seen_as(gamma, {columns}));
    builder.input(op, seen_as(operand(call, 3, "beta"), {columns}));
    builder.output(op, as_rows(result_or(builder, call, 0, x.type, x.shape), columns));
    for (const std::size_t i : {1u, 2u})
        builder.output(op, result_or(builder, call, i, ElementType::f32, {rows}));
    builder.add(std::move(op), launch, &call);
}

void layer_norm_gradient(Builder& builder, const Launch& launch, const Call& call) {
    // (dy, x, normalised shape, mean, rstd, gamma, beta, mask) -> dx, d gamma, d beta
    const RecordedTensor& x = operand(call, 1, "x");
    const RecordedTensor& gamma = operand(call, 5, "gamma");
    const std::int64_t columns = gamma.elements();
    Op op;
    op.kind = OpKind::layer_norm_grad;
    if (has_kernel(launch, "layer_norm_grad_input_kernel") &&
        has_kernel(launch, "GammaBetaBackwardCUDAKernel"))
        op.set(keys::any.eager, 1);
    builder.input(op, as_rows(operand(call, 0, "gradient"), columns));
    builder.input(op, as_rows(x, columns));
    builder.input(op, operand(call, 3, "mean"));
    builder.input(op, operand(call, 4, "rstd"));
    builder.input(op, seen_as(gamma, {columns}));
    builder.output(op, as_rows(result_or(builder, call, 0, x.type, x.shape), columns));
    for (const std::size_t i : {1u, 2u}) {
        if (const RecordedTensor* made = call.output_tensor(i)) builder.output(op, seen_as(*made, {columns}));
    }
    builder.add(std::move(op), launch, &call);
}

void group_norm(Builder& builder, const Launch& launch, const Call& call) {
    // (x, gamma, beta, N, C, HxW, groups, epsilon) -> y, mean, rstd
    Op op;
    op.kind = OpKind::group_norm;
    op.set(keys::group_norm.groups, integer_operand(call, 6, 1));
    op.set(keys::group_norm.epsilon, number_operand(call, 7, 1e-5));
    for (std::size_t i = 0; i < 3; ++i) builder.input(op, operand(call, i, "operand"));
    for (std::size_t i = 0; i < 3; ++i)
        builder.output(op, need(call.output_tensor(i), "result of a group norm"));
    builder.add(std::move(op), launch, &call);
}

void pick_labels(Builder& builder, const Launch& launch, const Call& call) {
    // nll_loss_forward(log p [N, C], labels [N], weight, reduction, ignored) -> loss
    const RecordedTensor& x = operand(call, 0, "operand");
    const RecordedTensor& labels = operand(call, 1, "labels");
    if (x.shape.size() != 2) throw NotUnderstood{"a loss of other than two axes"};
    Op op;
    op.kind = OpKind::gather;
    op.set(keys::gather.axis, 1);
    op.set(keys::gather.along, 1);
    assume(op, "the mean of what is picked is taken in the same kernel");
    builder.input(op, x);
    builder.input(op, labels);
    builder.output(op, builder.invented(x.type, labels.shape));
    builder.add(std::move(op), launch, &call);
}

void spread_labels(Builder& builder, const Launch& launch, const Call& call) {
    // nll_loss_backward(d loss, log p, labels, ...) -> [N, C], zero but for one element of each row
    const RecordedTensor& labels = operand(call, 2, "labels");
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    if (result.shape.size() != 2) throw NotUnderstood{"a loss of other than two axes"};
    Op op;
    op.kind = OpKind::scatter;
    op.set(keys::scatter.axis, 1);
    op.set(keys::scatter.along, 1);
    builder.input(op, result);
    builder.input(op, labels);
    builder.input(op, builder.invented(result.type, labels.shape));
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

}  // namespace

const OperationTable& normalisation_operations() {
    static const OperationTable table{
        {"_softmax", softmax},
        {"_log_softmax", softmax},
        {"_safe_softmax", softmax},
        {"_softmax_backward_data", softmax_gradient},
        {"_log_softmax_backward_data", softmax_gradient},
        {"native_layer_norm", layer_norm},
        {"native_layer_norm_backward", layer_norm_gradient},
        {"native_group_norm", group_norm},
        {"nll_loss_forward", pick_labels},
        {"nll_loss_backward", spread_labels},
    };
    return table;
}

}  // namespace heddle::importers
