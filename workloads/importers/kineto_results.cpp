// What calls make, by their schemas: profiles record no results.
#include <algorithm>

#include "isa/common/checked.h"
#include "workloads/importers/kineto_operands.h"
#include "workloads/importers/operations.h"
#include "workloads/trace/possible_shape.h"

namespace heddle::importers {
namespace {

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1,
                           y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return std::nullopt;
        result[result.size() - 1 - i] = x == 1 ? y : x;
    }
    return result;
}

std::vector<RecordedTensor> pointwise_results(const Call& call) {
    Shape shape;
    std::optional<ElementType> type;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        const RecordedTensor* tensor = call.gpu_tensor(i);
        if (tensor == nullptr) continue;
        const auto wider = broadcast(shape, tensor->shape);
        if (!wider) return {};
        shape = *wider;
        const bool condition = tensor->type == ElementType::boolean && i == 0 && call.name == "where";
        if (!condition && (!type || *type == ElementType::boolean)) type = tensor->type;
    }
    if (!type) return {};
    return {tensor_like(makes_booleans(call.name) ? ElementType::boolean : *type, shape)};
}

std::vector<RecordedTensor> product_results(const Call& call) {
    const bool added = call.name == "addmm" || call.name == "baddbmm" || call.name == "_addmm_activation";
    const RecordedTensor *a = call.gpu_tensor(added ? 1 : 0), *b = call.gpu_tensor(added ? 2 : 1);
    if (a == nullptr || b == nullptr || a->shape.size() < 2 || b->shape.size() < 2) return {};
    Shape shape = a->shape;
    shape.back() = call.name == "linear" ? b->shape[b->shape.size() - 2] : b->shape.back();
    return {tensor_like(a->type, shape)};
}

/// (size + padding - dilation (window - 1) - 1) / stride + 1
std::vector<RecordedTensor> window_results(const Call& call) {
    const RecordedTensor *x = call.gpu_tensor(0), *w = call.gpu_tensor(1);
    const bool pooling = call.name.rfind("max_pool", 0) == 0 || call.name.rfind("avg_pool", 0) == 0;
    const bool cudnn = call.name == "cudnn_convolution";
    if (x == nullptr || x->shape.size() < 3 || (!pooling && w == nullptr)) return {};
    const std::size_t space = x->shape.size() - 2;
    const auto list = [&](std::size_t i, std::int64_t fallback) {
        std::vector<std::int64_t> values =
            call.literal(i) != nullptr ? call.literal(i)->integers() : std::vector<std::int64_t>{};
        if (values.empty()) values = {fallback};
        values.resize(space, values[0]);
        return values;
    };
    // Without recorded strides nothing follows.
    if (call.literal(cudnn || !pooling ? 3 : 1) == nullptr ||
        call.literal(cudnn || !pooling ? 3 : 1)->integers().empty())
        return {};
    std::vector<std::int64_t> window(space), stride, padding, dilation;
    if (pooling) {
        window = list(1, 1);
        stride = call.literal(2) != nullptr && !call.literal(2)->integers().empty() ? list(2, 1) : window;
        padding = list(3, 0);
        dilation = call.name.rfind("max_pool", 0) == 0 ? list(4, 1) : std::vector<std::int64_t>(space, 1);
    } else {
        if (w->shape.size() != x->shape.size()) return {};
        for (std::size_t i = 0; i < space; ++i) window[i] = w->shape[i + 2];
        stride = list(3, 1);
        padding = list(cudnn ? 2 : 4, 0);
        dilation = list(cudnn ? 4 : 5, 1);
    }
    Shape shape{x->shape[0], pooling ? x->shape[1] : w->shape[0]};
    for (std::size_t i = 0; i < space; ++i) {
        for (const std::int64_t number : {window[i], stride[i], padding[i], dilation[i]})
            if (!gates::kThings.admits(number)) return {};
        const std::int64_t reach = x->shape[i + 2] + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1;
        if (reach < 0 || stride[i] < 1) return {};
        shape.push_back(reach / stride[i] + 1);
    }
    std::vector<RecordedTensor> results{tensor_like(x->type, shape)};
    if (call.name == "max_pool2d_with_indices") results.push_back(tensor_like(ElementType::i64, shape));
    return results;
}

std::vector<RecordedTensor> like(const Call& call, std::initializer_list<std::size_t> inputs) {
    std::vector<RecordedTensor> results;
    for (const std::size_t i : inputs) {
        const RecordedTensor* tensor = call.gpu_tensor(i);
        if (tensor == nullptr) break;
        results.push_back(tensor_like(tensor->type, tensor->shape));
    }
    return results;
}

