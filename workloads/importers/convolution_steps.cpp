// Kernels around the products of a convolution, and products that are plain matrix products.
#include <algorithm>
#include <array>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// cuDNN changes layouts in tiles of 32 channels by 32 positions: the grid is [positions / 32, channels / 32,
/// items].
bool is_grid_of(const std::vector<std::int64_t>& grid, const Shape& shape) {
    const auto tiles = [](std::int64_t extent) { return (extent + 31) / 32; };
    return grid.size() == 3 && grid[0] == tiles(shape[2] * shape[3]) && grid[1] == tiles(shape[1]) &&
           grid[2] == shape[0];
}

/// Which of the call's pictures or weights the kernel reads (or, with `results`, writes).
const RecordedTensor& relaid_tensor(Builder& builder, const Launch& launch, const Call& call, bool results) {
    std::vector<const RecordedTensor*> candidates;
    for (std::size_t i = 0; i < 3; ++i) {
        const RecordedTensor* tensor = results ? call.output_tensor(i) : call.gpu_tensor(i);
        if (tensor != nullptr && tensor->shape.size() == 4) candidates.push_back(tensor);
    }
    if (!launch.kernel.grid.empty()) {
        const RecordedTensor* found = nullptr;
        for (const RecordedTensor* tensor : candidates) {
            if (!is_grid_of(launch.kernel.grid, tensor->shape)) continue;
            // Of two alike, the one that has not been laid out yet.
            if (found == nullptr || builder.remembered(call, *found) != nullptr) found = tensor;
        }
        return need(found, "tensor of the size of a change of layout");
    }
    // Without a grid: one after the other, where there is one order alone.
    const std::size_t turn = results ? 0 : launch.turn_in(call).index;
    if (call.name == "convolution_backward" || turn >= candidates.size())
        throw NotUnderstood{"a step of a convolution that stands beside its products"};
    return *candidates[turn];
}

RecordedTensor with_shape(RecordedTensor tensor, Shape shape) {
    tensor.shape = std::move(shape);
    tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    return tensor;
}

void change_layout(Builder& builder, const Launch& launch, const Call& call, bool to_last) {
    const RecordedTensor& tensor = relaid_tensor(builder, launch, call, !to_last);
    const Shape& shape = tensor.shape;
    const Shape last{shape[0], shape[2], shape[3], shape[1]};
    Op op;
    op.kind = OpKind::copy;
    op.set(keys::copy.tiles, 1);
    if (to_last) {
        const RecordedTensor made = builder.invented(tensor.type, last);
        op.set(keys::copy.permutation, {0, 2, 3, 1});
        builder.input(op, with_shape(tensor, shape));
        builder.output(op, made);
        builder.remember(call, tensor, made);
    } else {
        const RecordedTensor* made = builder.remembered(call, tensor);
        op.set(keys::copy.permutation, {0, 3, 1, 2});
        builder.input(op, made != nullptr ? *made : builder.invented(tensor.type, last));
        builder.output(op, with_shape(tensor, shape));
    }
    builder.add(std::move(op), launch, nullptr);
}

/// A picture as a matrix [N, channels, positions].
RecordedTensor planes(const RecordedTensor& tensor) {
    if (tensor.shape.size() < 3 || !tensor.is_contiguous())
        throw NotUnderstood{"a matrix product on pictures whose channels lie last"};
    std::int64_t positions = 1;
    for (std::size_t i = 2; i < tensor.shape.size(); ++i) positions *= tensor.shape[i];
    return with_shape(tensor, {tensor.shape[0], tensor.shape[1], positions});
}

RecordedTensor weight_matrix(const RecordedTensor& weight) {
    if (weight.shape.size() < 3 || !weight.is_contiguous() ||
        weight.elements() != weight.shape[0] * weight.shape[1])
        throw NotUnderstood{"a matrix product within a convolution of several positions"};
    return with_shape(weight, {weight.shape[0], weight.shape[1]});
}

/// y = w x, dx = w^T dy, dw = the sum over pictures of dy x^T, of which the products are made here.
void product_of_pictures(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::matmul;
    const auto finish = [&](const RecordedTensor& a, const RecordedTensor& b, bool ta, bool tb,
                            const RecordedTensor& y) {
        builder.input(op, a);
        builder.input(op, b);
        builder.output(op, y);
        op.set(keys::matmul.transpose_a, ta);
        op.set(keys::matmul.transpose_b, tb);
        describe_product(op, launch.name);
        builder.add(std::move(op), launch, &call);
    };
    if (call.name != "convolution_backward") {
        const RecordedTensor y = planes(need(call.output_tensor(0), "result of a convolution"));
        const RecordedTensor x = planes(need(call.gpu_tensor(0), "x of a convolution"));
        if (x.shape[2] != y.shape[2])
            throw NotUnderstood{"a matrix product within a convolution with strides"};
        finish(weight_matrix(need(call.gpu_tensor(1), "weight of a convolution")), x, false, false, y);
        return;
    }
    const auto gradient = named_gradient(launch.name);
    if (!gradient) throw NotUnderstood{"a matrix product within the gradient of a convolution"};
    const RecordedTensor dy = planes(need(call.gpu_tensor(0), "incoming gradient of a convolution")),
                         x = planes(need(call.gpu_tensor(1), "x of a convolution")),
                         w = weight_matrix(need(call.gpu_tensor(2), "weight of a convolution"));
    if (x.shape[2] != dy.shape[2]) throw NotUnderstood{"a matrix product within a convolution with strides"};
    if (*gradient == ConvolutionGradient::data) {
        finish(w, dy, true, false, planes(need(call.output_tensor(0), "gradient that a convolution makes")));
        return;
    }
    const RecordedTensor parts = builder.invented(x.type, {x.shape[0], w.shape[0], w.shape[1]});
    builder.remember(call, need(call.output_tensor(1), "gradient that a convolution makes"), parts);
    finish(dy, x, false, true, parts);
}

/// The sum over pictures that ends the gradient of a weight.
void sum_of_pictures(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& result = need(call.output_tensor(1), "gradient that a convolution makes");
    const RecordedTensor& parts = need(builder.remembered(call, result), "product of each picture");
    if (parts.shape.size() != 3) throw NotUnderstood{"a sum of unknown parts"};
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.axes, {0});
    builder.input(op, parts);
    builder.output(op, with_shape(result, {parts.shape[1], parts.shape[2]}));
    builder.add(std::move(op), launch, &call);
}

}  // namespace

bool convolution_step_rule(Builder& builder, const Launch& launch) {
    const bool to_last = launch.name.contains("nchwToNhwcKernel"),
               to_first = launch.name.contains("nhwcToNchwKernel");
    const bool product = launch.name.contains("gemm") && !launch.name.contains("implicit_gemm") &&
                         !launch.name.contains("cudnn") && !launch.name.contains("conv") &&
                         !launch.name.contains("reduce");
    const bool sum = launch.name.contains("reduce_wgrad_nchw_helper");
    if (!to_last && !to_first && !product && !sum) return false;
    const Call* call = convolving_call(launch);
    if (call == nullptr) return false;
    if (to_last || to_first) {
        change_layout(builder, launch, *call, to_last);
    } else if (sum) {
        sum_of_pictures(builder, launch, *call);
    } else {
        // Winograd's products stand for the whole convolution, among its transforms.
        for (const Call* made : launch.recording.inside(*call, launch.kernel))
            if (made->on_gpu && made->full_name.find("winograd") != std::string::npos) return false;
        product_of_pictures(builder, launch, *call);
    }
    return true;
}

}  // namespace heddle::importers
