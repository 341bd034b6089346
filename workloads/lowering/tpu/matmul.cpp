#include "workloads/lowering/tpu/matmul.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "isa/common/error.h"
#include "workloads/lowering/tpu/matmul_operands.h"
#include "workloads/lowering/tpu/matmul_plan.h"
#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;

/// Tiles in VMEM by their address in HBM. The tile whose next use is over for the longest time makes room for
/// a new one.
class TileCache {
  public:
    TileCache(CoreBuilder& core, ElementType type, std::uint64_t elements, std::uint64_t places, bool staged)
        : ring_(core, type, elements, places, staged), held_(places) {}

    const Tile& find(std::uint64_t address) const {
        for (const Held& held : held_) {
            if (held.used && held.address == address) return held.tile;
        }
        throw Error("internal: a tile was given up before its use");
    }
    /// Makes sure that the tile is there in `step` of the work.
    void load(CoreBuilder& core, const TileSource& source, std::size_t step) {
        std::size_t place = 0;
        for (std::size_t i = 0; i < held_.size(); ++i) {
            Held& held = held_[i];
            if (held.used && held.address == source.address) {
                held.needed_in = step;
                return;
            }
            const Held& oldest = held_[place];
            if (oldest.used && (!held.used || held.needed_in < oldest.needed_in)) place = i;
        }
        held_[place] = {true, source.address, step, ring_.load_at(core, place, source)};
    }

  private:
    struct Held {
        bool used = false;
        std::uint64_t address = 0;
        std::size_t needed_in = 0;
        Tile tile;
    };
    TileRing ring_;
    std::vector<Held> held_;
};

class MatmulLowering {
  public:
    MatmulLowering(ProgramBuilder& program, const TpuLoweringOptions& options)
        : program_(program), options_(options), given_(program, options) {}

    void run() {
        if (given_.shape.batches * given_.shape.m * given_.shape.n == 0) return;
        if (given_.shape.k == 0) throw Unsupported{"a contraction over no elements"};
        plan_ = plan_matmul(given_.shape, program_.target(), options_);
        program_.set_schedule(describe(plan_, program_.target()));
        for (unsigned core = 0; core < program_.cores(); ++core) emit(core);
    }

  private:
    /// A block of the result and its place in the order of work.
    struct Block {
        std::uint64_t batch = 0, row = 0, rows = 0, column = 0, columns = 0;
    };

    std::vector<Block> blocks_of(unsigned core) const {
        const unsigned along_n = core % plan_.cores_along_n, rest = core / plan_.cores_along_n;
        const unsigned along_m = rest % plan_.cores_along_m, along_batch = rest / plan_.cores_along_m;
        const std::uint64_t tile = program_.target().array_columns;
        const Range batches = part_of(given_.shape.batches, plan_.cores_along_batch, along_batch);
        // Rows are cut in eights and columns in tiles, so that no core gets a sliver.
        Range rows = part_of(divide_up(given_.shape.m, 8), plan_.cores_along_m, along_m);
        Range columns = part_of(divide_up(given_.shape.n, tile), plan_.cores_along_n, along_n);
        rows = {rows.begin * 8, std::min(rows.end * 8, given_.shape.m)};
        columns = {columns.begin * tile, std::min(columns.end * tile, given_.shape.n)};
        std::vector<Block> blocks;
        if (rows.begin >= rows.end || columns.begin >= columns.end) return blocks;
        const std::uint64_t row_step = plan_.block_rows(),
                            column_step = plan_.block_columns(program_.target());
        for (std::uint64_t batch = batches.begin; batch < batches.end; ++batch) {
            const auto add = [&](std::uint64_t row, std::uint64_t column) {
                Block block;
                block.batch = batch;
                block.row = row;
                block.rows = std::min(row_step, rows.end - row);
                block.column = column;
                block.columns = std::min(column_step, columns.end - column);
                blocks.push_back(block);
            };
            if (plan_.keep_b) {
                for (std::uint64_t column = columns.begin; column < columns.end; column += column_step) {
                    for (std::uint64_t row = rows.begin; row < rows.end; row += row_step) add(row, column);
                }
            } else {
                for (std::uint64_t row = rows.begin; row < rows.end; row += row_step) {
                    for (std::uint64_t column = columns.begin; column < columns.end; column += column_step)
                        add(row, column);
                }
            }
        }
        return blocks;
    }

