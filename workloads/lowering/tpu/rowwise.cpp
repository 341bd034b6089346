#include "workloads/lowering/tpu/rowwise.h"

#include <algorithm>

#include "workloads/lowering/tpu/map.h"

namespace heddle::lowering::on_tpu {
namespace {

constexpr std::uint64_t kRowwiseMostElements = 128 * 1024;

TileSource tile_rows_of(const RowwisePlan::Operand& operand, std::uint64_t first, std::uint64_t rows) {
    TileSource source;
    source.address = operand.view.address + first * operand.width * bytes_of(operand.view.type);
    source.rows = rows;
    source.columns = operand.width;
    source.row_stride = static_cast<std::int64_t>(operand.width);
    source.column_stride = 1;
    return source;
}

/// Numbers per row are broadcast to all columns when they are read.
Tile as_input(Tile tile, std::uint64_t width) {
    tile.broadcast_columns = width == 1;
    return tile;
}

std::uint64_t rows_per_chunk(const RowwisePlan& plan, const target::TpuTarget& target) {
    std::uint64_t per_row = 0, once = 0, widest = 1;
    for (const auto* operands : {&plan.inputs, &plan.outputs}) {
        for (const RowwisePlan::Operand& operand : *operands) {
            per_row += 2 * operand.width * bytes_of(operand.view.type);
            widest = std::max(widest, operand.width);
        }
    }
    for (const std::uint64_t width : plan.temporaries) per_row += 4 * width;
    for (const RowwisePlan::Operand& operand : plan.shared)
        once += operand.width * bytes_of(operand.view.type);
    for (const RowwisePlan::Operand& operand : plan.sums) {
        once += operand.width * (4 * (1 + target.cores) + bytes_of(operand.view.type));
    }
    const std::uint64_t places = 2 * (plan.inputs.size() + plan.outputs.size()) + plan.temporaries.size() +
                                 plan.shared.size() + 3 * plan.sums.size();
    const std::uint64_t overhead = once + 512 * places;
    if (overhead + per_row > target.vmem_bytes) {
        throw Unsupported{"one row of " + std::to_string(widest) + " elements does not fit on-chip memory"};
    }
    std::uint64_t rows = (target.vmem_bytes - overhead) / std::max<std::uint64_t>(1, per_row);
    rows = std::min(rows, std::max<std::uint64_t>(1, kRowwiseMostElements / widest));
    rows = std::min(rows, divide_up(divide_up(plan.rows, 2ull * target.cores), 8) * 8);
    if (rows > 8) rows = rows / 8 * 8;
    return std::max<std::uint64_t>(rows, 1);
}

void write_sum(ProgramBuilder& program, CoreBuilder& core, const RowwisePlan::Operand& sum, const Tile& tile,
               std::uint64_t part) {
    KernelBuilder builder;
    builder.output(builder.raw_input(), sum.view.type);
    const Tile converted = core.new_tile(sum.view.type, 1, sum.width);
    core.vector(program.kernel(builder.finish(), {tpu::ElementType::fp32}), 1, sum.width, {tile},
                {converted});
    store(core, converted,
          {sum.view.address + part * sum.width * bytes_of(sum.view.type), 1, sum.width, 0, 1});
}

/// Parts of a sum that no row goes into.
void clear_parts(ProgramBuilder& program, const RowwisePlan::Operand& sum, std::uint64_t first) {
    if (first >= sum.parts()) return;
    HbmView rest = sum.view;
    rest.address += first * sum.width * bytes_of(rest.type);
    rest.shape = {static_cast<std::int64_t>((sum.parts() - first) * sum.width)};
    rest.strides = {1};
    fill_view(program, rest, 0);
}

/// Adds the cores' shares of the sums, on core 0. A sum that is wanted in parts gets each core's share as a
/// part.
void join_sums(ProgramBuilder& program, const RowwisePlan& plan, unsigned busy,
               const std::vector<std::vector<Tile>>& tiles) {
    std::vector<HbmView> shares(plan.sums.size());
    bool joining = false;
    for (std::size_t i = 0; i < plan.sums.size(); ++i) {
        const RowwisePlan::Operand& sum = plan.sums[i];
        if (busy <= sum.parts()) {
            for (unsigned core = 0; core < busy; ++core) {
                write_sum(program, program.core(core), sum, tiles[core][i], core);
            }
            continue;
        }
        joining = true;
        shares[i] =
            program.workspace({static_cast<std::int64_t>(busy), static_cast<std::int64_t>(sum.width)});
        for (unsigned core = 0; core < busy; ++core) {
            store(program.core(core), tiles[core][i],
                  {shares[i].address + core * sum.width * 4, 1, sum.width, 0, 1});
        }
    }
    if (joining) {
        program.meet();
        CoreBuilder& core = program.core(0);
        core.start_over();
        for (std::size_t i = 0; i < plan.sums.size(); ++i) {
            const std::uint64_t width = plan.sums[i].width;
            if (busy <= plan.sums[i].parts()) continue;
            TileRing ring(core, tpu::ElementType::fp32, busy * width, 1);
            const Tile tile =
                ring.load(core, {shares[i].address, busy, width, static_cast<std::int64_t>(width), 1});
            const Tile sum = core.new_tile(tpu::ElementType::fp32, 1, width);
            KernelBuilder builder;
            builder.reduce(builder.raw_input(), tpu::Reduction::sublanes_sum);
            core.vector(program.kernel(builder.finish(), {tpu::ElementType::fp32}), busy, width, {tile},
                        {sum});
            write_sum(program, core, plan.sums[i], sum, 0);
        }
    }
    for (const RowwisePlan::Operand& sum : plan.sums)
        clear_parts(program, sum, busy <= sum.parts() ? busy : 1);
}

}  // namespace

Rows rows_of(const trace::Tensor& tensor) {
    const auto columns = static_cast<std::uint64_t>(tensor.shape.back());
    return {columns == 0 ? 0 : static_cast<std::uint64_t>(tensor.elements()) / columns, columns};
}

std::shared_ptr<const tpu::VectorKernel> made(ProgramBuilder& program, KernelBuilder& builder,
                                              const std::vector<Tile>& inputs) {
    std::vector<tpu::ElementType> types;
    types.reserve(inputs.size());
    for (const Tile& tile : inputs) types.push_back(tile.type);
    return program.kernel(builder.finish(), types);
}

Tile broadcast(Tile tile) {
    tile.broadcast_columns = true;
    return tile;
}

void for_each_row_chunk(ProgramBuilder& program, const RowwisePlan& plan,
                        const std::function<void(CoreBuilder&, const RowChunk&)>& body) {
    if (plan.rows == 0) return;
    const std::uint64_t step = rows_per_chunk(plan, program.target());
    const std::uint64_t chunks = divide_up(plan.rows, step);
    const auto busy = static_cast<unsigned>(std::min<std::uint64_t>(program.cores(), chunks));
    std::vector<std::vector<Tile>> sums(busy);
    for (unsigned index = 0; index < busy; ++index) {
        CoreBuilder& core = program.core(index);
        core.start_over();
        const Range range = part_of(chunks, busy, index);
        std::vector<TileRing> inputs, outputs;
        std::vector<Tile> temporaries, shared;
        for (const RowwisePlan::Operand& operand : plan.inputs) {
            inputs.emplace_back(core, operand.view.type, step * operand.width, 2);
        }
        for (const RowwisePlan::Operand& operand : plan.outputs) {
            outputs.emplace_back(core, operand.view.type, step * operand.width, 2);
        }
        for (const std::uint64_t width : plan.temporaries) {
            temporaries.push_back(core.new_tile(tpu::ElementType::fp32, step, width));
        }
        for (const RowwisePlan::Operand& operand : plan.shared) {
            TileRing ring(core, operand.view.type, operand.width, 1);
            Tile tile = ring.load(core, {operand.view.address, 1, operand.width, 0, 1});
            tile.row_stride = 0;
            shared.push_back(tile);
        }
        for (const RowwisePlan::Operand& operand : plan.sums) {
            sums[index].push_back(core.new_tile(tpu::ElementType::fp32, 1, operand.width));
        }
        std::vector<std::vector<Tile>> loaded(range.size());
        const auto rows_in = [&](std::size_t chunk) {
            const std::uint64_t first = (range.begin + chunk) * step;
            return std::pair(first, std::min(step, plan.rows - first));
        };
        pipeline(
            range.size(), 1,
            [&](std::size_t chunk) {
                const auto [first, rows] = rows_in(chunk);
                for (std::size_t i = 0; i < inputs.size(); ++i) {
                    Tile tile = inputs[i].load(core, tile_rows_of(plan.inputs[i], first, rows));
                    loaded[chunk].push_back(as_input(tile, plan.inputs[i].width));
                }
            },
            [&](std::size_t chunk) {
                const auto [first, rows] = rows_in(chunk);
                RowChunk present;
                present.rows = rows;
                present.first = chunk == 0;
                present.last = chunk + 1 == range.size();
                present.inputs = loaded[chunk];
                present.temporaries = temporaries;
                present.shared = shared;
                present.sums = sums[index];
                for (std::size_t i = 0; i < outputs.size(); ++i)
                    present.outputs.push_back(outputs[i].next(plan.outputs[i].width));
                body(core, present);
                for (std::size_t i = 0; i < outputs.size(); ++i) {
                    store(core, present.outputs[i], tile_rows_of(plan.outputs[i], first, rows));
                }
            });
    }
    join_sums(program, plan, busy, sums);
}

}  // namespace heddle::lowering::on_tpu
