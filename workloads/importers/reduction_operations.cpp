// Ops of PyTorch by schema: sums, means, extrema, norms; losses that are differences; the largest of a row.
#include <algorithm>

#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

/// The axes over which `from` is reduced to `to`; where several would do, the first.
std::vector<std::int64_t> reduced_axes(const Shape& from, const Shape& to) {
    std::vector<std::int64_t> axes;
    if (from.size() == to.size()) {
        for (std::size_t i = 0; i < from.size(); ++i)
            if (from[i] != to[i]) axes.push_back(static_cast<std::int64_t>(i));
        return axes;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::size_t left = from.size() - i, wanted = to.size() - kept;
        if (kept < to.size() && from[i] == to[kept] && left >= wanted) {
            ++kept;
        } else {
            axes.push_back(static_cast<std::int64_t>(i));
        }
    }
    return axes;
}

struct ListReduction {
    const char* reduction;
    const char* expression;  ///< applied before
    std::size_t axes;        ///< position of the argument
};

const std::unordered_map<std::string, ListReduction>& list_reductions() {
    static const std::unordered_map<std::string, ListReduction> table{
        {"sum", {"sum", "", 1}},
        {"nansum", {"sum", "y0 = x0 == x0 ? x0 : 0", 1}},
        {"mean", {"mean", "", 1}},
        {"amax", {"max", "", 1}},
        {"amin", {"min", "", 1}},
        {"max", {"max", "", 1}},
        {"min", {"min", "", 1}},
        {"argmax", {"max", "", 1}},
        {"argmin", {"min", "", 1}},
        {"norm", {"norm2", "", 2}},
        {"linalg_vector_norm", {"norm2", "", 2}},
        {"any", {"max", "y0 = x0 != 0", 1}},
        {"all", {"min", "y0 = x0 != 0", 1}},
        {"count_nonzero", {"sum", "y0 = x0 != 0", 1}},
    };
    return table;
}

/// How PyTorch's reduce_kernel<threads, vector width> spread the work, where it is one of the call's kernels.
void note_spread(Op& op, const Launch& launch) {
    std::vector<const Call*> kernels = launch.group;
    kernels.insert(kernels.begin(), &launch.kernel);
    for (const Call* kernel : kernels) {
        const KernelName name = parse_kernel_name(kernel->full_name);
        if (name.function != "reduce_kernel") continue;
        if (const auto threads = name.integer(0)) op.set(keys::any.threads, *threads);
        if (const auto vector = name.integer(1)) op.set(keys::any.vector_width, *vector);
        return;
    }
}

void reduction(Builder& builder, const Launch& launch, const Call& call) {
    const ListReduction& row = list_reductions().at(call.name);
    const RecordedTensor& input = operand(call, 0, "operand");
    // max(a, b) of two tensors is no reduction.
    if ((call.name == "max" || call.name == "min") && call.gpu_tensor(1) != nullptr) {
        Op op;
        op.kind = OpKind::elementwise;
        op.set(keys::elementwise.expression, "y0 = " + call.name + "(x0, x1)");
        builder.input(op, input);
        builder.input(op, *call.gpu_tensor(1));
        builder.output(op, need(call.output_tensor(0), "result of " + call.name));
        builder.add(std::move(op), launch, &call);
        return;
    }
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, std::string(row.reduction));
    if (*row.expression != '\0') op.set(keys::reduce.expression, std::string(row.expression));
    std::vector<std::int64_t> axes = axes_operand(call, row.axes, input.shape.size());
    Shape kept;
    for (std::size_t i = 0; i < input.shape.size(); ++i)
        if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
            kept.push_back(input.shape[i]);
    // The recorded result knows best (axes are not always recorded).
    if (trace::element_count(kept) != result.elements()) axes = reduced_axes(input.shape, result.shape);
    op.set(keys::reduce.axes, axes);
    builder.input(op, input);
    if (call.name == "argmax" || call.name == "argmin") {
        builder.output(op, builder.invented(input.type, result.shape));
        op.set(keys::reduce.argument, 1);
    }
    builder.output(op, result);
    if (const RecordedTensor* index = call.output_tensor(1)) {
        builder.output(op, *index);
        op.set(keys::reduce.argument, 1);
    }
    note_spread(op, launch);
    builder.add(std::move(op), launch, &call);
}

void difference_loss(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    const std::string text = call.name == "mse_loss" ? "y0 = (x0 - x1) * (x0 - x1)" : "y0 = abs(x0 - x1)";
    Op op;
    op.set(keys::elementwise.expression, text);
    builder.input(op, x);
    builder.input(op, operand(call, 1, "target"));
    op.kind = result.elements() == x.elements() ? OpKind::elementwise : OpKind::reduce;
    if (op.kind == OpKind::reduce)
        op.set(keys::reduce.reduction, number_operand(call, 2, 1) == 2 ? "sum" : "mean");
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

void largest(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    const std::int64_t axis = integer_operand(call, 2, -1);
    if (axis != -1 && axis + 1 != static_cast<std::int64_t>(x.shape.size()))
        throw NotUnderstood{call.name + " along an inner axis"};
    Op op;
    op.kind = OpKind::top_k;
    builder.input(op, x);
    for (const std::size_t i : {0u, 1u})
        builder.output(op, need(call.output_tensor(i), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

void cumulative_sum(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    const auto rank = static_cast<std::int64_t>(x.shape.size());
    if (rank == 0) throw NotUnderstood{"cumsum of one number"};
    const std::int64_t axis = integer_operand(call, 1, rank - 1);
    Op op;
    op.kind = OpKind::cumulative_sum;
    op.set(keys::cumulative_sum.axis, axis < 0 ? axis + rank : axis);
    builder.input(op, x);
    builder.output(op, need(call.output_tensor(0), "result of cumsum"));
    builder.add(std::move(op), launch, &call);
}

}  // namespace

const OperationTable& reduction_operations() {
    static const OperationTable table = [] {
        OperationTable made{{"mse_loss", difference_loss},
                            {"l1_loss", difference_loss},
                            {"topk", largest},
                            {"cumsum", cumulative_sum}};
        for (const auto& [name, row] : list_reductions()) made[name] = reduction;
        return made;
    }();
    return table;
}

}  // namespace heddle::importers