    /// Results on their way out together, one tile for each result; none: not open.
    struct Window {
        std::uint64_t row = 0, rows = 0, column = 0, columns = 0;
        std::vector<Tile> tiles;
    };
    /// Everything that one core needs while it works.
    struct Work {
        CoreBuilder& core;
        std::optional<TileCache> a, b;
        std::map<std::uint64_t, Tile> whole_b;  // by first column, when it is brought at the beginning
        std::optional<TileRing> a_panels;       // then a comes in panels of rows
        std::vector<Tile> a_panel;              // by number, as far as loaded
        std::uint64_t first_row = 0, first_column = 0;  // of the core
        std::uint64_t rows = 0, columns = 0;
        std::vector<TileRing> popped;             // per unit
        std::vector<TileRing> operands, results;  // of the epilogue
        std::uint64_t blocks_done = 0;
        std::vector<TileRing> windows;  // one per result
        Window window;                  // the open one

        explicit Work(CoreBuilder& builder) : core(builder) {}
    };

    void emit(unsigned index) {
        CoreBuilder& core = program_.core(index);
        const std::vector<Block> blocks = blocks_of(index);
        if (blocks.empty()) return;
        const target::TpuTarget& target = program_.target();
        const std::uint64_t chunks = divide_up(given_.shape.k, plan_.chunk);
        const std::uint64_t result = plan_.rows_per_unit * target.array_columns;
        Work work(core);
        if (plan_.whole) {
            load_whole(work, blocks);
            const ResultWindow window = window_of(work);
            for (const Matrix& one : given_.results)
                work.windows.emplace_back(core, one.view.type, window.rows * window.columns, 2);
        } else {
            work.a.emplace(core, given_.a.view.type, plan_.block_rows() * plan_.chunk,
                           (plan_.keep_a ? chunks : 1) + plan_.ahead, given_.shape.a_turned);
            work.b.emplace(core, given_.b.view.type, plan_.block_columns(target) * plan_.chunk,
                           (plan_.keep_b ? chunks : 1) + plan_.ahead, false);
        }
        const unsigned units = plan_.units_along_m * plan_.units_along_n;
        for (unsigned unit = 0; unit < units; ++unit)
            work.popped.emplace_back(core, given_.popped, result, 2);
        for (const Matrix& operand : given_.operands)
            work.operands.emplace_back(core, operand.view.type, result, 2);
        if (given_.epilogue && !plan_.whole) {
            for (const Matrix& one : given_.results)
                work.results.emplace_back(core, one.view.type, result, 2);
        }
        pipeline(
            blocks.size() * chunks, plan_.ahead,
            [&](std::size_t step) {
                if (work.a) work.a->load(core, a_tile(blocks[step / chunks], step % chunks), step);
                if (work.b) work.b->load(core, b_tile(blocks[step / chunks], step % chunks), step);
            },
            [&](std::size_t step) {
                const Block& block = blocks[step / chunks];
                if (plan_.whole) load_panel(work, panel_of(work, block) + 1);
                multiply(work, block, step % chunks);
                if (step % chunks + 1 < chunks) return;
                ++work.blocks_done;
                const std::size_t next = step / chunks + 1;
                if (next == blocks.size() || !in_window(work.window, blocks[next])) close_window(work);
            });
    }

    /// Everything of b that a core multiplies by, in one transfer, and the first of a.
    void load_whole(Work& work, const std::vector<Block>& blocks) const {
        const std::uint64_t row = blocks.front().row, column = blocks.front().column;
        std::uint64_t rows = 0, columns = 0;
        for (const Block& block : blocks) {
            rows = std::max(rows, block.row + block.rows - row);
            columns = std::max(columns, block.column + block.columns - column);
        }
        work.first_row = row;
        work.first_column = column;
        work.rows = rows;
        work.columns = columns;
        work.a_panels.emplace(work.core, given_.a.view.type, panel_rows(work) * given_.shape.k, 2,
                              given_.shape.a_turned);
        // What is multiplied first comes first.
        if (options_.operands_overlap) load_panel(work, 0);
        const std::uint64_t step =
            options_.operands_overlap ? plan_.block_columns(program_.target()) : columns;
        for (std::uint64_t from = column; from < column + columns; from += step) {
            const std::uint64_t wide = std::min(step, column + columns - from);
            const std::uint64_t b = given_.address(given_.b, 0, 0, from);
            TileRing weights(work.core, given_.b.view.type, given_.shape.k * wide, 1);
            work.whole_b[from] = weights.load(
                work.core,
                given_.b_turned
                    ? TileSource{b, wide, given_.shape.k, given_.b.column_stride, given_.b.row_stride}
                    : TileSource{b, given_.shape.k, wide, given_.b.row_stride, given_.b.column_stride});
        }
        load_panel(work, 0);
    }