std::vector<RecordedTensor> norm_results(const Call& call) {
    const RecordedTensor* x = call.gpu_tensor(0);
    if (x == nullptr) return {};
    std::vector<RecordedTensor> results{tensor_like(x->type, x->shape)};
    if (call.name == "native_layer_norm") {
        const RecordedTensor* gamma = call.gpu_tensor(2);
        if (gamma == nullptr || gamma->shape.size() > x->shape.size()) return {};
        const Shape rows(x->shape.begin(), x->shape.end() - static_cast<std::ptrdiff_t>(gamma->shape.size()));
        for (int i = 0; i < 2; ++i) results.push_back(tensor_like(ElementType::f32, rows));
    } else if (x->shape.size() >= 2) {
        for (int i = 0; i < 2; ++i) results.push_back(tensor_like(ElementType::f32, {x->shape[1]}));
    }
    return results;
}

std::vector<RecordedTensor> lookup_results(const Call& call) {
    const bool select = call.name == "index_select";
    const RecordedTensor *table = call.gpu_tensor(0), *indices = call.gpu_tensor(select ? 2 : 1);
    if (table == nullptr || indices == nullptr || table->shape.empty()) return {};
    if (call.name == "gather")
        return {tensor_like(table->type,
                            call.gpu_tensor(2) != nullptr ? call.gpu_tensor(2)->shape : indices->shape)};
    Shape shape = indices->shape;
    shape.insert(shape.end(), table->shape.begin() + 1, table->shape.end());
    return {tensor_like(table->type, shape)};
}

std::vector<RecordedTensor> joined_results(const Call& call) {
    if (call.inputs.empty() || call.inputs[0].tensors.empty()) return {};
    const std::vector<RecordedTensor>& parts = call.inputs[0].tensors;
    RecordedTensor result = tensor_like(parts[0].type, parts[0].shape);
    const auto rank = static_cast<std::int64_t>(result.shape.size());
    auto axis = whole_number(number_operand(call, 1, 0)).value_or(rank);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return {};
    result.shape[static_cast<std::size_t>(axis)] = 0;
    for (const RecordedTensor& part : parts) {
        if (part.shape.size() != result.shape.size()) return {};
        result.shape[static_cast<std::size_t>(axis)] += part.shape[static_cast<std::size_t>(axis)];
        if (!trace::is_possible(result.shape)) return {};
    }
    return {tensor_like(result.type, result.shape)};
}

std::vector<RecordedTensor> results_by_schema(const Call& call) {
    const std::string& name = call.name;
    const bool in_place = call.full_name.ends_with("_") && !call.full_name.ends_with("__");
    if (in_place && call.gpu_tensor(0) != nullptr) return {*call.gpu_tensor(0)};
    if (name == "mm" || name == "bmm" || name == "addmm" || name == "baddbmm" || name == "linear" ||
        name == "_addmm_activation")
        return product_results(call);
    if (name == "t" && call.gpu_tensor(0) != nullptr && call.gpu_tensor(0)->shape.size() == 2) {
        RecordedTensor seen = *call.gpu_tensor(0);
        std::swap(seen.shape[0], seen.shape[1]);
        std::swap(seen.strides[0], seen.strides[1]);
        return {seen};
    }
    if (name == "native_layer_norm" || name == "native_batch_norm" || name == "cudnn_batch_norm")
        return norm_results(call);
    if (name == "native_layer_norm_backward") return like(call, {1, 5, 6});
    if (name == "cudnn_batch_norm_backward") return like(call, {0, 2, 2});
    if (name == "native_batch_norm_backward") return like(call, {1, 2, 2});
    if (name == "convolution_backward") return like(call, {1, 2});
    if (name == "max_pool2d_with_indices_backward" || name == "avg_pool2d_backward") return like(call, {1});
    if (is_window_operation(name)) return window_results(call);
    if (name == "embedding" || name == "index_select" || name == "gather") return lookup_results(call);
    if (name == "cat") return joined_results(call);
    if (name == "native_dropout" || name == "_fused_dropout") {
        std::vector<RecordedTensor> results = like(call, {0, 0});
        if (results.size() > 1) results[1].type = ElementType::boolean;
        return results;
    }
    // Columns in another order: of pooled embeddings, or of their gradients for other devices.
    if (name.rfind("fbgemm::permute_pooled_embs", 0) == 0 ||
        name.rfind("fbgemm::recat_embedding_grad_output", 0) == 0 ||
        name.find("PermutePooledEmbsFunction") != std::string::npos)
        return like(call, {0});
    if (name == "_softmax_backward_data" || name == "_log_softmax_backward_data") return like(call, {1});
    if (name == "_softmax" || name == "_log_softmax" || name == "clone" || name == "contiguous" ||
        name == "empty_like" || name == "zeros_like" || name == "ones_like" || name == "_to_copy" ||
        name == "detach" || name == "alias" || name == "flip" || name == "cumsum")
        return like(call, {0});
    if (is_pointwise_operation(name)) return pointwise_results(call);
    return {};
}

}  // namespace

std::vector<RecordedTensor> results_of(const Call& call) {
    std::vector<RecordedTensor> results = results_by_schema(call);
    const bool possible = std::all_of(results.begin(), results.end(),
                                      [](const RecordedTensor& r) { return trace::is_possible(r.shape); });
    return possible ? std::move(results) : std::vector<RecordedTensor>{};
}

}  // namespace heddle::importers
