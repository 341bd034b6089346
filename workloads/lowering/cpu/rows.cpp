// Rows by index: embeddings, their gradients, lookups along the first axis.
#include <algorithm>

#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering::on_cpu {
namespace {

void look_up_rows(Builder& b, const char* name, const View& table, const View& indices, const View& out, std::int64_t columns) {
    const std::int64_t rows = indices.elements();
    b.parallel(name, {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const Value row = b.apply(Opcode::op_to_int, b.load(indices, i[0], 0));
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) { b.store(out, i[0] * columns + c, b.gather_row(table, c, row, columns, 1, m), 1, m); });
    });
}

bool is_float(const View& view) {
    return view.type == ElementType::f32 || view.type == ElementType::bf16 || view.type == ElementType::f16;
}

}  // namespace

void lower_embedding(Builder& b) {
    const View table = b.dense_in(0), indices = b.dense_in(1), out = b.dense_out(0);
    look_up_rows(b, "embedding", table, indices, out, table.shape.at(1));
}

namespace {

/// A tensor looked up along one axis, as [outer, rows, inner].
struct LookedUp {
    std::int64_t outer = 1, rows = 1, inner = 1;
};

LookedUp looked_up(const Builder& b, const View& table, std::int64_t axis, std::int64_t along, std::size_t index_operands) {
    if (along != 0 || index_operands != 1 || !is_float(table)) throw Unsupported{"a lookup that takes no whole rows"};
    LookedUp sizes;
    const auto axes = static_cast<std::int64_t>(table.shape.size());
    if (axis < 0) axis += axes;
    for (std::int64_t i = 0; i < axes; ++i) (i < axis ? sizes.outer : i == axis ? sizes.rows : sizes.inner) *= table.shape[static_cast<std::size_t>(i)];
    static_cast<void>(b);
    return sizes;
}

}  // namespace

void lower_gather(Builder& b) {
    const View table = b.dense_in(0), indices = b.dense_in(1), out = b.dense_out(0);
    const LookedUp s = looked_up(b, table, b.op().get(keys::gather.axis), b.op().get(keys::gather.along), b.op().inputs.size() - 1);
    const std::int64_t rows = indices.elements();
    b.parallel("gather", {s.outer, rows}, out.elements(), [&](const std::vector<Affine>& i) {
        const Value row = b.apply(Opcode::op_to_int, b.load(indices, i[1], 0));
        b.vectors(s.inner, [&](const Affine& c, const std::vector<Mask>& m) {
            b.store(out, i[0] * (rows * s.inner) + i[1] * s.inner + c, b.gather_row(table, i[0] * (s.rows * s.inner) + c, row, s.inner, 1, m), 1, m);
        });
    });
}

void lower_scatter(Builder& b) {
    const View x = b.dense_in(0), indices = b.dense_in(1), updates = b.dense_in(2), out = b.dense_out(0);
    const LookedUp s = looked_up(b, x, b.op().get(keys::scatter.axis), b.op().get(keys::scatter.along), b.op().inputs.size() - 2);
    const bool adds = b.op().get(keys::scatter.accumulate) != 0;
    const std::int64_t rows = indices.elements(), blocks = (s.inner + b.lanes() - 1) / b.lanes();
    if (x.buffer != out.buffer) map(b, "copy", out.shape, {x}, {out}, expression::parse("y0 = x0"));
    // Each thread has elements of its own, so rows that repeat come in their order.
    b.parallel("scatter", {s.outer, blocks}, updates.elements(), [&](const std::vector<Affine>& i) {
        const Affine column = i[1] * b.lanes(), first = i[0] * (s.rows * s.inner) + column;
        std::vector<Mask> masks;
        if (s.inner % b.lanes() != 0) {
            Mask mask;
            mask.value = column;
            mask.lane_stride = 1;
            mask.limit = s.inner;
            masks.push_back(mask);
        }
        b.loop(rows, [&](const Affine& r) {
            const Value row = b.apply(Opcode::op_to_int, b.load(indices, r, 0));
            Value value = b.load(updates, i[0] * (rows * s.inner) + r * s.inner + column, 1, masks);
            if (adds) value = b.apply(Opcode::op_add, value, b.gather_row(out, first, row, s.inner, 1, masks));
            b.scatter_row(out, first, row, s.inner, value, masks);
        });
    });
}

void lower_embedding_grad(Builder& b) {
    const View dout = b.dense_in(0), indices = b.dense_in(1), table = b.dense_out(0);
    const std::int64_t columns = table.shape.at(1), count = indices.elements();
    if (b.op().get(keys::embedding_grad.accumulate) == 0) map(b, "clear", table.shape, {}, {table}, expression::parse("y0 = 0"));
    // Each thread has columns of its own, so rows that repeat are added in their order.
    const std::int64_t blocks = (columns + b.lanes() - 1) / b.lanes();
    b.parallel("embedding_grad", {blocks}, count * columns, [&](const std::vector<Affine>& i) {
        const Affine column = i[0] * b.lanes();
        std::vector<Mask> masks;
        if (columns % b.lanes() != 0) {
            Mask mask;
            mask.value = column;
            mask.lane_stride = 1;
            mask.limit = columns;
            masks.push_back(mask);
        }
        b.loop(count, [&](const Affine& r) {
            const Value row = b.apply(Opcode::op_to_int, b.load(indices, r, 0));
            const Value sum = b.apply(Opcode::op_add, b.gather_row(table, column, row, columns, 1, masks), b.load(dout, r * columns + column, 1, masks));
            b.scatter_row(table, column, row, columns, sum, masks);
        });
    });
}

}  // namespace heddle::lowering::on_cpu
