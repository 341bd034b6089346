// Attention over sequences that several devices share.
//
// A device has chunks i and 2c - 1 - i of 2c, so that causal attention is as much work for each: to its own
// keys, half of a square; to those of every other device, half of one as well (one chunk of queries sees both
// chunks of keys, or both of queries one of keys). Ring: while a device works on one part of the keys and
// values, the next comes in and the present one goes on to the neighbour; in the backward pass their
// gradients travel with them.
#include <vector>

#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {
namespace {

using Attributes = trace::Attributes;

/// A collective over tensors of equal shape; `bytes`: of all of them. `beside`: what is computed next does
/// not wait for it.
std::vector<TensorId> exchange(Tape& tape, const std::string& name, const std::string& kind,
                               const std::vector<TensorId>& inputs, const Shape& result, std::int64_t size,
                               bool beside) {
    Op op;
    op.name = name;
    op.kind = OpKind::collective;
    op.inputs = inputs;
    std::int64_t bytes = 0;
    std::vector<Tensor> outputs;
    for (const TensorId id : inputs) {
        const Tensor& tensor = tape.tensor(id);
        bytes += std::max(tensor.elements(), trace::element_count(result)) *
                 static_cast<std::int64_t>(bytes_of(tensor.type));
        outputs.push_back({name + "." + std::to_string(outputs.size()), tensor.type, result});
    }
    op.set(keys::collective.collective, kind);
    op.set(keys::collective.group, "context");
    op.set(keys::collective.size, size);
    op.set(keys::collective.bytes, bytes);
    if (beside) op.set(keys::collective.overlaps, 1);
    return tape.record(std::move(op), std::move(outputs));
}

void place(Op& op, const std::string& operand, const Shape& shape) {
    const std::int64_t width = shape[1] * shape[3];
    op.set_strides(operand, {shape[2] * width, shape[3], width, 1});
}

}  // namespace

