// Transformer Engine's layer normalisation: forward, backward (per-CTA partial parameter gradients),
// finalize.
#include <algorithm>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// Tensors that calls named empty or empty_like made inside `scope` before the kernel, in order, each place
/// once.
std::vector<RecordedTensor> allocated(const Launch& launch, const Call& scope) {
    std::vector<RecordedTensor> result;
    for (const Call* call : launch.recording.inside(scope, launch.kernel)) {
        if (call->name != "empty" && call->name != "empty_like") continue;
        const RecordedTensor* tensor = call->output_tensor(0);
        if (tensor == nullptr || !tensor->on_gpu() || tensor->elements() == 0) continue;
        const bool inner =
            std::any_of(result.begin(), result.end(), [&](const auto& t) { return t.same_place(*tensor); });
        if (!inner) result.push_back(*tensor);
    }
    return result;
}

/// The last `count` of the tensors with this shape and type; throws when there are fewer.
std::vector<RecordedTensor> last_with(const std::vector<RecordedTensor>& tensors, const Shape& shape,
                                      ElementType type, std::size_t count, const std::string& what) {
    std::vector<RecordedTensor> result;
    for (const RecordedTensor& tensor : tensors) {
        if (tensor.shape == shape && tensor.type == type) result.push_back(tensor);
    }
    if (result.size() < count) throw NotUnderstood{"no " + what + " was recorded"};
    result.erase(result.begin(), result.end() - static_cast<std::ptrdiff_t>(count));
    return result;
}

/// What a forward layer normalisation reads and makes, found by the shapes that the kernel's template names.
struct Forward {
    RecordedTensor x, gamma, beta, y, mean, rstd;
};

RecordedTensor in_rows_of(const RecordedTensor& tensor, std::int64_t columns) {
    RecordedTensor rows = tensor;
    rows.shape = {tensor.elements() / columns, columns};
    rows.strides = {columns, 1};
    return rows;
}

const Call* forward_kernel(const Launch& launch, const Call& scope) {
    const auto made = launch.recording.children(scope);
    std::vector<std::size_t> pending(made.begin(), made.end());
    for (std::size_t steps = 0; !pending.empty() && steps < launch.recording.calls().size(); ++steps) {
        const Call& call = launch.recording.call(pending.back());
        pending.pop_back();
        if (call.on_gpu && call.full_name.find("ln_fwd") != std::string::npos) return &call;
        const auto inner = launch.recording.children(call);
        pending.insert(pending.end(), inner.begin(), inner.end());
    }
    return nullptr;
}

Forward forward_of(const Launch& launch, const Call& scope, std::int64_t columns) {
    Forward result;
    std::vector<RecordedTensor> vectors;
    const RecordedTensor* x = nullptr;
    for (std::size_t i = 0; i < scope.inputs.size(); ++i) {
        const RecordedTensor* tensor = scope.gpu_tensor(i);
        if (tensor == nullptr || tensor->shape.empty()) continue;
        if (x == nullptr && tensor->shape.size() >= 2 && tensor->shape.back() == columns) {
            x = tensor;
        } else if (x != nullptr && tensor->shape == Shape{columns} && vectors.size() < 2) {
            vectors.push_back(*tensor);
        }
    }
    if (x == nullptr || vectors.size() < 2)
        throw NotUnderstood{"operands of the layer normalisation are not recorded"};
    result.x = in_rows_of(*x, columns);
    result.gamma = vectors[0];
    result.beta = vectors[1];
    const std::int64_t rows = result.x.shape[0];
    const Call& kernel = need(forward_kernel(launch, scope), "forward kernel");
    const Launch then{launch.recording, kernel, {}, {}};
    const auto made = allocated(then, scope);
    result.y = last_with(made, {rows, columns}, x->type, 1, "normalised tensor")[0];
    const auto statistics = last_with(made, {rows}, ElementType::f32, 2, "mean and reciprocal deviation");
    result.mean = statistics[0];
    result.rstd = statistics[1];
    return result;
}

/// The nearest enclosing call that is neither an allocation nor a fill: the autograd function that launched
/// the kernel.
const Call* function_of(const Launch& launch) {
    for (const Call* call : launch.recording.enclosing(launch.kernel)) {
        if (call->name.find("LayerNorm") != std::string::npos ||
            call->name.find("layer_norm") != std::string::npos) {
            return call;
        }
    }
    return nullptr;
}

double epsilon_of(const Call& scope) {
    for (const Argument& argument : scope.inputs) {
        if (argument.tensor || !argument.value.is_number()) continue;
        const double value = argument.value.number(0);
        if (value > 0 && value < 0.01) return value;
    }
    return 1e-5;
}

