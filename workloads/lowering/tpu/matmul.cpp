#include "workloads/lowering/tpu/matmul.h"

#include <algorithm>
#include <optional>

#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/lowering/tpu/fp32_parts.h"
#include "workloads/lowering/tpu/tile_transfer.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::Bf16Part;
using tpu::ElementType;

/// Element strides of a matrix operand and of its batches.
struct Matrix {
    HbmView view;
    std::int64_t row_stride = 0, column_stride = 0;  ///< along m, k of a; k, n of b; m, n of y
    std::vector<std::int64_t> batch_strides;         ///< one per batch axis of y
};

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
        : program_(program), options_(options), passes_(parts_of(options.matmul_passes)) {}

    void run() {
        prepare();
        if (shape_.batches * shape_.m * shape_.n == 0) return;
        if (shape_.k == 0) throw Unsupported{"a contraction over no elements"};
        plan_ = plan_matmul(shape_, program_.target(), options_);
        program_.set_schedule(describe(plan_, program_.target()));
        for (unsigned core = 0; core < program_.cores(); ++core) emit(core);
    }

  private:
    void prepare() {
        const trace::Op& op = program_.op();
        const std::vector<std::int64_t>& y = program_.output(0).shape;
        batch_.assign(y.begin(), y.end() - 2);
        a_ = matrix(program_.input_view(0), op.integer("transpose_a", 0) != 0);
        b_ = matrix(program_.input_view(1), op.integer("transpose_b", 0) != 0);
        shape_.batches = static_cast<std::uint64_t>(trace::element_count(batch_));
        shape_.m = static_cast<std::uint64_t>(y[y.size() - 2]);
        shape_.n = static_cast<std::uint64_t>(y.back());
        const std::vector<std::int64_t>& a = program_.input(0).shape;
        shape_.k = static_cast<std::uint64_t>(op.integer("transpose_a", 0) != 0 ? a[a.size() - 2] : a.back());
        check_types();
        // Activations are read along k. When they lie along m, tiles are turned on the way.
        shape_.a_turned = a_.column_stride != 1 && shape_.k > 1 && shape_.m > 1;
        if (shape_.a_turned && a_.row_stride != 1)
            throw Unsupported{"the first operand is contiguous along no axis"};
        b_turned_ = b_.column_stride != 1 && shape_.n > 1;
        if (b_turned_ && b_.row_stride != 1 && shape_.k > 1) {
            throw Unsupported{"the second operand is contiguous along no axis"};
        }
        shape_.a_bytes = bytes_of(a_.view.type);
        shape_.b_bytes = bytes_of(b_.view.type);
        shape_.passes = static_cast<unsigned>(passes_.size());
        prepare_results();
        fold_batches();
    }

    Matrix matrix(HbmView view, bool transposed) const {
        Matrix result;
        const std::size_t axes = view.shape.size();
        result.row_stride = view.strides[axes - 2];
        result.column_stride = view.strides[axes - 1];
        if (view.shape[axes - 1] == 1) result.column_stride = 1;
        if (transposed) std::swap(result.row_stride, result.column_stride);
        const std::size_t given = axes - 2;
        result.batch_strides.assign(batch_.size(), 0);
        for (std::size_t i = 0; i < given; ++i) {
            const std::size_t axis = batch_.size() - given + i;
            if (view.shape[i] != 1) result.batch_strides[axis] = view.strides[i];
        }
        result.view = std::move(view);
        return result;
    }

    void check_types() {
        const bool integers = a_.view.type == ElementType::int8 && b_.view.type == ElementType::int8;
        const auto floating = [](const Matrix& matrix) {
            return matrix.view.type == ElementType::fp32 || matrix.view.type == ElementType::bf16;
        };
        if (!integers && !(floating(a_) && floating(b_))) {
            throw Unsupported{"matrix units multiply bf16 (from fp32 or bf16) or int8"};
        }
        popped_ = integers ? ElementType::int32 : ElementType::fp32;
        const bool wide = a_.view.type == ElementType::fp32 && b_.view.type == ElementType::fp32;
        if (!wide) passes_ = parts_of(1);
    }

    /// Results and the epilogue that makes them from the product.
    void prepare_results() {
        const trace::Op& op = program_.op();
        const std::size_t extra = op.inputs.size() - 2;
        const std::vector<std::int64_t>& y = program_.output(0).shape;
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
            HbmView view = i == 0 ? program_.output_view(0) : program_.dense_output(i);
            if (i > 0) view.strides = trace::broadcast_strides(y, y), view.shape = y;
            results_.push_back(matrix(view, false));
            if (results_.back().column_stride != 1)
                throw Unsupported{"the result is not contiguous along its rows"};
        }
        shape_.y_bytes = bytes_of(results_[0].view.type);
        const bool plain = extra == 0 && !op.attributes.contains("epilogue");
        const ElementType type = results_[0].view.type;
        if (plain && (type == popped_ || (popped_ == ElementType::fp32 && type == ElementType::bf16))) {
            popped_ = type;  // the result buffer rounds on the way out
            return;
        }
        const expression::Expression parsed =
            expression::parse(op.text("epilogue", extra > 0 ? "y0 = x0 + x1" : "y0 = x0"));
        KernelBuilder builder;
        std::vector<ElementType> types{popped_};
        std::vector<KernelBuilder::Node> x{builder.input(popped_)}, s;
        for (std::size_t i = 0; i < extra; ++i) {
            operands_.push_back(matrix(program_.input_view(i + 2, y), false));
            types.push_back(operands_.back().view.type);
            x.push_back(builder.input(operands_.back().view.type));
        }
        const std::vector<double> scalars = op.reals("scalars");
        for (unsigned i = 0; i < parsed.scalar_count; ++i) {
            s.push_back(builder.scalar());
            scalars_.push_back(static_cast<float>(scalars.at(i)));
        }
        const auto values = builder.expression(parsed, x, s);
        for (std::size_t i = 0; i < values.size(); ++i) {
            builder.output(values[i], results_[i].view.type, results_[i].view.boolean);
        }
        epilogue_ = program_.kernel(builder.finish(), types);
        shape_.epilogue_tiles = static_cast<unsigned>(operands_.size() + results_.size());
    }

    /// When all batches share the second operand they are more rows of one product.
    void fold_batches() {
        const auto one_after_the_other = [&](const Matrix& matrix) {
            std::int64_t expected = static_cast<std::int64_t>(shape_.m) * matrix.row_stride;
            for (std::size_t axis = batch_.size(); axis-- > 0; expected *= batch_[axis]) {
                if (batch_[axis] != 1 && matrix.batch_strides[axis] != expected) return false;
            }
            return true;
        };
        for (std::size_t axis = 0; axis < batch_.size(); ++axis) {
            if (batch_[axis] != 1 && b_.batch_strides[axis] != 0) return;
        }
        if (shape_.m == 1 || !one_after_the_other(a_)) return;
        for (const auto* list : {&results_, &operands_}) {
            if (!std::all_of(list->begin(), list->end(), one_after_the_other)) return;
        }
        shape_.m *= shape_.batches;
        shape_.batches = 1;
        batch_.clear();
    }

    /// A block of the result and its place in the order of work.
    struct Block {
        std::uint64_t batch = 0, row = 0, rows = 0, column = 0, columns = 0;
    };

    std::vector<Block> blocks_of(unsigned core) const {
        const unsigned along_n = core % plan_.cores_along_n, rest = core / plan_.cores_along_n;
        const unsigned along_m = rest % plan_.cores_along_m, along_batch = rest / plan_.cores_along_m;
        const std::uint64_t tile = program_.target().array_columns;
        const Range batches = part_of(shape_.batches, plan_.cores_along_batch, along_batch);
        // Rows are cut in eights and columns in tiles, so that no core gets a sliver.
        Range rows = part_of(divide_up(shape_.m, 8), plan_.cores_along_m, along_m);
        Range columns = part_of(divide_up(shape_.n, tile), plan_.cores_along_n, along_n);
        rows = {rows.begin * 8, std::min(rows.end * 8, shape_.m)};
        columns = {columns.begin * tile, std::min(columns.end * tile, shape_.n)};
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

    std::uint64_t address(const Matrix& matrix, std::uint64_t batch, std::uint64_t row,
                          std::uint64_t column) const {
        std::int64_t offset = static_cast<std::int64_t>(row) * matrix.row_stride +
                              static_cast<std::int64_t>(column) * matrix.column_stride;
        auto rest = static_cast<std::int64_t>(batch);
        for (std::size_t axis = batch_.size(); axis-- > 0; rest /= batch_[axis]) {
            offset += rest % batch_[axis] * matrix.batch_strides[axis];
        }
        return matrix.view.address + static_cast<std::uint64_t>(offset) * bytes_of(matrix.view.type);
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
        Tile whole_b;                                   // when it is there from the beginning
        std::optional<TileRing> a_panels;               // then a comes in panels of rows
        std::vector<Tile> a_panel;                      // by number, as far as loaded
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
        const std::uint64_t chunks = divide_up(shape_.k, plan_.chunk);
        const std::uint64_t result = plan_.rows_per_unit * target.array_columns;
        Work work(core);
        if (plan_.whole) {
            load_whole(work, blocks);
            for (const Matrix& one : results_)
                work.windows.emplace_back(core, one.view.type, window_rows(work) * window_columns(work), 2);
        } else {
            work.a.emplace(core, a_.view.type, plan_.block_rows() * plan_.chunk,
                           (plan_.keep_a ? chunks : 1) + plan_.ahead, shape_.a_turned);
            work.b.emplace(core, b_.view.type, plan_.block_columns(target) * plan_.chunk,
                           (plan_.keep_b ? chunks : 1) + plan_.ahead, false);
        }
        const unsigned units = plan_.units_along_m * plan_.units_along_n;
        for (unsigned unit = 0; unit < units; ++unit) work.popped.emplace_back(core, popped_, result, 2);
        for (const Matrix& operand : operands_)
            work.operands.emplace_back(core, operand.view.type, result, 2);
        if (epilogue_ && !plan_.whole) {
            for (const Matrix& one : results_) work.results.emplace_back(core, one.view.type, result, 2);
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
        const std::uint64_t b = address(b_, 0, 0, column);
        TileRing weights(work.core, b_.view.type, shape_.k * columns, 1);
        work.whole_b = weights.load(
            work.core, b_turned_ ? TileSource{b, columns, shape_.k, b_.column_stride, b_.row_stride}
                                 : TileSource{b, shape_.k, columns, b_.row_stride, b_.column_stride});
        work.a_panels.emplace(work.core, a_.view.type, panel_rows(work) * shape_.k, 2, shape_.a_turned);
        load_panel(work, 0);
    }

    /// Windows are as wide as the core's columns and some blocks high, or one block high.
    std::uint64_t window_columns(const Work& work) const {
        const std::uint64_t step = plan_.block_columns(program_.target());
        const std::uint64_t row_bytes = plan_.block_rows() * shape_.y_bytes;
        const std::uint64_t fitting = options_.result_window / (row_bytes * step) * step;
        return std::min(std::max(fitting, step), work.columns);
    }
    std::uint64_t window_rows(const Work& work) const {
        const std::uint64_t columns = window_columns(work), step = plan_.block_rows();
        if (columns < work.columns) return step;
        const std::uint64_t fitting = options_.result_window / (columns * shape_.y_bytes * step) * step;
        return std::min(std::max(fitting, step), work.rows);
    }
    static bool in_window(const Window& window, const Block& block) {
        return !window.tiles.empty() && block.row >= window.row && block.row < window.row + window.rows &&
               block.column >= window.column && block.column < window.column + window.columns;
    }
    void open_window(Work& work, const Block& block) const {
        if (work.windows.empty() || in_window(work.window, block)) return;
        Window& window = work.window;
        const std::uint64_t high = window_rows(work), wide = window_columns(work);
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
            const Matrix& result = results_[i];
            store(work.core, window.tiles[i],
                  {address(result, 0, window.row, window.column), window.rows, window.columns,
                   result.row_stride, result.column_stride});
        }
        work.window.tiles.clear();
    }

    std::uint64_t panel_rows(const Work& work) const {
        const std::uint64_t step = plan_.block_rows();
        const std::uint64_t fitting = options_.operand_window / (shape_.k * shape_.a_bytes * step) * step;
        return std::min(std::max(fitting, step), work.rows);
    }
    /// When it is there and not yet loaded.
    void load_panel(Work& work, std::uint64_t number) const {
        const std::uint64_t down = number * panel_rows(work);
        if (number < work.a_panel.size() || down >= work.rows) return;
        work.a_panel.push_back(work.a_panels->load(work.core, {address(a_, 0, work.first_row + down, 0),
                                                               std::min(panel_rows(work), work.rows - down),
                                                               shape_.k, a_.row_stride, a_.column_stride}));
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
        const std::uint64_t k = chunk * plan_.chunk, column = block.column - work.first_column;
        return b_turned_ ? work.whole_b.at(column, k) : work.whole_b.at(k, column);
    }

    TileSource a_tile(const Block& block, std::uint64_t chunk) const {
        const std::uint64_t k = chunk * plan_.chunk, depth = std::min(plan_.chunk, shape_.k - k);
        return {address(a_, block.batch, block.row, k), block.rows, depth, a_.row_stride, a_.column_stride};
    }
    /// Weights that lie along k are pushed transposed, straight from the tile as it lies in HBM.
    TileSource b_tile(const Block& block, std::uint64_t chunk) const {
        const std::uint64_t k = chunk * plan_.chunk, depth = std::min(plan_.chunk, shape_.k - k);
        const std::uint64_t start = address(b_, block.batch, k, block.column);
        if (b_turned_) return {start, block.columns, depth, b_.column_stride, b_.row_stride};
        return {start, depth, block.columns, b_.row_stride, b_.column_stride};
    }

    void multiply(Work& work, const Block& block, std::uint64_t chunk) const {
        const target::TpuTarget& target = program_.target();
        const std::uint64_t k0 = chunk * plan_.chunk, depth = std::min(plan_.chunk, shape_.k - k0);
        const Tile a = a_of(work, block, chunk);
        const Tile b = b_of(work, block, chunk);
        const bool last = k0 + depth == shape_.k;
        // Blocks take turns in the two halves of the result buffer when both fit.
        const std::uint64_t used = plan_.rows_per_unit * plan_.tiles_per_unit;
        const std::uint64_t half = 2 * used <= target.accumulator_rows ? work.blocks_done % 2 * used : 0;
        for (std::uint64_t tile = 0; tile < plan_.tiles_per_unit; ++tile) {
            for (std::uint64_t k = 0; k < depth; k += target.array_rows) {
                for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
                    for_each_unit(block, tile, [&](unsigned unit, const Share& share) {
                        const std::uint64_t deep = std::min<std::uint64_t>(target.array_rows, depth - k);
                        work.core.push(unit, b_turned_ ? b.at(share.column, k) : b.at(k, share.column), deep,
                                       share.columns, b_turned_, passes_[pass].second);
                        const bool fresh = k0 + k == 0 && pass == 0;
                        work.core.matmul(unit, a.at(share.row, k), share.rows, deep, share.columns,
                                         half + tile * plan_.rows_per_unit, !fresh, passes_[pass].first);
                    });
                }
            }
            if (!last) continue;
            for_each_unit(block, tile, [&](unsigned unit, const Share& share) {
                open_window(work, block);
                const bool gathered = !epilogue_ && !work.window.tiles.empty();
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
            return TileSource{address(matrix, block.batch, row, column), share.rows, share.columns,
                              matrix.row_stride, matrix.column_stride};
        };
        if (!epilogue_) {
            if (work.window.tiles.empty()) store(work.core, popped, place(results_[0]));
            return;
        }
        std::vector<Tile> inputs{popped}, outputs;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            inputs.push_back(work.operands[i].load(work.core, place(operands_[i])));
        }
        const bool gathered = !work.window.tiles.empty();
        for (std::size_t i = 0; i < results_.size(); ++i)
            outputs.push_back(gathered ? in_window(work, i, block, share)
                                       : work.results[i].next(share.columns));
        // random() counts elements of the result.
        const std::uint64_t first_row = block.batch * shape_.m + row;
        work.core.vector(epilogue_, share.rows, share.columns, inputs, outputs, scalars_,
                         static_cast<std::int64_t>(first_row), static_cast<std::int64_t>(column), shape_.n);
        for (std::size_t i = 0; i < outputs.size() && !gathered; ++i)
            store(work.core, outputs[i], place(results_[i]));
    }

    ProgramBuilder& program_;
    const TpuLoweringOptions& options_;
    std::vector<std::pair<Bf16Part, Bf16Part>> passes_;
    std::vector<std::int64_t> batch_;
    MatmulShape shape_;
    MatmulPlan plan_;
    Matrix a_, b_;
    bool b_turned_ = false;
    ElementType popped_ = ElementType::fp32;
    std::vector<Matrix> results_, operands_;
    std::shared_ptr<const tpu::VectorKernel> epilogue_;
    std::vector<float> scalars_;
};

}  // namespace

void lower_matmul(ProgramBuilder& program, const TpuLoweringOptions& options) {
    MatmulLowering(program, options).run();
}

}  // namespace heddle::lowering::on_tpu
