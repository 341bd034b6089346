// Ops of PyTorch by schema: products, reductions, norms, softmax, losses, attention, lookups.
#include "workloads/importers/operations.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

using Family = void (*)(Builder&, const Launch&, const Call&);

RecordedTensor seen_as(RecordedTensor tensor, Shape shape) {
    tensor.shape = std::move(shape);
    tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    return tensor;
}

/// Rows of `columns` elements; strided tensors keep their axes.
RecordedTensor as_rows(const RecordedTensor& tensor, std::int64_t columns) {
    if (columns <= 0 || !tensor.is_contiguous()) return tensor;
    return seen_as(tensor, {tensor.elements() / columns, columns});
}

const RecordedTensor& operand(const Call& call, std::size_t index, const char* what) {
    return need(call.gpu_tensor(index), std::string(what) + " of " + call.name);
}

/// Result `index` of the call, or one that nobody recorded.
RecordedTensor result_or(Builder& builder, const Call& call, std::size_t index, ElementType type,
                         const Shape& shape) {
    const RecordedTensor* recorded = call.output_tensor(index);
    return recorded != nullptr ? *recorded : builder.invented(type, shape);
}

void product(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::matmul;
    torch_product(builder, op, call);
    describe_product(op, launch.name);
    builder.add(std::move(op), launch, &call);
}

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

struct Reduction {
    const char* reduction;
    const char* expression;  ///< applied before
    std::size_t axes;        ///< position of the argument
};

