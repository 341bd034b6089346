// Convolutions, batch norm and pooling by schema.
#include <algorithm>

#include "workloads/importers/operations.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

constexpr const char* convolutions[] = {
    "conv1d", "conv2d", "conv3d", "convolution", "_convolution", "cudnn_convolution", "convolution_backward"};
constexpr const char* batch_norms[] = {"cudnn_batch_norm",           "native_batch_norm",
                                       "_native_batch_norm_legit",   "cudnn_batch_norm_backward",
                                       "native_batch_norm_backward", "batch_norm",
                                       "miopen_batch_norm"};
constexpr const char* poolings[] = {
    "max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d", "avg_pool2d_backward",
    "_adaptive_avg_pool2d",    "_adaptive_avg_pool2d_backward"};

template <std::size_t N>
bool listed(const char* const (&names)[N], const std::string& name) {
    return std::any_of(std::begin(names), std::end(names), [&name](const char* one) { return name == one; });
}

struct GradientKernels {
    std::vector<const Call*> data, weight;
};

/// Kernels of convolution_backward, by the gradient that they work for. What a kernel's name does not say
/// goes with the product that follows it, or else with the last one.
GradientKernels split_kernels(const std::vector<const Call*>& kernels, bool data, bool weight) {
    GradientKernels result;
    if (!data || !weight) {
        (data ? result.data : result.weight) = kernels;
        return result;
    }
    std::vector<const Call*> undecided;
    std::vector<const Call*>* last = &result.weight;
    for (const Call* kernel : kernels) {
        undecided.push_back(kernel);
        const auto named = named_gradient(parse_kernel_name(kernel->full_name));
        if (!named) continue;
        last = *named == ConvolutionGradient::data ? &result.data : &result.weight;
        last->insert(last->end(), undecided.begin(), undecided.end());
        undecided.clear();
    }
    last->insert(last->end(), undecided.begin(), undecided.end());
    return result;
}

/// Sum of dy over all but the channels. Where no results were recorded, the extents of the bias (operand 3)
/// say that there is one.
void bias_gradient(Builder& builder, const Launch& launch, const Call& call) {
    if (launch.kernel.on_gpu) return;
    const RecordedTensor* result = call.output_tensor(2);
    const bool has_bias = call.literal(3) != nullptr && !call.literal(3)->integers().empty();
    if (result == nullptr && (call.has_results || !has_bias)) return;
    const RecordedTensor& dy = need(call.gpu_tensor(0), "incoming gradient of a convolution");
    if (dy.shape.size() < 2) throw NotUnderstood{"a gradient of a convolution without channels"};
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < dy.shape.size(); ++i)
        if (i != 1) axes.push_back(static_cast<std::int64_t>(i));
    op.set(keys::reduce.axes, axes);
    builder.input(op, dy);
    builder.output(op, result != nullptr ? *result : builder.invented(dy.type, {dy.shape[1]}));
    builder.add(std::move(op), launch, &call);
}

void convolution_gradient(Builder& builder, const Launch& launch, const Call& call) {
    const bool data = call.output_tensor(0) != nullptr, weight = call.output_tensor(1) != nullptr;
    if (!data && !weight) throw NotUnderstood{"gradients of a convolution were not recorded"};
    std::vector<const Call*> kernels = launch.group;
    if (launch.kernel.on_gpu) kernels.insert(kernels.begin(), &launch.kernel);
    GradientKernels split = split_kernels(kernels, data, weight);
    for (const auto gradient : {ConvolutionGradient::data, ConvolutionGradient::weight}) {
        const bool is_data = gradient == ConvolutionGradient::data;
        if (!(is_data ? data : weight)) continue;
        std::vector<const Call*>& own = is_data ? split.data : split.weight;
        if (own.empty()) {
            // With kernels, those of the other gradient did both.
            if (!launch.kernel.on_gpu) backward_convolution(builder, launch, call, gradient);
            continue;
        }
        const Call& first = *own.front();
        own.erase(own.begin());
        backward_convolution(builder, {launch.recording, first, parse_kernel_name(first.full_name), own},
                             call, gradient);
    }
    bias_gradient(builder, launch, call);
}

/// [C] beside [N, C, ...].
RecordedTensor by_channel(RecordedTensor tensor, std::size_t rank) {
    tensor.shape.resize(rank - 1, 1);
    tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    return tensor;
}

void batch_norm(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = need(call.gpu_tensor(0), "operand of a batch norm");
    const bool plain = call.name != "_native_batch_norm_legit";
    const std::size_t training = 5, epsilon = 7;
    Op op;
    if (plain && number_operand(call, training, 1) == 0) {
        if (x.shape.size() < 2) throw NotUnderstood{"a batch norm of less than two axes"};
        op.kind = OpKind::elementwise;
        op.set(keys::elementwise.expression, "y0 = (x0 - x3) * rsqrt(x4 + " +
                                                 number_text(number_operand(call, epsilon, 1e-5)) +
                                                 ") * x1 + x2");
        builder.input(op, x);
        for (std::size_t i = 1; i < 5; ++i)
            builder.input(op,
                          by_channel(need(call.gpu_tensor(i), "operand of a batch norm"), x.shape.size()));
        builder.output(op, need(call.output_tensor(0), "result of a batch norm"));
        builder.add(std::move(op), launch, &call);
        return;
    }
    op.kind = OpKind::batch_norm;
    for (std::size_t i = 0; i < 5; ++i)
        if (const RecordedTensor* tensor = call.gpu_tensor(i)) builder.input(op, *tensor);
    const std::size_t results = call.name == "batch_norm" ? 1 : 3;
    for (std::size_t i = 0; i < results; ++i) {
        const RecordedTensor* made = call.output_tensor(i);
        if (i == 0) made = &need(made, "result of a batch norm");
        if (made != nullptr && made->elements() > 0) builder.output(op, *made);
    }
    op.set(keys::batch_norm.momentum, number_operand(call, 6, 0.1));
    op.set(keys::batch_norm.epsilon, number_operand(call, epsilon, 1e-5));
    builder.add(std::move(op), launch, &call);
}

