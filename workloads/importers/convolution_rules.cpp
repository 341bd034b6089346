// Convolutions, batch norm and pooling of PyTorch, as cuDNN and PyTorch's own kernels carry them out.
#include <algorithm>
#include <array>

#include "workloads/importers/operands.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

bool contains_any(const KernelName& name, std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return name.contains(part); });
}

using Gradient = ConvolutionGradient;
Gradient gradient_of(const KernelName& name) {
    if (const auto named = named_gradient(name)) return *named;
    throw NotUnderstood{"the kernel does not say which gradient of a convolution it makes"};
}

/// Kernels of which a convolution has more than one: what goes before or after the products.
bool is_step_of_convolution(const KernelName& name) {
    return contains_any(
        name, {"winograd_nonfused", "scalePackedTensor", "nchwToNhwc", "nhwcToNchw", "nchwToFoldedNhwc",
               "kern_precompute_indices", "computeOffsetsKernel", "computeWgradSplitKOffsets",
               "computeWgradBOffsets", "generateWinogradTiles", "flip_filter", "ReduceSplitK",
               "split_k_kernel", "reduce_wgrad", "im2col", "fft2d", "compute_gemm_pointers"});
}

bool is_convolution(const KernelName& name) {
    return contains_any(
        name, {"scudnn", "hcudnn", "h884cudnn", "s884cudnn", "i8816cudnn", "wgrad", "dgrad", "fprop",
               "dgrad_engine", "cutlass_cudnn", "ImplicitGemmConvolution", "implicit_convolve",
               "convolve_sgemm", "conv2d_grouped_direct", "conv_depthwise", "winograd", "cudnn::cnn"});
}

/// A tensor [N, C, ...] whose channels lie last in memory, as [N, ..., C].
RecordedTensor channels_last(const RecordedTensor& tensor) {
    RecordedTensor seen = tensor;
    const std::size_t axes = tensor.shape.size();
    for (std::size_t i = 1; i + 1 < axes; ++i) {
        seen.shape[i] = tensor.shape[i + 1];
        seen.strides[i] = tensor.strides[i + 1];
    }
    seen.shape[axes - 1] = tensor.shape[1];
    seen.strides[axes - 1] = tensor.strides[1];
    return seen;
}
bool lies_channels_last(const RecordedTensor& tensor) {
    return tensor.shape.size() >= 3 && !tensor.is_contiguous() && channels_last(tensor).is_contiguous();
}

std::vector<std::int64_t> integers(const Call& call, std::size_t index, const std::string& what) {
    const Literal* value = call.literal(index);
    std::vector<std::int64_t> list = value != nullptr ? value->integers() : std::vector<std::int64_t>{};
    if (list.empty()) throw NotUnderstood{"no " + what + " was recorded"};
    return list;
}

/// Where the arguments of the calls that convolve lie.
struct Arguments {
    const char* name;
    std::size_t stride, padding, dilation, groups;
    int transposed;  ///< -1: none
};
constexpr std::array<Arguments, 6> forward_calls{{{"cudnn_convolution", 3, 2, 4, 5, -1},
                                                  {"convolution", 3, 4, 5, 8, 6},
                                                  {"_convolution", 3, 4, 5, 8, 6},
                                                  {"conv2d", 3, 4, 5, 6, -1},
                                                  {"conv1d", 3, 4, 5, 6, -1},
                                                  {"conv3d", 3, 4, 5, 6, -1}}};
constexpr Arguments backward_call{"convolution_backward", 4, 5, 6, 9, 7};

void describe(Op& op, const Call& call, const Arguments& at) {
    if (at.transposed >= 0) {
        const Literal* transposed = call.literal(static_cast<std::size_t>(at.transposed));
        if (transposed != nullptr && transposed->number(0) != 0)
            throw NotUnderstood{"a transposed convolution"};
    }
    op.set(keys::convolution.strides, integers(call, at.stride, "stride of the convolution"));
    op.set(keys::convolution.padding, integers(call, at.padding, "padding of the convolution"));
    op.set(keys::convolution.dilation, integers(call, at.dilation, "dilation of the convolution"));
    if (call.literal(at.groups) != nullptr)
        op.set(keys::convolution.groups, integer_operand(call, at.groups, 1));
}