    ResultWindow window_of(const Work& work) const {
        return result_window(plan_, given_.shape, program_.target(), options_, work.rows, work.columns);
    }
    static bool in_window(const Window& window, const Block& block) {
        return !window.tiles.empty() && block.row >= window.row && block.row < window.row + window.rows &&
               block.column >= window.column && block.column < window.column + window.columns;
    }
    void open_window(Work& work, const Block& block) const {
        if (work.windows.empty() || in_window(work.window, block)) return;
        Window& window = work.window;
        const auto [high, wide] = window_of(work);
        const std::uint64_t down = (block.row - work.first_row) / high * high;
        const std::uint64_t across = (block.column - work.first_column) / wide * wide;
        window.row = work.first_row + down;
        window.rows = std::min(high, work.rows - down);
        window.column = work.first_column + across;
        window.columns = std::min(wide, work.columns - across);
        for (TileRing& ring : work.windows) window.tiles.push_back(ring.next(window.columns));
    }
    void close_window(Work& work) const {
        const Window& window = work.window;
        for (std::size_t i = 0; i < window.tiles.size(); ++i) {
            const Matrix& result = given_.results[i];
            store(work.core, window.tiles[i],
                  {given_.address(result, 0, window.row, window.column), window.rows, window.columns,
                   result.row_stride, result.column_stride});
        }
        work.window.tiles.clear();
    }

    std::uint64_t panel_rows(const Work& work) const {
        return on_tpu::panel_rows(plan_, given_.shape, options_, work.rows);
    }
    /// When it is there and not yet loaded.
    void load_panel(Work& work, std::uint64_t number) const {
        const std::uint64_t down = number * panel_rows(work);
        if (number < work.a_panel.size() || down >= work.rows) return;
        work.a_panel.push_back(
            work.a_panels->load(work.core, {given_.address(given_.a, 0, work.first_row + down, 0),
                                            std::min(panel_rows(work), work.rows - down), given_.shape.k,
                                            given_.a.row_stride, given_.a.column_stride}));
    }
    std::uint64_t panel_of(const Work& work, const Block& block) const {
        return (block.row - work.first_row) / panel_rows(work);
    }

    Tile a_of(const Work& work, const Block& block, std::uint64_t chunk) const {
        if (work.a) return work.a->find(a_tile(block, chunk).address);
        const std::uint64_t panel = panel_of(work, block);
        return work.a_panel[panel].at(block.row - work.first_row - panel * panel_rows(work),
                                      chunk * plan_.chunk);
    }

    /// The tile of b for a block's chunk.
    Tile b_of(const Work& work, const Block& block, std::uint64_t chunk) const {
        if (work.b) return work.b->find(b_tile(block, chunk).address);
        const auto panel = std::prev(work.whole_b.upper_bound(block.column));
        const std::uint64_t k = chunk * plan_.chunk, column = block.column - panel->first;
        return given_.b_turned ? panel->second.at(column, k) : panel->second.at(k, column);
    }

    TileSource a_tile(const Block& block, std::uint64_t chunk) const {
        const std::uint64_t k = chunk * plan_.chunk, depth = std::min(plan_.chunk, given_.shape.k - k);
        return {given_.address(given_.a, block.batch, block.row, k), block.rows, depth, given_.a.row_stride,
                given_.a.column_stride};
    }
    /// Weights that lie along k are pushed transposed, straight from the tile as it lies in HBM.
    TileSource b_tile(const Block& block, std::uint64_t chunk) const {
        const std::uint64_t k = chunk * plan_.chunk, depth = std::min(plan_.chunk, given_.shape.k - k);
        const std::uint64_t start = given_.address(given_.b, block.batch, k, block.column);
        if (given_.b_turned)
            return {start, block.columns, depth, given_.b.column_stride, given_.b.row_stride};
        return {start, depth, block.columns, given_.b.row_stride, given_.b.column_stride};
    }

