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

void lower_gather(Builder& b) {
    const View table = b.dense_in(0), indices = b.dense_in(1), out = b.dense_out(0);
    if (b.op().get(keys::gather.along) != 0 || b.op().inputs.size() > 2 || b.op().get(keys::gather.axis) != 0 || !is_float(table))
        throw Unsupported{"a lookup that takes no whole rows"};
    look_up_rows(b, "gather", table, indices, out, table.elements() / std::max<std::int64_t>(1, table.shape.at(0)));
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
