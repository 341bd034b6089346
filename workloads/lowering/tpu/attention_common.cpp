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
    if (program.op().get(keys::attention.dropout) != 0)
        throw Unsupported{"no attention program with dropout"};
    sizes.causal = program.op().get(keys::attention.causal) != 0;
    sizes.scale = program.op().get(keys::attention.scale, 1 / std::sqrt(static_cast<double>(sizes.depth)));
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

void Interleaved::emit() {
    std::size_t longest = 0;
    for (const auto& lane : steps_) longest = std::max(longest, lane.size());
    for (std::size_t i = 0; i < longest; ++i) {
        for (const auto& lane : steps_)
            if (i < lane.size()) lane[i]();
    }
}

void multiply_tiles(Interleaved& work, std::size_t number, CoreBuilder& core, AttentionLane& lane,
                    const Tile& a, const Tile& b, bool turned, std::uint64_t rows, std::uint64_t depth,
                    std::uint64_t columns, const Tile& result) {
    const std::uint64_t step = core.target().array_columns, deepest = core.target().array_rows;
    for (std::uint64_t column = 0; column < columns; column += step) {
        const std::uint64_t width = std::min(step, columns - column);
        work.add(number, [=, &core, &lane] {
            // Results of one tile are popped while the next ones are computed.
            if (lane.place + rows > core.target().accumulator_rows) lane.place = 0;
            for (std::uint64_t k = 0; k < depth; k += deepest) {
                const std::uint64_t deep = std::min(deepest, depth - k);
                core.push(lane.unit, turned ? b.at(column, k) : b.at(k, column), deep, width, turned);
                core.matmul(lane.unit, a.at(0, k), rows, deep, width, lane.place, k > 0);
            }
            core.pop(lane.unit, result.at(0, column), rows, width, lane.place, true);
            lane.place += rows;
        });
    }
}

CausalMask::CausalMask(ProgramBuilder& program, CoreBuilder& core, const AttentionSizes& sizes,
                       std::uint64_t rows, std::uint64_t keys)
    : sizes_(sizes), keys_(keys), tile_(core.new_tile(tpu::ElementType::bf16, rows, rows + keys)) {
    KernelBuilder builder;
    const auto limit = builder.apply(tpu::VectorOp::integer_add, builder.row_index(),
                                     builder.integer(static_cast<std::int32_t>(keys + 1)));
    const auto seen = builder.apply(tpu::VectorOp::integer_less, builder.column_index(), limit);
    builder.raw_output(
        builder.apply(tpu::VectorOp::select, seen, builder.constant(0), builder.constant(kHidden)));
    core.vector(program.kernel(builder.finish(), {}), rows, rows + keys, {}, {tile_});
}

Tile CausalMask::at(std::uint64_t row, std::uint64_t key) const {
    // Query row + i sees keys up to row + i + shift.
    return tile_.at(0, keys_ + key - (row + sizes_.shift));
}

AttentionTiles attention_tiles(const ProgramBuilder& program, const AttentionSizes& sizes,
                               const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& lane_bytes) {
    const auto& target = program.target();
    const std::uint64_t longest = divide_up(sizes.keys, 128) * 128;
    const auto fits = [&](unsigned lanes, std::uint64_t rows, std::uint64_t chunk) {
        const std::uint64_t mask = sizes.causal ? CausalMask::bytes(rows, chunk) : 0;
        return lane_bytes(rows, chunk) * lanes + mask <= target.vmem_bytes;
    };
    // Small on-chip memories may have room for fewer heads than there are units.
    for (unsigned lanes = target.matrix_units_per_core; lanes > 0; lanes /= 2) {
        for (const std::uint64_t rows : {512ull, 256ull, 128ull, 64ull, 32ull, 16ull, 8ull}) {
            if (rows > target.accumulator_rows) continue;
            if (sizes.causal && rows > kCausalRows) continue;
            for (std::uint64_t chunk = longest; chunk >= 128; chunk = chunk / 2 / 128 * 128) {
                // Long streams over few keys are better than short ones over many, down to a point.
                if (rows > 128 && chunk < std::min<std::uint64_t>(longest, 1024)) break;
                if (fits(lanes, rows, chunk))
                    return {lanes, std::min(rows, divide_up(sizes.queries, 8) * 8), chunk};
            }
        }
    }
    throw Unsupported{"a head's tiles do not fit on-chip memory"};
}

}  // namespace heddle::lowering::on_tpu