/// f32 through tensor cores, as the name of the kernel says; cuDNN's default where there is no kernel to ask.
void describe_type(Op& op, const Launch& launch, ElementType type) {
    if (type != ElementType::f32) return;
    const bool tensor_cores = contains_any(launch.name, {"tf32", "tfloat32", "s1688", "s16816"});
    if (tensor_cores || !launch.kernel.on_gpu) op.set(keys::any.compute_type, "tf32");
}

/// Tile and stages of the kernel's name, slices of k from its grid: cuDNN's kernels of weights' gradients
/// have them along z.
void describe_kernel(Op& op, const Launch& launch) {
    if (!launch.kernel.on_gpu || op.get(keys::any.compute_type) != "tf32") return;
    if (const auto tile = tile_of(launch.name.full); tile.size() == 3) op.set(keys::any.tile, tile);
    if (const std::int64_t stages = stages_of(launch.name.full); stages > 0) op.set(keys::any.stages, stages);
    const std::vector<std::int64_t>& grid = launch.kernel.grid;
    if (op.kind == OpKind::convolution_weight_grad && grid.size() == 3 && grid[2] > 0)
        op.set(keys::any.slices, grid[2]);
}

/// Operands and result with channels last, where a kernel of the same call has laid them out so.
bool relaid_operands(Builder& builder, Op& op, const Call& call, const std::vector<RecordedTensor>& inputs,
                     const RecordedTensor& result) {
    const bool any = std::any_of(inputs.begin(), inputs.begin() + 2, [&](const RecordedTensor& input) {
        return builder.remembered(call, input) != nullptr;
    });
    if (!any) return false;
    op.set(keys::convolution.layout, "nhwc");
    const auto dense = [](RecordedTensor tensor) {
        std::rotate(tensor.shape.begin() + 1, tensor.shape.begin() + 2, tensor.shape.end());
        tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
        return tensor;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const RecordedTensor* laid = builder.remembered(call, inputs[i]);
        builder.input(op, laid != nullptr ? *laid : i < 2 ? dense(inputs[i]) : inputs[i]);
    }
    const RecordedTensor made = dense(builder.invented(result.type, result.shape));
    builder.remember(call, result, made);
    builder.output(op, made);
    return true;
}

/// Operands and result with channels first or last, as the pictures lie.
void operands(Builder& builder, Op& op, const Call& call, std::vector<RecordedTensor> inputs,
              RecordedTensor result) {
    if (relaid_operands(builder, op, call, inputs, result)) return;
    const bool last =
        std::any_of(inputs.begin(), inputs.begin() + 2, lies_channels_last) || lies_channels_last(result);
    if (last) {
        op.set(keys::convolution.layout, "nhwc");
        for (std::size_t i = 0; i < 2; ++i) inputs[i] = channels_last(inputs[i]);
        result = channels_last(result);
    }
    for (const RecordedTensor& input : inputs) builder.input(op, input);
    builder.output(op, result);
}

/// Arguments from `first` on: window, stride (none: the window), padding, dilation, whether to round up.
void describe_pooling(Op& op, const Call& call, std::size_t first) {
    op.set(keys::pooling.pooling, "max");
    const std::vector<std::int64_t> window = integers(call, first, "window of a pooling");
    op.set(keys::pooling.window, window);
    const Literal* stride = call.literal(first + 1);
    const std::vector<std::int64_t> strides =
        stride != nullptr ? stride->integers() : std::vector<std::int64_t>{};
    op.set(keys::pooling.strides, strides.empty() ? window : strides);
    op.set(keys::pooling.padding, integers(call, first + 2, "padding of a pooling"));
    op.set(keys::pooling.dilation, integers(call, first + 3, "dilation of a pooling"));
    if (call.literal(first + 4) != nullptr)
        op.set(keys::pooling.round_up, integer_operand(call, first + 4, 0));
}