struct Backward {
    RecordedTensor dx, d_gamma, d_beta, partial_gamma, partial_beta;
};

Backward backward_tensors(const Launch& launch, const Call& scope, const Forward& forward) {
    const std::int64_t columns = forward.x.shape[1];
    const auto made = allocated(launch, scope);
    Backward result;
    result.dx = last_with(made, forward.x.shape, forward.x.type, 1, "gradient of the input")[0];
    const auto vectors = last_with(made, {columns}, forward.gamma.type, 2, "gradients of gamma and beta");
    result.d_gamma = vectors[0];
    result.d_beta = vectors[1];
    std::vector<RecordedTensor> partials;
    for (const RecordedTensor& tensor : made) {
        const bool fits = tensor.shape.size() == 2 && tensor.shape[1] == columns &&
                          tensor.type == ElementType::f32 && tensor.shape[0] != forward.x.shape[0];
        if (fits) partials.push_back(tensor);
    }
    if (partials.size() < 2) throw NotUnderstood{"no partial parameter gradients were recorded"};
    result.partial_gamma = partials[partials.size() - 2];
    result.partial_beta = partials[partials.size() - 1];
    return result;
}

/// The gradient that flows in: what a product of the same function made with the shape of the input, or the
/// function's own operand.
RecordedTensor upstream(const Launch& launch, const Call& scope, const Forward& forward) {
    for (const Call* call : launch.recording.inside(scope, launch.kernel)) {
        if (call->name != "tex_ts::te_gemm_ts") continue;
        const RecordedTensor* result = call->gpu_tensor(10);
        if (result != nullptr && result->shape == forward.x.shape && result->type == forward.x.type)
            return *result;
    }
    const RecordedTensor& operand = need(scope.gpu_tensor(0), "gradient operand");
    if (operand.elements() != forward.x.elements())
        throw NotUnderstood{"the incoming gradient was not recorded"};
    return in_rows_of(operand, forward.x.shape[1]);
}

}  // namespace

bool normalisation_rule(Builder& builder, const Launch& launch) {
    const std::string& function = launch.name.function;
    if (function.rfind("ln_", 0) != 0 || function.find("_kernel") == std::string::npos) return false;
    // Kernel_traits_base<columns, weight, input, output, compute, ...>
    const auto traits = template_arguments(launch.name.full, "Kernel_traits_base");
    const auto named = traits.empty() ? std::nullopt : integer_argument(traits[0]);
    if (!named || *named < 1) throw NotUnderstood{"the kernel's traits are not in its name"};
    const std::int64_t columns = *named;
    const Call& scope = need(function_of(launch), "call that normalises");
    Op op;
    if (function.find("fwd") != std::string::npos) {
        const Forward forward = forward_of(launch, scope, columns);
        op.kind = OpKind::layer_norm;
        op.set(keys::layer_norm.epsilon, epsilon_of(scope));
        for (const RecordedTensor* tensor : {&forward.x, &forward.gamma, &forward.beta})
            builder.input(op, *tensor);
        for (const RecordedTensor* tensor : {&forward.y, &forward.mean, &forward.rstd})
            builder.output(op, *tensor);
        builder.add(std::move(op), launch, &scope);
        return true;
    }
    const Call& forward_call = need(launch.recording.forward_of(scope), "forward call of this gradient");
    const Forward forward = forward_of(launch, forward_call, columns);
    const Backward backward = backward_tensors(launch, scope, forward);
    if (function.find("finalize") != std::string::npos) {
        op.kind = OpKind::reduce;
        op.set(keys::reduce.reduction, "sum");
        op.set(keys::reduce.axes, {0});
        op.set(keys::reduce.expression, "y0 = x0; y1 = x1");
        builder.input(op, backward.partial_gamma);
        builder.input(op, backward.partial_beta);
        builder.output(op, backward.d_gamma);
        builder.output(op, backward.d_beta);
    } else {
        op.kind = OpKind::layer_norm_grad;
        const RecordedTensor dy = upstream(launch, scope, forward);
        for (const RecordedTensor* tensor : {&dy, &forward.x, &forward.mean, &forward.rstd, &forward.gamma}) {
            builder.input(op, *tensor);
        }
        for (const RecordedTensor* tensor : {&backward.dx, &backward.partial_gamma, &backward.partial_beta}) {
            builder.output(op, *tensor);
        }
    }
    builder.add(std::move(op), launch, &scope);
    return true;
}

}  // namespace heddle::importers