const std::unordered_map<std::string, Reduction>& reductions() {
    static const std::unordered_map<std::string, Reduction> table{
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

void reduction(Builder& builder, const Launch& launch, const Call& call) {
    const Reduction& row = reductions().at(call.name);
    const RecordedTensor& input = operand(call, 0, "operand");
    // max(a, b) of two tensors is no reduction.
    if ((call.name == "max" || call.name == "min") && call.gpu_tensor(1) != nullptr) {
        Op op;
        op.kind = OpKind::elementwise;
        op.attributes["expression"] = "y0 = " + call.name + "(x0, x1)";
        builder.input(op, input);
        builder.input(op, *call.gpu_tensor(1));
        builder.output(op, need(call.output_tensor(0), "result of " + call.name));
        builder.add(std::move(op), launch, &call);
        return;
    }
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    Op op;
    op.kind = OpKind::reduce;
    op.attributes["reduction"] = std::string(row.reduction);
    if (*row.expression != '\0') op.attributes["expression"] = std::string(row.expression);
    std::vector<std::int64_t> axes = axes_operand(call, row.axes, input.shape.size());
    Shape kept;
    for (std::size_t i = 0; i < input.shape.size(); ++i)
        if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
            kept.push_back(input.shape[i]);
    // The recorded result knows best (axes are not always recorded).
    if (trace::element_count(kept) != result.elements()) axes = reduced_axes(input.shape, result.shape);
    op.attributes["axes"] = axes;
    builder.input(op, input);
    if (call.name == "argmax" || call.name == "argmin") {
        builder.output(op, builder.invented(input.type, result.shape));
        op.attributes["argument"] = std::int64_t{1};
    }
    builder.output(op, result);
    if (const RecordedTensor* index = call.output_tensor(1)) {
        builder.output(op, *index);
        op.attributes["argument"] = std::int64_t{1};
    }
    builder.add(std::move(op), launch, &call);
}

void difference_loss(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    const std::string text = call.name == "mse_loss" ? "y0 = (x0 - x1) * (x0 - x1)" : "y0 = abs(x0 - x1)";
    Op op;
    op.attributes["expression"] = text;
    builder.input(op, x);
    builder.input(op, operand(call, 1, "target"));
    op.kind = result.elements() == x.elements() ? OpKind::elementwise : OpKind::reduce;
    if (op.kind == OpKind::reduce)
        op.attributes["reduction"] = std::string(number_operand(call, 2, 1) == 2 ? "sum" : "mean");
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

/// Softmax and its gradient work on the last axis.
void last_axis_only(const Call& call, std::size_t index, const RecordedTensor& tensor) {
    const auto rank = static_cast<std::int64_t>(tensor.shape.size());
    auto axis = static_cast<std::int64_t>(number_operand(call, index, -1));
    if (axis < 0) axis += rank;
    if (axis != rank - 1) throw NotUnderstood{call.name + " along an inner axis"};
}

/// The axis in operand `index`; the last one is not written down.
void set_axis(Op& op, const Call& call, std::size_t index, const RecordedTensor& tensor) {
    const auto rank = static_cast<std::int64_t>(tensor.shape.size());
    auto axis = static_cast<std::int64_t>(number_operand(call, index, -1));
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) throw NotUnderstood{call.name + " along an axis that is not there"};
    if (axis != rank - 1) op.attributes["axis"] = axis;
}

void softmax(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    Op op;
    op.kind = OpKind::softmax;
    set_axis(op, call, 1, x);
    if (call.name == "_log_softmax") op.attributes["logarithm"] = std::int64_t{1};
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
    if (call.name == "_log_softmax_backward_data") op.attributes["logarithm"] = std::int64_t{1};
    builder.input(op, y);
    builder.input(op, operand(call, 0, "gradient"));
    builder.output(op, need(call.output_tensor(0), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

void layer_norm(Builder& builder, const Launch& launch, const Call& call) {
    // (x, normalised shape, gamma, beta, epsilon) -> y, mean, rstd
    const RecordedTensor& x = operand(call, 0, "operand");
    const RecordedTensor& gamma = operand(call, 2, "gamma");
    const std::int64_t columns = gamma.elements(), rows = columns > 0 ? x.elements() / columns : 0;
    Op op;
    op.kind = OpKind::layer_norm;
    op.attributes["epsilon"] = number_operand(call, 4, 1e-5);
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
    op.attributes["groups"] = static_cast<std::int64_t>(number_operand(call, 6, 1));
    op.attributes["epsilon"] = number_operand(call, 7, 1e-5);
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
    op.attributes["axis"] = std::int64_t{1};
    op.attributes["along"] = std::int64_t{1};
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
    op.attributes["axis"] = std::int64_t{1};
    op.attributes["along"] = std::int64_t{1};
    builder.input(op, result);
    builder.input(op, labels);
    builder.input(op, builder.invented(result.type, labels.shape));
    builder.output(op, result);
    builder.add(std::move(op), launch, &call);
}

/// Where the arguments of PyTorch's attention ops lie, and those of their gradients.
struct AttentionArguments {
    const char* name;
    std::size_t dropout, causal, scale;
    std::size_t out, log_sum_exp;  ///< of a gradient
    bool gradient;
};
constexpr std::array<AttentionArguments, 8> attentions{{
    {"_scaled_dot_product_flash_attention", 3, 4, 6, 0, 0, false},
    {"_scaled_dot_product_flash_attention_for_cpu", 3, 4, 6, 0, 0, false},
    {"_scaled_dot_product_efficient_attention", 5, 6, 7, 0, 0, false},
    {"_scaled_dot_product_cudnn_attention", 5, 6, 8, 0, 0, false},
    {"_scaled_dot_product_flash_attention_backward", 10, 11, 14, 4, 5, true},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", 6, 7, 9, 4, 5, true},
    {"_scaled_dot_product_efficient_attention_backward", 9, 11, 12, 5, 6, true},
    {"_scaled_dot_product_cudnn_attention_backward", 13, 14, 15, 4, 5, true},
}};

void attention(Builder& builder, const Launch& launch, const Call& call) {
    const auto row = std::find_if(attentions.begin(), attentions.end(),
                                  [&call](const AttentionArguments& a) { return call.name == a.name; });
    Op op;
    op.kind = row->gradient ? OpKind::attention_grad : OpKind::attention;
    op.attributes["causal"] = static_cast<std::int64_t>(number_operand(call, row->causal, 0) != 0);
    if (const double scale = number_operand(call, row->scale, 0); scale > 0) op.attributes["scale"] = scale;
    if (const double dropout = number_operand(call, row->dropout, 0); dropout > 0)
        op.attributes["dropout"] = dropout;
    const std::size_t first = row->gradient ? 1 : 0;
    const RecordedTensor& q = operand(call, first, "q");
    if (q.shape.size() != 4) throw NotUnderstood{"attention of other than four axes"};
    const Shape rows{q.shape[0], q.shape[1], q.shape[2]};
    // The statistics may be padded to whole tiles of rows.
    const auto statistics = [&](RecordedTensor recorded) {
        if (recorded.elements() == trace::element_count(rows)) return recorded;
        return builder.invented(ElementType::f32, rows, recorded.storage);
    };
    if (row->gradient) {
        builder.input(op, operand(call, 0, "gradient"));
        for (std::size_t i = 1; i < 4; ++i) builder.input(op, operand(call, i, "operand"));
        builder.input(op, operand(call, row->out, "result"));
        builder.input(op, statistics(operand(call, row->log_sum_exp, "statistics")));
        for (std::size_t i = 0; i < 3; ++i)
            builder.output(op, need(call.output_tensor(i), "gradient of " + call.name));
    } else {
        for (std::size_t i = 0; i < 3; ++i) builder.input(op, operand(call, i, "operand"));
        builder.output(op, need(call.output_tensor(0), "result of " + call.name));
        builder.output(op, statistics(result_or(builder, call, 1, ElementType::f32, rows)));
    }
    builder.add(std::move(op), launch, &call);
}

void largest(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor& x = operand(call, 0, "operand");
    last_axis_only(call, 2, x);
    Op op;
    op.kind = OpKind::top_k;
    builder.input(op, x);
    for (const std::size_t i : {0u, 1u})
        builder.output(op, need(call.output_tensor(i), "result of " + call.name));
    builder.add(std::move(op), launch, &call);
}

void random_numbers(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::random;
    op.attributes["distribution"] = std::string("uniform");
    op.attributes["low"] = 0.0;
    op.attributes["high"] = 1.0;
    if (call.name != "uniform") assume(op, "uniform numbers instead of " + call.name);
    const RecordedTensor* target = call.gpu_tensor(0) != nullptr ? call.gpu_tensor(0) : call.output_tensor(0);
    builder.output(op, need(target, "tensor of random numbers"));
    builder.add(std::move(op), launch, &call);
}

void lstm(Builder& builder, const Launch& launch, const Call& call) {
    // (input gates, hidden gates, c [, bias, bias]) -> h, c, workspace
    Op op;
    op.kind = OpKind::lstm_cell;
    for (std::size_t i = 0; i < 3; ++i) builder.input(op, operand(call, i, "operand"));
    for (std::size_t i = 3; i < 5; ++i)
        if (const RecordedTensor* bias = call.gpu_tensor(i)) builder.input(op, *bias);
    for (std::size_t i = 0; i < 3; ++i) {
        if (const RecordedTensor* made = call.output_tensor(i)) builder.output(op, *made);
    }
    builder.add(std::move(op), launch, &call);
}

void collective(Builder& builder, const Launch& launch, const Call& call) {
    static_cast<void>(call);
    if (!collective_rule(builder, launch)) throw NotUnderstood{"an unknown collective"};
}

template <void (*function)(Builder&, const Launch&)>
void by_launch(Builder& builder, const Launch& launch, const Call&) {
    function(builder, launch);
}

const std::unordered_map<std::string, Family>& families() {
    static const std::unordered_map<std::string, Family> table = [] {
        std::unordered_map<std::string, Family> made;
        for (const char* name : {"mm", "bmm", "addmm", "baddbmm", "linear", "_addmm_activation"})
            made[name] = product;
        for (const auto& [name, row] : reductions()) made[name] = reduction;
        for (const AttentionArguments& row : attentions) made[row.name] = attention;
        for (const char* name : {"mse_loss", "l1_loss"}) made[name] = difference_loss;
        for (const char* name : {"_softmax", "_log_softmax"}) made[name] = softmax;
        for (const char* name : {"_softmax_backward_data", "_log_softmax_backward_data"})
            made[name] = softmax_gradient;
        made["native_layer_norm"] = layer_norm;
        made["native_layer_norm_backward"] = layer_norm_gradient;
        made["native_group_norm"] = group_norm;
        made["nll_loss_forward"] = pick_labels;
        made["nll_loss_backward"] = spread_labels;
        made["topk"] = largest;
        made["_thnn_fused_lstm_cell"] = lstm;
        for (const char* name : {"uniform", "normal", "bernoulli", "random", "exponential", "randn", "rand"})
            made[name] = random_numbers;
        for (const char* name : {"fill", "zero", "full", "ones"}) made[name] = by_launch<fill_operation>;
        made["arange"] = by_launch<arange_operation>;
        for (const char* name : {"native_dropout", "_fused_dropout"})
            made[name] = by_launch<dropout_operation>;
        for (const char* name : {"index_select", "embedding", "embedding_dense_backward", "index",
                                 "index_put", "_index_put_impl", "gather", "scatter", "scatter_add"})
            made[name] = by_launch<lookup_operation>;
        made["record_param_comms"] = collective;
        return made;
    }();
    return table;
}

const std::unordered_set<std::string>& idle_calls() {
    static const std::unordered_set<std::string> table{"view",
                                                       "t",
                                                       "transpose",
                                                       "permute",
                                                       "expand",
                                                       "as_strided",
                                                       "slice",
                                                       "select",
                                                       "unsqueeze",
                                                       "squeeze",
                                                       "detach",
                                                       "alias",
                                                       "empty",
                                                       "empty_like",
                                                       "empty_strided",
                                                       "result_type",
                                                       "resolve_conj",
                                                       "resolve_neg",
                                                       "narrow",
                                                       "split",
                                                       "split_with_sizes",
                                                       "chunk",
                                                       "unbind",
                                                       "_unsafe_view",
                                                       "_reshape_alias",
                                                       "resize",
                                                       "resize_as",
                                                       "set",
                                                       "record_stream",
                                                       "lift_fresh",
                                                       "unfold",
                                                       "diagonal",
                                                       "movedim",
                                                       "swapaxes",
                                                       "swapdims",
                                                       "view_as",
                                                       "expand_as",
                                                       "size",
                                                       "stride",
                                                       "sym_size",
                                                       "numel",
                                                       "is_pinned",
                                                       "pin_memory",
                                                       "_pin_memory",
                                                       "new_empty",
                                                       "new_empty_strided",
                                                       "is_nonzero",
                                                       "_has_compatible_shallow_copy_type",
                                                       "requires_grad",
                                                       "data",
                                                       "is_same_size",
                                                       "can_cast",
                                                       "unsafe_split",
                                                       "unsafe_chunk",
                                                       "unflatten",
                                                       "mT",
                                                       "numpy_T",
                                                       "real",
                                                       "view_as_real",
                                                       "view_as_complex",
                                                       "is_complex",
                                                       "is_floating_point",
                                                       "output_nr",
                                                       "_version",
                                                       "retain_grad",
                                                       "promote_types",
                                                       "broadcast_tensors",
                                                       "broadcast_to",
                                                       "tensor_split",
                                                       "hsplit",
                                                       "vsplit",
                                                       "_conj",
                                                       "positive",
                                                       "is_contiguous",
                                                       "_local_scalar",
                                                       "isclose_dummy",
                                                       "_nested_tensor_size"};
    return table;
}

}  // namespace

double number_operand(const Call& call, std::size_t index, double fallback) {
    const Literal* value = call.literal(index);
    return value != nullptr ? value->number(fallback) : fallback;
}

std::vector<std::int64_t> axes_operand(const Call& call, std::size_t index, std::size_t rank) {
    std::vector<std::int64_t> axes;
    if (const Literal* literal = call.literal(index)) axes = literal->integers();
    if (axes.empty()) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (std::int64_t& axis : axes)
        if (axis < 0) axis += static_cast<std::int64_t>(rank);
    return axes;
}

bool is_operation(const std::string& name) {
    return families().contains(name) || is_pointwise_operation(name) || is_window_operation(name) ||
           is_list_operation(name) || is_movement(name);
}

bool is_frame(const std::string& name) {
    static const std::unordered_set<std::string> frames{"linear",
                                                        "embedding",
                                                        "full",
                                                        "ones",
                                                        "arange",
                                                        "index_put",
                                                        "randn",
                                                        "rand",
                                                        "record_param_comms",
                                                        "square",
                                                        "stack",
                                                        "clone",
                                                        "contiguous",
                                                        "_to_copy",
                                                        "zeros",
                                                        "zeros_like",
                                                        "ones_like",
                                                        "full_like",
                                                        "new_zeros",
                                                        "select_backward",
                                                        "slice_backward"};
    return frames.contains(name);
}

bool does_nothing(const std::string& name) {
    return idle_calls().contains(name);
}

void add_operation(Builder& builder, const Launch& launch, const Call& call) {
    if (pointwise_operation(builder, launch, call) || window_operation(builder, launch, call) ||
        list_operation(builder, launch, call) || movement_operation(builder, launch, call))
        return;
    const auto found = families().find(call.name);
    if (found == families().end()) throw NotUnderstood{"no rule for " + call.full_name};
    found->second(builder, launch, call);
}

}  // namespace heddle::importers
