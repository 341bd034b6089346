#include "workloads/lowering/tpu/attention_common.h"

#include <algorithm>
#include <cmath>

namespace heddle::lowering::on_tpu {

AttentionSizes attention_sizes(const ProgramBuilder& program, std::size_t first) {
    const auto extent = [&](std::size_t operand, std::size_t axis) {
        return static_cast<std::uint64_t>(program.input(first + operand).shape[axis]);
    };
    AttentionSizes sizes;
    sizes.batch = extent(0, 0);
    sizes.heads = extent(0, 1);
    sizes.queries = extent(0, 2);
    sizes.depth = extent(0, 3);
    sizes.key_heads = extent(1, 1);
    sizes.keys = extent(1, 2);
    sizes.value_depth = extent(2, 3);
    if (program.op().real("dropout", 0) != 0) throw Unsupported{"no attention program with dropout"};
    sizes.causal = program.op().integer("causal", 0) != 0;
    sizes.scale = program.op().real("scale", 1 / std::sqrt(static_cast<double>(sizes.depth)));
    sizes.shift = sizes.keys > sizes.queries ? sizes.keys - sizes.queries : 0;
    return sizes;
}

TileSource head_rows(const HbmView& view, std::uint64_t batch, std::uint64_t head, std::uint64_t row,
                     std::uint64_t rows) {
    if (view.strides[3] != 1 && view.shape[3] != 1) throw Unsupported{"a head's rows are not contiguous"};
    const auto offset = static_cast<std::int64_t>(batch) * view.strides[0] +
                        static_cast<std::int64_t>(head) * view.strides[1] +
                        static_cast<std::int64_t>(row) * view.strides[2];
    return {view.address + static_cast<std::uint64_t>(offset) * bytes_of(view.type), rows,
            static_cast<std::uint64_t>(view.shape[3]), view.strides[2], 1};
}

void multiply_tiles(CoreBuilder& core, unsigned unit, const Tile& a, const Tile& b, bool turned,
                    std::uint64_t rows, std::uint64_t depth, std::uint64_t columns, const Tile& result) {
    const target::TpuTarget& target = core.target();
    // Column tiles take turns in the two halves of the result buffer, so that one is popped while the next
    // computes.
    const bool halves = 2 * rows <= target.accumulator_rows;
    std::uint64_t turn = 0;
    for (std::uint64_t column = 0; column < columns; column += target.array_columns, ++turn) {
        const std::uint64_t width = std::min<std::uint64_t>(target.array_columns, columns - column);
        const std::uint64_t accumulator = halves ? turn % 2 * rows : 0;
        for (std::uint64_t k = 0; k < depth; k += target.array_rows) {
            const std::uint64_t deep = std::min<std::uint64_t>(target.array_rows, depth - k);
            core.push(unit, turned ? b.at(column, k) : b.at(k, column), deep, width, turned);
            core.matmul(unit, a.at(0, k), rows, deep, width, accumulator, k > 0);
        }
        core.pop(unit, result.at(0, column), rows, width, accumulator, true);
    }
}

KernelBuilder::Node causal_mask(KernelBuilder& builder, const AttentionSizes& sizes) {
    const auto limit = builder.apply(tpu::VectorOp::integer_add, builder.row_index(),
                                     builder.integer(static_cast<std::int32_t>(sizes.shift + 1)));
    return builder.apply(tpu::VectorOp::integer_less, builder.column_index(), limit);
}

}  // namespace heddle::lowering::on_tpu
