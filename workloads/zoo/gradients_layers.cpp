// Gradient rules of layers: norms, attention, convolution, pooling, LSTM cells, dropout, chosen rows.
#include <algorithm>
#include <iterator>

#include "isa/common/error.h"
#include "workloads/zoo/gradient_context.h"

namespace heddle::zoo {
namespace {

void set_all(GradientContext& c, const std::vector<TensorId>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) c.set(i, gradients[i]);
}

void softmax(GradientContext& c) {
    const TensorId dy = c.upstream_tensor(0);
    set_all(c, c.gradient_op(OpKind::softmax_grad, {c.op.outputs[0], dy}, {0}));
}

/// Norms with mean and rstd; extra inputs (running statistics) have no gradient.
void norm(GradientContext& c, OpKind kind) {
    const TensorId dy = c.upstream_tensor(0);
    set_all(c, c.gradient_op(kind,
                             {dy, c.op.inputs[0], c.op.outputs.at(1), c.op.outputs.at(2), c.op.inputs.at(1)},
                             {0, 1, 2}));
}

void rms_norm(GradientContext& c) {
    const TensorId dy = c.upstream_tensor(0);
    set_all(c, c.gradient_op(OpKind::rms_norm_grad, {dy, c.op.inputs[0], c.op.outputs.at(1), c.op.inputs[1]},
                             {0, 1}));
}

void attention(GradientContext& c) {
    const TensorId dy = c.upstream_tensor(0);
    set_all(c, c.gradient_op(
                   OpKind::attention_grad,
                   {dy, c.op.inputs[0], c.op.inputs[1], c.op.inputs[2], c.op.outputs[0], c.op.outputs.at(1)},
                   {0, 1, 2}));
}

void convolution(GradientContext& c) {
    const TensorId dy = c.upstream_tensor(0);
    if (c.needed[0]) c.set(0, c.gradient_op(OpKind::convolution_data_grad, {dy, c.op.inputs[1]}, {0})[0]);
    if (c.needed[1]) c.set(1, c.gradient_op(OpKind::convolution_weight_grad, {dy, c.op.inputs[0]}, {1})[0]);
    if (c.op.inputs.size() > 2 && c.needed[2]) {
        const std::size_t rank = c.out(0).shape.size();
        const std::size_t channel = c.op.get(keys::convolution.layout) == "nhwc" ? rank - 1 : 1;
        std::vector<std::int64_t> axes;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            if (axis != channel) axes.push_back(static_cast<std::int64_t>(axis));
        }
        c.set(2, c.tape.reduce(c.gradient_name(2), dy, "sum", axes, c.in(2).shape));
    }
}

/// dx i is the sum of those dy whose sums have x i in them.
void cumulative_sum(GradientContext& c) {
    Op op;
    op.name = c.op.name + ".gradient";
    op.kind = OpKind::cumulative_sum;
    op.inputs = {c.upstream_tensor(0)};
    op.attributes.copy(keys::cumulative_sum.axis, c.op.attributes);
    if (c.op.get(keys::cumulative_sum.reverse) == 0) op.set(keys::cumulative_sum.reverse, 1);
    c.set(0, c.tape.record(std::move(op), {Tensor{c.gradient_name(0), c.in(0).type, c.in(0).shape}})[0]);
}

void pooling(GradientContext& c) {
    std::vector<TensorId> operands{c.upstream_tensor(0)};
    if (c.op.get(keys::pooling.pooling) == "max") operands.push_back(c.op.inputs[0]);
    set_all(c, c.gradient_op(OpKind::pooling_grad, operands, {0}));
}

void dropout(GradientContext& c) {
    const TensorId dy = c.upstream_tensor(0);
    Op op;
    op.kind = OpKind::elementwise;
    op.name = c.op.name + ".gradient";
    op.inputs = {dy, c.op.outputs.at(1)};
    op.set(keys::elementwise.expression, "y0 = x1 != 0 ? s0 * x0 : 0");
    op.set(keys::elementwise.scalars, {1 / (1 - c.op.get(keys::dropout.probability))});
    c.set(0, c.tape.record(std::move(op), {Tensor{c.gradient_name(0), c.in(0).type, c.in(0).shape}})[0]);
}

/// d gates is the gradient of both products; each bias has its sum over the rows.
void lstm_cell(GradientContext& c) {
    if (c.op.outputs.size() < 3) throw Error("the gates were not kept", {.key = "op " + c.op.name});
    const TensorId dh = c.upstream_tensor(0), dc = c.upstream_tensor(1);
    const auto made = c.gradient_op(OpKind::lstm_cell_grad,
                                    {dh, dc, c.op.inputs[2], c.op.outputs[1], c.op.outputs[2]}, {0, 2});
    c.set(0, made[0]);
    c.set(1, made[0]);
    c.set(2, made[1]);
    for (std::size_t i = 3; i < c.op.inputs.size(); ++i) {
        const std::int64_t columns = c.in(i).elements();
        const TensorId rows =
            c.tape.view(c.gradient_name(i) + ".rows", made[0], {c.in(0).elements() / columns, columns});
        c.set(i, c.tape.reduce(c.gradient_name(i), rows, "sum", {0}, c.in(i).shape));
    }
}