TensorId Network::context_attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                                    const AttentionSizes& s) {
    if (!fused(s))
        throw Error("shared sequences need fused attention", {.key = "option context"},
                    "take 16 bits and heads of 64 or 128, or leave --context out");
    const std::int64_t parts = options_.context, out_width = s.heads * s.head_dim,
                       key_width = s.key_heads * s.head_dim;
    const bool ring = options_.context_exchange == ContextExchange::ring;
    const Shape rows{s.batch * s.queries, out_width}, key_rows{s.batch * s.keys, key_width};
    const Shape query_shape{s.batch, s.heads, s.queries, s.head_dim};
    // Of causal attention to another device's keys half is masked, whole chunks of it.
    const std::int64_t seen = s.causal ? s.keys / 2 : s.keys;
    // With all keys there at once, those of the others are one call.
    const std::int64_t calls = ring ? parts : 2;
    const auto keys_of = [=](std::int64_t call) {
        if (call == 0) return s.keys;
        return ring ? seen : seen * (parts - 1);
    };
    Attributes common;
    if (s.scale != 0) common.set(keys::attention.scale, s.scale);
    if (options_.dropout > 0) {
        common.set(keys::attention.dropout, options_.dropout);
        common.set(keys::attention.stream, dropouts_++);
    }
    const auto attributes = [=](std::int64_t call) {
        Attributes all = common;
        all.set(keys::attention.causal, s.causal && call == 0);
        return all;
    };
    const auto call_name = [=](const std::string& what, std::int64_t call) {
        return what + ".part" + std::to_string(call);
    };
    const Shape gathered{key_rows[0] * parts, key_width};
    TensorId own_keys = k.rows, own_values = v.rows, out = 0, log_sum = 0;
    std::vector<TensorId> travelling{own_keys, own_values};
    if (!ring)
        travelling = exchange(tape_, name + ".gather", "all_gather", travelling, gathered, parts, false);
    for (std::int64_t call = 0; call < calls; ++call) {
        const std::vector<TensorId> present =
            call == 0 ? std::vector<TensorId>{own_keys, own_values} : travelling;
        if (ring && call + 1 < calls)
            travelling =
                exchange(tape_, call_name(name + ".pass", call), "shift", present, key_rows, parts, true);
        const Shape key_shape{s.batch, s.key_heads, keys_of(call), s.head_dim};
        Op op;
        op.name = call_name(name, call);
        op.kind = OpKind::attention;
        op.attributes = attributes(call);
        op.inputs = {tape_.part_of(op.name + ".q", q.rows, query_shape),
                     tape_.part_of(op.name + ".k", present[0], key_shape),
                     tape_.part_of(op.name + ".v", present[1], key_shape)};
        place(op, "input0", query_shape);
        place(op, "input1", key_shape);
        place(op, "input2", key_shape);
        place(op, "output0", query_shape);
        const TensorId result = tape_.buffer(op.name, type_, rows);
        const std::string of = op.name;
        const auto made = tape_.record(
            std::move(op),
            {Tensor{of + ".heads", type_, query_shape, TensorRole::activation, tape_.storage_number(result)},
             Tensor{of + ".log_sum_exp", ElementType::f32, {s.batch, s.heads, s.queries}}});
        if (call == 0) log_sum = made[1];
        out = call == 0 ? result : tape_.elementwise(of + ".merged", "y0 = x0 + x1", {out, result});
    }
    const auto derive = [=, type = type_](Tape& tape, TensorId dy, const std::vector<bool>&) {
        const std::string back = "d " + name;
        std::vector<TensorId> moving{k.rows, v.rows}, sums;
        if (!ring) moving = exchange(tape, back + ".gather", "all_gather", moving, gathered, parts, false);
        TensorId dq = 0;
        for (std::int64_t call = 0; call < calls; ++call) {
            const std::vector<TensorId> present = call == 0 ? std::vector<TensorId>{k.rows, v.rows} : moving;
            if (ring && call + 1 < calls)
                moving =
                    exchange(tape, call_name(back + ".pass", call), "shift", present, key_rows, parts, true);
            std::vector<TensorId> come;
            if (ring && call > 0)
                come = exchange(tape, call_name(back + ".pass gradients", call), "shift", sums, key_rows,
                                parts, true);
            const Shape key_shape{s.batch, s.key_heads, keys_of(call), s.head_dim};
            Op op;
            op.name = call_name(back, call);
            op.kind = OpKind::attention_grad;
            op.attributes = attributes(call);
            op.inputs = {tape.part_of(op.name + ".dy", dy, query_shape),
                         tape.part_of(op.name + ".q", q.rows, query_shape),
                         tape.part_of(op.name + ".k", present[0], key_shape),
                         tape.part_of(op.name + ".v", present[1], key_shape),
                         tape.part_of(op.name + ".out", out, query_shape),
                         log_sum};
            const std::string of = op.name;
            const auto target = [&](const char* what, const Shape& buffer, const Shape& shape) {
                const TensorId whole = tape.buffer(of + what, type, buffer);
                return std::pair{whole, Tensor{of + what + ".heads", type, shape, TensorRole::gradient,
                                               tape.storage_number(whole)}};
            };
            // Gradients of chunks that no query here sees stay 0.
            const Shape& key_buffer = ring || call == 0 ? key_rows : gathered;
            const auto to_q = target(".dq", rows, query_shape), to_k = target(".dk", key_buffer, key_shape),
                       to_v = target(".dv", key_buffer, key_shape);
            for (const char* operand : {"input0", "input1", "input4", "output0"})
                place(op, operand, query_shape);
            for (const char* operand : {"input2", "input3", "output1", "output2"})
                place(op, operand, key_shape);
            tape.record(std::move(op), {to_q.second, to_k.second, to_v.second});
            dq = call == 0 ? to_q.first : tape.elementwise(of + ".dq.sum", "y0 = x0 + x1", {dq, to_q.first});
            const std::vector<TensorId> own = sums;
            sums = {to_k.first, to_v.first};
            if (call == 0) continue;
            if (!ring) {
                come = exchange(tape, back + ".scatter", "reduce_scatter", sums, key_rows, parts, false);
                sums = own;
            }
            for (std::size_t i = 0; i < 2; ++i)
                sums[i] = tape.elementwise(of + ".sum", "y0 = x0 + x1", {sums[i], come[i]});
        }
        if (ring)  // home
            sums = exchange(tape, call_name(back + ".pass gradients", calls), "shift", sums, key_rows, parts,
                            false);
        return std::vector<std::optional<Gradient>>{Gradient{dq, 0}, Gradient{sums[0], 0},
                                                    Gradient{sums[1], 0}};
    };
    tape_.differentiate_as_one({{q.rows, k.rows, v.rows}, out, derive});
    return out;
}

}  // namespace heddle::zoo
