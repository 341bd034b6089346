// Reductions: PyTorch's reduce_kernel, cuBLASLt's bias gradient.
#include <numeric>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// Axes of a call such as sum(self, dim, keepdim): the first list or integer after the tensor; none means
/// all.
std::vector<std::int64_t> axes_of(const Call& call, const RecordedTensor& input, std::size_t index) {
    std::vector<std::int64_t> axes;
    if (const Literal* literal = call.literal(index)) axes = literal->integers();
    const auto rank = static_cast<std::int64_t>(input.shape.size());
    if (axes.empty()) {
        axes.resize(input.shape.size());
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (std::int64_t& axis : axes) {
        if (axis < 0) axis += rank;
    }
    return axes;
}

/// cuBLASLt sums the rows of the gradient operand beside a product of te_gemm; the sum is its bias operand.
bool bias_gradient(Builder& builder, const Launch& launch) {
    if (!launch.name.contains("globalKernelBgrad")) return false;
    const Call& call = need(launch.enclosing({"tex_ts::te_gemm_ts"}), "call that multiplies matrices");
    const RecordedTensor& gradient = need(call.gpu_tensor(5), "B of te_gemm");
    const RecordedTensor& bias = need(call.gpu_tensor(14), "bias of te_gemm");
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.axes, {0});
    builder.input(op, gradient);
    builder.output(op, bias);
    builder.add(std::move(op), launch, &call);
    return true;
}

/// Products split along k leave partial results that a second kernel adds up.
bool split_k(Builder& builder, const Launch& launch) {
    if (!launch.name.contains("splitKreduce")) return false;
    const Call& call =
        need(launch.enclosing({"tex_ts::te_gemm_ts", "mm", "addmm", "bmm", "baddbmm", "linear", "matmul"}),
             "call that multiplies matrices");
    const RecordedTensor& result =
        need(call.name == "tex_ts::te_gemm_ts" ? call.gpu_tensor(10) : call.output_tensor(0),
             "result of the product");
    // Where the product's grid told its slices, the product is both kernels.
    if (const auto product = builder.last_op_of(call); product && builder.slices_of(*product) > 1) {
        builder.join_kernel(*product, launch.kernel);
        return true;
    }
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.axes, {0});
    assume(op, "2 partial results in f32");
    Shape partial = result.shape;
    partial.insert(partial.begin(), 2);
    builder.input(op, builder.invented(ElementType::f32, partial));
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
    return true;
}

struct RecordedReduction {
    const char* functor;  ///< part of the kernel's name
    const char* reduction;
    const char* expression;  ///< applied to every element before
};

constexpr RecordedReduction reductions[] = {
    {"sum_functor", "sum", ""},  {"MeanOps", "mean", ""},
    {"MaxOps", "max", ""},       {"MinOps", "min", ""},
    {"NormTwoOps", "norm2", ""}, {"NormOneOps", "sum", "y0 = abs(x0)"},
    {"max_functor", "max", ""},  {"ArgMaxOps", "max", ""},
    {"ArgMinOps", "min", ""},    {"AbsMaxOps", "max", "y0 = abs(x0)"},
};

}  // namespace

bool reduce_rule(Builder& builder, const Launch& launch) {
    if (bias_gradient(builder, launch) || split_k(builder, launch)) return true;
    if (launch.name.function != "reduce_kernel") return false;
    // sum() calls sum(dim=[]): the inner one carries the axes.
    const Call& call =
        need(launch.enclosing({"sum", "mean", "max", "min", "amax", "amin", "norm", "linalg_vector_norm",
                               "nansum", "argmax", "argmin", "_softmax_backward_data", "logsumexp"}),
             "call that reduces");
    const RecordedReduction* found = nullptr;
    for (const RecordedReduction& candidate : reductions) {
        if (launch.name.contains(candidate.functor)) found = &candidate;
    }
    if (found == nullptr) throw NotUnderstood{"reduction functor is not known"};
    const RecordedTensor& input = need(call.gpu_tensor(0), "operand of " + call.name);
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, std::string(found->reduction));
    const bool norm = call.name == "norm" || call.name == "linalg_vector_norm";
    op.set(keys::reduce.axes, axes_of(call, input, norm ? 2 : 1));
    if (*found->expression != '\0') op.set(keys::reduce.expression, std::string(found->expression));
    builder.input(op, input);
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    if (launch.name.contains("ArgMaxOps") || launch.name.contains("ArgMinOps")) {
        // The position alone is wanted; the extremum stays in the kernel.
        builder.output(op, builder.invented(input.type, result.shape));
        op.set(keys::reduce.argument, 1);
    }
    builder.output(op, result);
    if (const RecordedTensor* index = call.output_tensor(1)) {
        builder.output(op, *index);
        op.set(keys::reduce.argument, 1);
    }
    if (const auto threads = launch.name.integer(0)) op.set(keys::any.threads, *threads);
    if (const auto vector = launch.name.integer(1)) op.set(keys::any.vector_width, *vector);
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace heddle::importers
