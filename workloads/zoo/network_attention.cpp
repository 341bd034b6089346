// Attention of a Network: projections, rotary positions, one op or several.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {
namespace {

/// Strides of [batch, heads, sequence, head_dim] in rows of `width`.
std::vector<std::int64_t> head_strides(std::int64_t sequence, std::int64_t width, std::int64_t head_dim) {
    return {sequence * width, head_dim, width, 1};
}

void place(Op& op, const std::string& operand, const std::vector<std::int64_t>& strides,
           std::int64_t offset) {
    op.set_strides(operand, strides);
    if (offset != 0) op.set_offset(operand, offset);
}

}  // namespace

bool Network::fused(const AttentionSizes& sizes) const {
    if (options_.attention != AttentionForm::automatic) return options_.attention == AttentionForm::fused;
    return !sizes.bias && bytes_of(type_) == 2 && (sizes.head_dim == 64 || sizes.head_dim == 128);
}

Network::QueryKeyValue Network::query_key_value(const std::string& name, TensorId x,
                                                const AttentionSizes& sizes, bool bias) {
    const std::int64_t q = sizes.heads * sizes.head_dim, kv = sizes.key_heads * sizes.head_dim;
    if (fused(sizes) && q == kv) {
        const TensorId rows = linear(name + ".qkv", x, 3 * q, bias);
        return {{rows, 3 * q, 0}, {rows, 3 * q, q}, {rows, 3 * q, 2 * q}};
    }
    return {{linear(name + ".query", x, q, bias), q, 0},
            {linear(name + ".key", x, kv, bias), kv, 0},
            {linear(name + ".value", x, kv, bias), kv, 0}};
}

Heads Network::rotary(const std::string& name, const Heads& x, std::int64_t batch, std::int64_t sequence,
                      std::int64_t heads, std::int64_t head_dim, double theta) {
    if (head_dim % 2 != 0) throw Error("a rotary embedding needs heads of an even size", {.key = name});
    const std::int64_t half = head_dim / 2, width = heads * head_dim;
    char base[64];
    std::snprintf(base, sizeof base, "theta%.17g", theta);
    const TensorId table =
        constant(std::string(base) + "_" + std::to_string(sequence) + "x" + std::to_string(half) + ".rotary",
                 ElementType::f32, {sequence, 2, 2, half});
    // Both halves of the result read both halves of the head: x0 and x1 repeat along the axis of halves.
    const auto turned = [=](Tape& tape, const std::string& what, const Heads& from, bool backwards,
                            std::vector<Tensor> result) {
        const Shape one_half{batch, sequence, heads, 1, half}, factors{sequence, 1, 2, half};
        const std::int64_t across = backwards ? half : 2 * half, along = backwards ? 2 * half : half;
        Op op;
        op.name = what;
        op.kind = OpKind::elementwise;
        op.inputs = {tape.part_of(what + ".first", from.rows, one_half),
                     tape.part_of(what + ".second", from.rows, one_half),
                     tape.part_of(what + ".of_first", table, factors),
                     tape.part_of(what + ".of_second", table, factors)};
        op.set(keys::elementwise.expression, "y0 = x0 * x2 + x1 * x3");
        const std::vector<std::int64_t> rows{sequence * from.width, from.width, head_dim, half, 1};
        place(op, "input0", rows, from.offset);
        place(op, "input1", rows, from.offset + half);
        place(op, "input2", {4 * half, across, along, 1}, 0);
        place(op, "input3", {4 * half, across, along, 1}, across);
        return tape.record(std::move(op), std::move(result))[0];
    };
    const Shape whole{batch, sequence, heads, 2, half};
    const TensorId y = turned(tape_, name, x, false, {Tensor{name, type_, whole}});
    tape_.differentiate_as_one(
        {{x.rows}, y, [=, type = type_](Tape& tape, TensorId dy, const std::vector<bool>&) {
             const TensorId rows = tape.view("d " + name + ".rows", dy, {batch * sequence, width});
             // Turned back: factors with the axes of halves exchanged.
             const Tensor result{"d " + name + ".turned", type, whole};
             const TensorId dx = turned(tape, result.name, {rows, width, 0}, true, {result});
             if (x.width != width)
                 throw Error("a rotary embedding of packed heads has no gradient", {.key = name});
             return std::vector<std::optional<Gradient>>{
                 Gradient{tape.view("d " + name + ".heads", dx, {batch * sequence, width}), 0}};
         }});
    return {tape_.view(name + ".rows", y, {batch * sequence, width}), width, 0};
}

