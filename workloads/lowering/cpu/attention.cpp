// Attention and its gradient: blocks of queries against all keys, scores in scratch of the thread.
#include <algorithm>
#include <cmath>

#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering::on_cpu {
namespace {

struct AttentionSizes {
    std::int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, width = 0, block = 0;
    bool causal = false;
    float scale = 1;
};

AttentionSizes attention_sizes(Builder& b, const View& q, const View& k) {
    if (b.op().get(keys::attention.dropout) != 0) throw Unsupported{"attention with dropout"};
    AttentionSizes s;
    s.batch = q.shape.at(0);
    s.heads = q.shape.at(1);
    s.queries = q.shape.at(2);
    s.width = q.shape.at(3);
    s.key_heads = k.shape.at(1);
    s.keys = k.shape.at(2);
    s.causal = b.op().get(keys::attention.causal) != 0;
    const double scale = b.op().get(keys::attention.scale);
    s.scale = static_cast<float>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(s.width)));
    // Blocks of queries that divide them evenly.
    s.block = std::min<std::int64_t>(64, s.queries);
    while (s.queries % s.block != 0) --s.block;
    if (s.block < 16 && s.queries <= 512) s.block = s.queries;
    return s;
}

View contiguous_rows(const View& view) {
    if (view.strides.back() != 1) throw Unsupported{"attention on heads with gaps"};
    return view;
}

/// The transposed matrices [keys, width] of all heads, as [batch, heads, width, keys].
View transposed_heads(Builder& b, const View& view, const char* name) {
    const View to = b.scratch({view.shape[0], view.shape[1], view.shape[3], view.shape[2]});
    View from = view;
    std::swap(from.shape[2], from.shape[3]);
    std::swap(from.strides[2], from.strides[3]);
    map(b, name, to.shape, {from}, {to}, expression::parse("y0 = x0"));
    return to;
}

/// Where key `first` + lane is one that query `row` may see: others become `fill`.
Value seen(Builder& b, const Value& value, const Affine& row, const Affine& first, float fill) {
    const Value query = b.apply(Opcode::op_to_float, b.index(row, 0)), key = b.apply(Opcode::op_to_float, b.index(first, 1));
    return b.apply(Opcode::op_select, b.apply(Opcode::op_ge, query, key), value, b.constant(fill));
}

}  // namespace

void lower_attention(Builder& b) {
    const View q = contiguous_rows(b.in(0)), k = contiguous_rows(b.in(1)), v = contiguous_rows(b.in(2)), out = contiguous_rows(b.out(0));
    const bool has_sum = b.op().outputs.size() > 1;
    const View log_sum = has_sum ? b.dense_out(1) : out;
    const AttentionSizes s = attention_sizes(b, q, k);
    const std::int64_t group = s.heads / s.key_heads;
    const View kt = transposed_heads(b, k, "transpose_keys");
    const View scores = b.scratch({s.block, s.keys}, ElementType::f32, true);
    b.parallel("attention", {s.batch, s.key_heads, group, s.queries / s.block}, 0, [&](const std::vector<Affine>& i) {
        const Affine head = i[1] * group + i[2], first = i[3] * s.block;
        small_product(b, s.block, s.keys, s.width, q, q.at({i[0], head, first, 0}), q.strides[2], 1, kt, kt.at({i[0], i[1], 0, 0}), kt.strides[2], scores, 0,
                      scores.strides[0], false, s.scale);
        b.loop(s.block, [&](const Affine& r) {
            const Affine row = first + r, at = r * scores.strides[0];
            const auto load = [&](const Affine& c, const std::vector<Mask>& m) {
                Value value = b.load(scores, at + c, 1, m);
                if (s.causal) value = seen(b, value, row, c, -INFINITY);
                return m.empty() ? value : b.masked(value, m, -INFINITY);
            };
            Value most = b.constant(-INFINITY);
            b.vectors(s.keys, [&](const Affine& c, const std::vector<Mask>& m) { b.apply_into(most, Opcode::op_max, most, load(c, m)); });
            most = b.apply(Opcode::op_hmax, most);
            Value sum = b.constant(0);
            b.vectors(s.keys, [&](const Affine& c, const std::vector<Mask>& m) {
                const Value e = b.exponential(b.apply(Opcode::op_sub, load(c, m), most));
                b.apply_into(sum, Opcode::op_add, sum, e);
                b.store(scores, at + c, e, 1, m);
            });
            sum = b.apply(Opcode::op_hsum, sum);
            if (has_sum) b.store_first(log_sum, log_sum.at({i[0], head, row}), b.apply(Opcode::op_add, b.logarithm(sum), most));
            const Value factor = b.apply(Opcode::op_div, b.constant(1), sum);
            b.vectors(s.keys, [&](const Affine& c, const std::vector<Mask>& m) {
                b.store(scores, at + c, b.apply(Opcode::op_mul, b.load(scores, at + c, 1, m), factor), 1, m);
            });
        });
        small_product(b, s.block, s.width, s.keys, scores, 0, scores.strides[0], 1, v, v.at({i[0], i[1], 0, 0}), v.strides[2], out,
                      out.at({i[0], head, first, 0}), out.strides[2], false);
    });
}