/// Non-fused Winograd: transforms around one product; the product stands for the convolution.
bool is_winograd_product(const Launch& launch, const Call& call, Gradient& gradient) {
    if (!launch.name.contains("gemm")) return false;
    bool transformed = false;
    std::size_t nearest = 0;
    for (const Call* made : launch.recording.inside(call, launch.kernel)) {
        if (!made->on_gpu || (transformed && made->position < nearest)) continue;
        const std::string& name = made->full_name;
        const bool data = name.find("winogradForwardData") != std::string::npos;
        if (!data && name.find("winogradWgradD") == std::string::npos) continue;
        transformed = true;
        nearest = made->position;
        gradient = data ? Gradient::data : Gradient::weight;
    }
    return transformed;
}

bool convolution(Builder& builder, const Launch& launch) {
    const Call* call = convolving_call(launch);
    if (call == nullptr) {
        if (!is_convolution(launch.name)) return false;
        throw NotUnderstood{"a convolution's kernel under a call that does not convolve"};
    }
    if (is_step_of_convolution(launch.name))
        throw NotUnderstood{"a step of a convolution that stands beside its products"};
    const bool backward = call->name == backward_call.name;
    Gradient gradient = Gradient::data;
    if (is_winograd_product(launch, *call, gradient)) {
        if (!backward) return forward_convolution(builder, launch);
        backward_convolution(builder, launch, *call, gradient);
        return true;
    }
    if (launch.name.contains("gemm") && !is_convolution(launch.name)) {
        if (!backward) return forward_convolution(builder, launch);
        throw NotUnderstood{"a matrix product within the gradient of a convolution"};
    }
    if (!is_convolution(launch.name)) return false;
    if (!backward) return forward_convolution(builder, launch);
    backward_convolution(builder, launch, *call,
                         launch.name.contains("winograd") ? Gradient::data : gradient_of(launch.name));
    return true;
}

bool batch_norm(Builder& builder, const Launch& launch) {
    const bool backward = contains_any(launch.name, {"bn_bw_", "batch_norm_backward"});
    if (!backward && !contains_any(launch.name, {"bn_fw_", "batch_norm_transform", "batch_norm_collect"}))
        return false;
    Op op;
    if (backward) {
        const Call& call = need(launch.enclosing({"cudnn_batch_norm_backward"}), "gradient of a batch norm");
        op.kind = OpKind::batch_norm_grad;
        for (const std::size_t i : {1u, 0u})
            builder.input(op, need(call.gpu_tensor(i), "operand of a batch norm"));
        for (const std::size_t i : {5u, 6u, 2u})
            builder.input(op, need(call.gpu_tensor(i), "statistic of a batch norm"));
        for (std::size_t i = 0; i < 3; ++i)
            builder.output(op, need(call.output_tensor(i), "gradient that a batch norm makes"));
        builder.add(std::move(op), launch, &call);
        return true;
    }
    const Call* call = launch.enclosing({"cudnn_batch_norm"});
    if (call == nullptr) throw NotUnderstood{"a batch norm's kernel under a call that does not normalise"};
    op.kind = OpKind::batch_norm;
    for (std::size_t i = 0; i < 5; ++i)
        if (const RecordedTensor* tensor = call->gpu_tensor(i)) builder.input(op, *tensor);
    for (std::size_t i = 0; i < 3; ++i)
        builder.output(op, need(call->output_tensor(i), "result of a batch norm"));
    if (const Literal* momentum = call->literal(6)) op.set(keys::batch_norm.momentum, momentum->number(0.1));
    if (const Literal* epsilon = call->literal(7)) op.set(keys::batch_norm.epsilon, epsilon->number(1e-5));
    builder.add(std::move(op), launch, call);
    return true;
}

}  // namespace

const Call* convolving_call(const Launch& launch) {
    std::vector<std::string> names{backward_call.name};
    for (const Arguments& at : forward_calls) names.push_back(at.name);
    return launch.enclosing(names);
}