TensorId Network::attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                            const AttentionSizes& sizes) {
    if (sizes.key_heads < 1 || sizes.heads % sizes.key_heads != 0)
        throw Error(std::to_string(sizes.key_heads) + " key heads do not divide " +
                        std::to_string(sizes.heads) + " heads",
                    {.key = name});
    if (options_.context > 1) return context_attention(name, q, k, v, sizes);
    return fused(sizes) ? fused_attention(name, q, k, v, sizes) : composed_attention(name, q, k, v, sizes);
}

/// One op that reads heads where the projections left them and writes rows as the next product reads them:
/// no transposes.
TensorId Network::fused_attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                                  const AttentionSizes& s) {
    const std::int64_t out_width = s.heads * s.head_dim;
    const Shape query_shape{s.batch, s.heads, s.queries, s.head_dim},
        key_shape{s.batch, s.key_heads, s.keys, s.head_dim};
    const auto query_strides = head_strides(s.queries, q.width, s.head_dim),
               key_strides = head_strides(s.keys, k.width, s.head_dim),
               value_strides = head_strides(s.keys, v.width, s.head_dim),
               out_strides = head_strides(s.queries, out_width, s.head_dim);
    trace::Attributes common{{keys::attention.causal, s.causal}};
    if (s.scale != 0) common.set(keys::attention.scale, s.scale);
    if (options_.dropout > 0) {
        common.set(keys::attention.dropout, options_.dropout);
        common.set(keys::attention.stream, dropouts_++);
    }
    const TensorId out = tape_.buffer(name, type_, {s.batch * s.queries, out_width});
    Op op;
    op.name = name;
    op.kind = OpKind::attention;
    op.attributes = common;
    op.inputs = {tape_.part_of(name + ".q", q.rows, query_shape),
                 tape_.part_of(name + ".k", k.rows, key_shape),
                 tape_.part_of(name + ".v", v.rows, key_shape)};
    place(op, "input0", query_strides, q.offset);
    place(op, "input1", key_strides, k.offset);
    place(op, "input2", value_strides, v.offset);
    place(op, "output0", out_strides, 0);
    const std::vector<TensorId> operands = op.inputs;
    const auto results = tape_.record(
        std::move(op),
        {Tensor{name + ".heads", type_, query_shape, TensorRole::activation, tape_.storage_number(out)},
         Tensor{name + ".log_sum_exp", ElementType::f32, {s.batch, s.heads, s.queries}}});
    std::vector<TensorId> sources{q.rows};
    for (const TensorId rows : {k.rows, v.rows}) {
        if (std::find(sources.begin(), sources.end(), rows) == sources.end()) sources.push_back(rows);
    }
    const auto derive = [=, type = type_](Tape& tape, TensorId dy, const std::vector<bool>&) {
        std::vector<TensorId> gradients;
        gradients.reserve(sources.size());
        for (const TensorId rows : sources)
            gradients.push_back(tape.buffer("d " + name + " operands", type, tape.tensor(rows).shape));
        const auto target = [&](const std::string& what, const Heads& heads, const Shape& shape) {
            const auto i = static_cast<std::size_t>(std::find(sources.begin(), sources.end(), heads.rows) -
                                                    sources.begin());
            return Tensor{"d " + what, type, shape, TensorRole::gradient, tape.storage_number(gradients[i])};
        };
        Op back;
        back.name = name + ".gradient";
        back.kind = OpKind::attention_grad;
        back.attributes = common;
        back.inputs = {tape.part_of("d " + name + ".heads", dy, query_shape),
                       operands[0],
                       operands[1],
                       operands[2],
                       results[0],
                       results[1]};
        place(back, "input0", out_strides, 0);
        place(back, "input1", query_strides, q.offset);
        place(back, "input2", key_strides, k.offset);
        place(back, "input3", value_strides, v.offset);
        place(back, "input4", out_strides, 0);
        place(back, "output0", query_strides, q.offset);
        place(back, "output1", key_strides, k.offset);
        place(back, "output2", value_strides, v.offset);
        tape.record(std::move(back), {target(name + ".q", q, query_shape), target(name + ".k", k, key_shape),
                                      target(name + ".v", v, key_shape)});
        std::vector<std::optional<Gradient>> result;
        result.reserve(gradients.size());
        for (const TensorId id : gradients) result.push_back(Gradient{id, 0});
        return result;
    };
    tape_.differentiate_as_one({sources, out, derive});
    return out;
}