/// Each value goes back to the column that it came from.
void top_k(GradientContext& c) {
    const Shape shape = c.in(0).shape, chosen = c.out(0).shape;
    if (shape.size() != 2) throw Error("top-k has a gradient rule for two axes", {.key = "op " + c.op.name});
    const std::int64_t rows = shape[0], columns = shape[1], k = chosen[1];
    const TensorId dy = c.tape.view("d " + c.out(0).name, c.upstream_tensor(0), {rows, k, 1});
    const TensorId indices = c.tape.view(c.op.name + ".chosen", c.op.outputs[1], {rows, k, 1});
    const TensorId numbers =
        c.tape.external(c.op.name + ".column_positions", ElementType::i32, {columns}, TensorRole::other);
    Op op;
    op.kind = OpKind::elementwise;
    op.name = c.op.name + ".gradient";
    op.inputs = {dy, indices, numbers};
    op.set(keys::elementwise.expression, "y0 = x1 == x2 ? x0 : 0");
    const TensorId spread =
        c.tape.record(std::move(op), {Tensor{c.gradient_name(0), c.in(0).type, {rows, k, columns}}})[0];
    c.set(0, k == 1 ? c.tape.view(c.gradient_name(0), spread, shape)
                    : c.tape.reduce(c.gradient_name(0), spread, "sum", {1}, shape));
}

/// Zeros to which each row's gradient is added; "distinct" = 1 on the op: no row was chosen twice.
void gather(GradientContext& c) {
    if (c.op.inputs.size() != 2 || c.op.get(keys::gather.axis) != 0 || c.op.get(keys::gather.along) != 0)
        throw Error("only rows that were gathered have a gradient rule", {.key = "op " + c.op.name});
    const TensorId dy = c.upstream_tensor(0);
    const TensorId zeros = c.tape.fill(c.gradient_name(0) + ".zeros", c.in(0).type, c.in(0).shape, 0);
    Op op;
    op.kind = OpKind::scatter;
    op.name = c.op.name + ".gradient";
    op.inputs = {zeros, c.op.inputs[1], dy};
    op.set(keys::scatter.axis, 0);
    if (c.op.get(keys::gather.distinct) == 0) op.set(keys::scatter.accumulate, 1);
    // In place: the zeros are there for this.
    Tensor result{c.gradient_name(0), c.in(0).type, c.in(0).shape};
    result.storage = c.tape.storage_number(zeros);
    c.set(0, c.tape.record(std::move(op), {result})[0]);
}

void scatter(GradientContext& c) {
    if (c.op.inputs.size() != 3 || c.op.get(keys::scatter.axis) != 0 || c.op.get(keys::scatter.along) != 0)
        throw Error("only rows that were scattered have a gradient rule", {.key = "op " + c.op.name});
    const TensorId dy = c.upstream_tensor(0);
    if (c.needed[2]) c.set(2, c.tape.gather(c.gradient_name(2), dy, c.op.inputs[1]));
    if (!c.needed[0]) return;
    if (c.op.get(keys::scatter.accumulate) != 0) return c.set(0, dy);
    const TensorId zeros = c.tape.fill(c.gradient_name(0) + ".zeros", c.in(2).type, c.in(2).shape, 0);
    c.set(0, c.tape.scatter(c.gradient_name(0), dy, c.op.inputs[1], zeros));
}

/// Straight through (Bengio et al., 2013): rounding counts as the identity.
void quantise(GradientContext& c) {
    throw Error("a quantised tensor has no gradient of its own", {.key = "op " + c.op.name},
                "record the product that reads it as a composite");
}

}  // namespace

const LayerRule* layer_rule(OpKind kind) {
    static constexpr LayerRule rules[] = {
        {OpKind::softmax, softmax},
        {OpKind::layer_norm, [](GradientContext& c) { norm(c, OpKind::layer_norm_grad); }},
        {OpKind::group_norm, [](GradientContext& c) { norm(c, OpKind::group_norm_grad); }},
        {OpKind::batch_norm, [](GradientContext& c) { norm(c, OpKind::batch_norm_grad); }},
        {OpKind::rms_norm, rms_norm},
        {OpKind::attention, attention, true},
        {OpKind::convolution, convolution, true},
        {OpKind::pooling, pooling},
        {OpKind::dropout, dropout},
        {OpKind::lstm_cell, lstm_cell, true},
        {OpKind::cumulative_sum, cumulative_sum},
        {OpKind::top_k, top_k, true},
        {OpKind::expert_slots, nullptr, true},
        {OpKind::gather, gather},
        {OpKind::scatter, scatter},
        {OpKind::quantise, quantise},
    };
    const auto* found = std::find_if(std::begin(rules), std::end(rules),
                                     [kind](const LayerRule& rule) { return rule.kind == kind; });
    return found == std::end(rules) ? nullptr : found;
}

}  // namespace heddle::zoo