void batch_norm_gradient(Builder& builder, const Launch& launch, const Call& call) {
    // cudnn: (x, dy, gamma, running mean, variance, mean, rstd, ...); native: (dy, x, gamma, ..., mean, rstd)
    const bool cudnn = call.name == "cudnn_batch_norm_backward";
    Op op;
    op.kind = OpKind::batch_norm_grad;
    builder.input(op, need(call.gpu_tensor(cudnn ? 1 : 0), "gradient"));
    builder.input(op, need(call.gpu_tensor(cudnn ? 0 : 1), "x of a batch norm"));
    for (const std::size_t i : {5u, 6u, 2u})
        builder.input(op, need(call.gpu_tensor(i), "statistic of a batch norm"));
    for (std::size_t i = 0; i < 3; ++i) {
        const RecordedTensor* made = call.output_tensor(i);
        if (i == 0) made = &need(made, "gradient that a batch norm makes");
        if (made != nullptr) builder.output(op, *made);
    }
    builder.add(std::move(op), launch, &call);
}

/// (x, window, stride, padding, round up, padding counts, divisor); the gradient has dy before.
void mean_pooling(Builder& builder, const Launch& launch, const Call& call, bool backward) {
    const std::size_t first = backward ? 2 : 1;
    const auto list = [&call](std::size_t i) {
        std::vector<std::int64_t> values =
            call.literal(i) != nullptr ? call.literal(i)->integers() : std::vector<std::int64_t>{};
        if (values.size() == 1) values.push_back(values[0]);
        return values;
    };
    const std::vector<std::int64_t> window = list(first);
    if (window.empty()) throw NotUnderstood{"no window of a pooling was recorded"};
    Op op;
    op.kind = backward ? OpKind::pooling_grad : OpKind::pooling;
    op.set(keys::pooling.pooling, "mean");
    op.set(keys::pooling.window, window);
    op.set(keys::pooling.strides, list(first + 1).empty() ? window : list(first + 1));
    if (!list(first + 2).empty()) op.set(keys::pooling.padding, list(first + 2));
    op.set(keys::pooling.round_up, integer_operand(call, first + 3, 0));
    op.set(keys::pooling.padding_counts, integer_operand(call, first + 4, 1));
    builder.input(op, need(call.gpu_tensor(0), "operand of a pooling"));
    builder.output(op, need(call.output_tensor(0), "result of a pooling"));
    builder.add(std::move(op), launch, &call);
}

/// Windows that cover the plane without overlap.
void adaptive_pooling(Builder& builder, const Launch& launch, const Call& call, bool backward) {
    const RecordedTensor& x = need(call.gpu_tensor(backward ? 1 : 0), "x of a pooling");
    const RecordedTensor& result = need(call.output_tensor(0), "result of a pooling");
    const RecordedTensor& y = backward ? need(call.gpu_tensor(0), "gradient of a pooling") : result;
    if (x.shape.size() != 4 || y.shape.size() != 4) throw NotUnderstood{"a pooling of other than four axes"};
    std::vector<std::int64_t> window;
    for (const std::size_t axis : {2u, 3u}) {
        if (y.shape[axis] <= 0 || x.shape[axis] % y.shape[axis] != 0)
            throw NotUnderstood{"windows of a pooling that overlap"};
        window.push_back(x.shape[axis] / y.shape[axis]);
    }
    Op op;
    op.kind = backward ? OpKind::pooling_grad : OpKind::pooling;
    op.set(keys::pooling.pooling, "mean");
    op.set(keys::pooling.window, window);
    op.set(keys::pooling.strides, window);
    builder.input(op, backward ? y : x);
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

}  // namespace

bool is_window_operation(const std::string& name) {
    return listed(convolutions, name) || listed(batch_norms, name) || listed(poolings, name);
}

bool window_operation(Builder& builder, const Launch& launch, const Call& call) {
    const std::string& name = call.name;
    if (!is_window_operation(name)) return false;
    if (name == "convolution_backward") {
        convolution_gradient(builder, launch, call);
    } else if (listed(convolutions, name)) {
        if (!forward_convolution(builder, launch)) throw NotUnderstood{"a convolution without its call"};
    } else if (name.ends_with("batch_norm_backward")) {
        batch_norm_gradient(builder, launch, call);
    } else if (listed(batch_norms, name)) {
        batch_norm(builder, launch, call);
    } else if (name.rfind("max_pool", 0) == 0) {
        max_pooling(builder, launch, name.ends_with("_backward"));
    } else if (name.rfind("avg_pool", 0) == 0) {
        mean_pooling(builder, launch, call, name.ends_with("_backward"));
    } else {
        adaptive_pooling(builder, launch, call, name.ends_with("_backward"));
    }
    return true;
}

}  // namespace heddle::importers