TensorId Network::to_heads(const std::string& name, const Heads& x, std::int64_t batch, std::int64_t sequence,
                           std::int64_t heads, std::int64_t head_dim) {
    if (x.width != heads * head_dim) throw Error("composed attention reads whole rows", {.key = name});
    const TensorId seen = tape_.view(name + ".heads", x.rows, {batch, sequence, heads, head_dim});
    return tape_.transpose(name + ".by_head", seen, {0, 2, 1, 3});
}

/// Products, mask and softmax as ops of their own. Queries that share a key head are rows of one product.
TensorId Network::composed_attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                                     const AttentionSizes& s) {
    const std::int64_t group = s.heads / s.key_heads;
    const Shape grouped{s.batch, s.key_heads, group * s.queries, s.head_dim};
    TensorId queries = to_heads(name + ".q", q, s.batch, s.queries, s.heads, s.head_dim);
    if (group > 1) queries = tape_.view(name + ".q.grouped", queries, grouped);
    const TensorId keys = to_heads(name + ".k", k, s.batch, s.keys, s.key_heads, s.head_dim),
                   values = to_heads(name + ".v", v, s.batch, s.keys, s.key_heads, s.head_dim);
    MatmulOptions transposed;
    transposed.transpose_b = true;
    TensorId scores = tape_.matmul(name + ".scores", queries, keys, transposed);
    const Shape whole{s.batch, s.heads, s.queries, s.keys};
    if (group > 1) scores = tape_.view(name + ".scores.by_query_head", scores, whole);
    const double scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(s.head_dim));
    std::vector<TensorId> operands{scores};
    std::string formula = "s0 * x0";
    if (s.bias) {
        operands.push_back(*s.bias);
        formula += " + x1";
    }
    if (s.causal) {
        const std::string row = "x" + std::to_string(operands.size()),
                          column = "x" + std::to_string(operands.size() + 1);
        const TensorId numbers =
            constant("first_" + std::to_string(s.queries) + "_positions", ElementType::i32, {s.queries});
        operands.push_back(constant("column_of_" + std::to_string(s.queries) + "_positions", ElementType::i32,
                                    {s.queries, 1}));
        operands.push_back(numbers);
        // exp(-30,000) is 0, and -30,000 is a number in f16 too.
        formula = row + " >= " + column + " ? " + formula + " : -30000";
    }
    const TensorId weights = dropout(
        name + ".kept",
        tape_.softmax(name + ".weights",
                      tape_.elementwise(name + ".masked", "y0 = " + formula, operands, type_, {scale})));
    const TensorId rows = group == 1 ? weights
                                     : tape_.view(name + ".weights.grouped", weights,
                                                  {s.batch, s.key_heads, group * s.queries, s.keys});
    const TensorId out = tape_.matmul(name + ".product", rows, values);
    const TensorId heads = tape_.view(name + ".heads", out, {s.batch, s.heads, s.queries, s.head_dim});
    return tape_.view(name, tape_.transpose(name + ".by_row", heads, {0, 2, 1, 3}),
                      {s.batch * s.queries, s.heads * s.head_dim});
}

}  // namespace heddle::zoo