std::optional<Gradient> named_gradient(const KernelName& name) {
    if (contains_any(name, {"wgrad", "Wgrad", "splitK"})) return Gradient::weight;
    if (contains_any(name, {"dgrad", "stridedB", "Dgrad"})) return Gradient::data;
    // cuDNN 8 keeps the gradients of weights, which inference does not need, in a library of their own.
    if (name.contains("cutlass_cudnn_train")) return Gradient::weight;
    if (name.contains("cutlass_cudnn_infer")) return Gradient::data;
    // On each picture, column by column: dx = dy w^T reads w transposed, dw = x^T dy reads x transposed.
    if (contains_any(name, {"gemm"})) {
        if (contains_any(name, {"_nt_", "_nt"})) return Gradient::data;
        if (contains_any(name, {"_tn_", "_tn"})) return Gradient::weight;
    }
    return std::nullopt;
}

bool forward_convolution(Builder& builder, const Launch& launch) {
    for (const Arguments& at : forward_calls) {
        const Call* call = launch.enclosing({at.name});
        if (call == nullptr) continue;
        Op op;
        op.kind = OpKind::convolution;
        describe(op, *call, at);
        std::vector<RecordedTensor> inputs{need(call->gpu_tensor(0), "x of a convolution"),
                                           need(call->gpu_tensor(1), "weight of a convolution")};
        // Kernels add the bias in a launch of its own.
        const RecordedTensor* bias = call->name != "cudnn_convolution" ? call->gpu_tensor(2) : nullptr;
        if (!launch.kernel.on_gpu && bias != nullptr) inputs.push_back(*bias);
        describe_type(op, launch, inputs[0].type);
        describe_kernel(op, launch);
        operands(builder, op, *call, std::move(inputs),
                 need(call->output_tensor(0), "result of a convolution"));
        builder.add(std::move(op), launch, call);
        return true;
    }
    return false;
}

void backward_convolution(Builder& builder, const Launch& launch, const Call& call, Gradient gradient) {
    Op op;
    describe(op, call, backward_call);
    const RecordedTensor& dy = need(call.gpu_tensor(0), "incoming gradient of a convolution");
    const RecordedTensor& x = need(call.gpu_tensor(1), "x of a convolution");
    const RecordedTensor& w = need(call.gpu_tensor(2), "weight of a convolution");
    const bool data = gradient == Gradient::data;
    op.kind = data ? OpKind::convolution_data_grad : OpKind::convolution_weight_grad;
    describe_type(op, launch, dy.type);
    describe_kernel(op, launch);
    operands(builder, op, call, {dy, data ? w : x},
             need(call.output_tensor(data ? 0 : 1), "gradient that a convolution makes"));
    builder.add(std::move(op), launch, &call);
}

void max_pooling(Builder& builder, const Launch& launch, bool backward) {
    const Call& call =
        need(launch.enclosing({backward ? "max_pool2d_with_indices_backward" : "max_pool2d_with_indices",
                               backward ? "max_pool2d_with_indices_backward" : "max_pool2d"}),
             "call that takes maxima");
    Op op;
    op.kind = backward ? OpKind::pooling_grad : OpKind::pooling;
    describe_pooling(op, call, backward ? 2 : 1);
    std::vector<RecordedTensor> inputs{need(call.gpu_tensor(0), "operand of a pooling")};
    if (backward) {
        inputs.push_back(need(call.gpu_tensor(1), "x of a pooling"));
        inputs.push_back(need(call.gpu_tensor(7), "positions of a pooling"));
    }
    const RecordedTensor& result = need(call.output_tensor(0), "result of a pooling");
    const bool last = lies_channels_last(inputs[0]) || lies_channels_last(result);
    if (last) op.set(keys::pooling.layout, "nhwc");
    for (const RecordedTensor& input : inputs) builder.input(op, last ? channels_last(input) : input);
    builder.output(op, last ? channels_last(result) : result);
    if (const RecordedTensor* positions = backward ? nullptr : call.output_tensor(1))
        builder.output(op, last ? channels_last(*positions) : *positions);
    builder.add(std::move(op), launch, &call);
}

bool convolution_rule(Builder& builder, const Launch& launch) {
    if (contains_any(launch.name, {"max_pool_backward", "max_pool_forward"})) {
        max_pooling(builder, launch, launch.name.contains("max_pool_backward"));
        return true;
    }
    return batch_norm(builder, launch) || convolution_step_rule(builder, launch) ||
           convolution(builder, launch);
}

}  // namespace heddle::importers