void lower_attention_grad(Builder& b) {
    const View dout = contiguous_rows(b.in(0)), q = contiguous_rows(b.in(1)), k = contiguous_rows(b.in(2)), v = contiguous_rows(b.in(3)),
               out = contiguous_rows(b.in(4)), log_sum = b.dense_in(5);
    const View dq = contiguous_rows(b.out(0)), dk = b.out(1), dv = b.out(2);
    const AttentionSizes s = attention_sizes(b, q, k);
    if (s.heads != s.key_heads) throw Unsupported{"the gradient of attention with grouped heads"};
    const View kt = transposed_heads(b, k, "transpose_keys"), vt = transposed_heads(b, v, "transpose_values");
    const View weights = b.scratch({s.block, s.keys}, ElementType::f32, true), gradients = b.scratch({s.block, s.keys}, ElementType::f32, true);
    const View dk_sum = b.scratch({s.keys, s.width}, ElementType::f32, true), dv_sum = b.scratch({s.keys, s.width}, ElementType::f32, true);
    b.parallel("attention_grad", {s.batch, s.heads}, 0, [&](const std::vector<Affine>& i) {
        b.vectors(s.keys * s.width, [&](const Affine& e, const std::vector<Mask>& m) {
            const Value zero = b.constant(0);
            b.store(dk_sum, e, zero, 1, m);
            b.store(dv_sum, e, zero, 1, m);
        });
        b.loop(s.queries / s.block, [&](const Affine& block) {
            const Affine first = block * s.block;
            const Affine q_at = q.at({i[0], i[1], first, 0}), dout_at = dout.at({i[0], i[1], first, 0});
            small_product(b, s.block, s.keys, s.width, q, q_at, q.strides[2], 1, kt, kt.at({i[0], i[1], 0, 0}), kt.strides[2], weights, 0, weights.strides[0],
                          false, s.scale);
            small_product(b, s.block, s.keys, s.width, dout, dout_at, dout.strides[2], 1, vt, vt.at({i[0], i[1], 0, 0}), vt.strides[2], gradients, 0,
                          gradients.strides[0], false);
            b.loop(s.block, [&](const Affine& r) {
                const Affine row = first + r, at = r * weights.strides[0];
                Value delta = b.constant(0);
                b.vectors(s.width, [&](const Affine& c, const std::vector<Mask>& m) {
                    const Value product = b.apply(Opcode::op_mul, b.load(dout, dout.at({i[0], i[1], row, c}), 1, m), b.load(out, out.at({i[0], i[1], row, c}), 1, m));
                    b.apply_into(delta, Opcode::op_add, delta, product);
                });
                delta = b.apply(Opcode::op_hsum, delta);
                const Value sum = b.load(log_sum, log_sum.at({i[0], i[1], row}), 0);
                b.vectors(s.keys, [&](const Affine& c, const std::vector<Mask>& m) {
                    Value p = b.exponential(b.apply(Opcode::op_sub, b.load(weights, at + c, 1, m), sum));
                    if (s.causal) p = seen(b, p, row, c, 0);
                    b.store(weights, at + c, p, 1, m);
                    const Value d = b.apply(Opcode::op_sub, b.load(gradients, at + c, 1, m), delta);
                    b.store(gradients, at + c, b.apply(Opcode::op_mul, b.apply(Opcode::op_mul, p, d), b.constant(s.scale)), 1, m);
                });
            });
            small_product(b, s.block, s.width, s.keys, gradients, 0, gradients.strides[0], 1, k, k.at({i[0], i[1], 0, 0}), k.strides[2], dq,
                          dq.at({i[0], i[1], first, 0}), dq.strides[2], false);
            small_product(b, s.keys, s.width, s.block, gradients, 0, 1, gradients.strides[0], q, q_at, q.strides[2], dk_sum, 0, dk_sum.strides[0], true);
            small_product(b, s.keys, s.width, s.block, weights, 0, 1, weights.strides[0], dout, dout_at, dout.strides[2], dv_sum, 0, dv_sum.strides[0], true);
        });
        b.loop(s.keys, [&](const Affine& row) {
            b.vectors(s.width, [&](const Affine& c, const std::vector<Mask>& m) {
                b.store(dk, dk.at({i[0], i[1], row, c}), b.load(dk_sum, row * s.width + c, 1, m), dk.strides[3], m);
                b.store(dv, dv.at({i[0], i[1], row, c}), b.load(dv_sum, row * s.width + c, 1, m), dv.strides[3], m);
            });
        });
    });
}

}  // namespace heddle::lowering::on_cpu