    void multiply(Work& work, const Block& block, std::uint64_t chunk) const {
        const target::TpuTarget& target = program_.target();
        const std::uint64_t k0 = chunk * plan_.chunk, depth = std::min(plan_.chunk, given_.shape.k - k0);
        const Tile a = a_of(work, block, chunk);
        const Tile b = b_of(work, block, chunk);
        const bool last = k0 + depth == given_.shape.k;
        // Blocks take turns in the two halves of the result buffer when both fit.
        const std::uint64_t used = plan_.rows_per_unit * plan_.tiles_per_unit;
        const std::uint64_t half = 2 * used <= target.accumulator_rows ? work.blocks_done % 2 * used : 0;
        for (std::uint64_t tile = 0; tile < plan_.tiles_per_unit; ++tile) {
            for (std::uint64_t k = 0; k < depth; k += target.array_rows) {
                for (std::size_t pass = 0; pass < given_.passes.size(); ++pass) {
                    for_each_unit(block, tile, [&](unsigned unit, const Share& share) {
                        const std::uint64_t deep = std::min<std::uint64_t>(target.array_rows, depth - k);
                        work.core.push(unit, given_.b_turned ? b.at(share.column, k) : b.at(k, share.column),
                                       deep, share.columns, given_.b_turned, given_.passes[pass].second);
                        const bool fresh = k0 + k == 0 && pass == 0;
                        work.core.matmul(unit, a.at(share.row, k), share.rows, deep, share.columns,
                                         half + tile * plan_.rows_per_unit, !fresh,
                                         given_.passes[pass].first);
                    });
                }
            }
            if (!last) continue;
            for_each_unit(block, tile, [&](unsigned unit, const Share& share) {
                open_window(work, block);
                const bool gathered = !given_.epilogue && !work.window.tiles.empty();
                const Tile popped =
                    gathered ? in_window(work, 0, block, share) : work.popped[unit].next(share.columns);
                work.core.pop(unit, popped, share.rows, share.columns, half + tile * plan_.rows_per_unit,
                              gathered);
                finish(work, block, share, popped);
            });
        }
    }

    /// What of a block one unit works on with its column tile number `tile`; position within the block.
    struct Share {
        std::uint64_t row = 0, rows = 0, column = 0, columns = 0;
    };

    template <class Visit>
    void for_each_unit(const Block& block, std::uint64_t tile, Visit visit) const {
        const std::uint64_t width = program_.target().array_columns;
        for (unsigned along_m = 0; along_m < plan_.units_along_m; ++along_m) {
            for (unsigned along_n = 0; along_n < plan_.units_along_n; ++along_n) {
                Share share;
                // Rows of a block that is not full are dealt out evenly.
                const std::uint64_t each = divide_up(divide_up(block.rows, plan_.units_along_m), 8) * 8;
                share.row = along_m * each;
                share.column = (tile * plan_.units_along_n + along_n) * width;
                if (share.row >= block.rows || share.column >= block.columns) continue;
                share.rows = std::min(each, block.rows - share.row);
                share.columns = std::min(width, block.columns - share.column);
                visit(along_m * plan_.units_along_n + along_n, share);
            }
        }
    }

    /// Where a share's results lie in the open window.
    static Tile in_window(const Work& work, std::size_t result, const Block& block, const Share& share) {
        const Window& window = work.window;
        return window.tiles[result].at(block.row + share.row - window.row,
                                       block.column + share.column - window.column);
    }

    void finish(Work& work, const Block& block, const Share& share, const Tile& popped) const {
        const std::uint64_t row = block.row + share.row, column = block.column + share.column;
        const auto place = [&](const Matrix& matrix) {
            return TileSource{given_.address(matrix, block.batch, row, column), share.rows, share.columns,
                              matrix.row_stride, matrix.column_stride};
        };
        if (!given_.epilogue) {
            if (work.window.tiles.empty()) store(work.core, popped, place(given_.results[0]));
            return;
        }
        std::vector<Tile> inputs{popped}, outputs;
        for (std::size_t i = 0; i < given_.operands.size(); ++i) {
            inputs.push_back(work.operands[i].load(work.core, place(given_.operands[i])));
        }
        const bool gathered = !work.window.tiles.empty();
        for (std::size_t i = 0; i < given_.results.size(); ++i)
            outputs.push_back(gathered ? in_window(work, i, block, share)
                                       : work.results[i].next(share.columns));
        // random() counts elements of the result.
        const std::uint64_t first_row = block.batch * given_.shape.m + row;
        work.core.vector(given_.epilogue, share.rows, share.columns, inputs, outputs, given_.scalars,
                         static_cast<std::int64_t>(first_row), static_cast<std::int64_t>(column),
                         given_.shape.n);
        for (std::size_t i = 0; i < outputs.size() && !gathered; ++i)
            store(work.core, outputs[i], place(given_.results[i]));
    }

    ProgramBuilder& program_;
    const TpuLoweringOptions& options_;
    const MatmulOperands given_;
    MatmulPlan plan_;
};

}  // namespace

void lower_matmul(ProgramBuilder& program, const TpuLoweringOptions& options) {
    MatmulLowering(program, options).run();
}

}  // namespace heddle::lowering::on_tpu
