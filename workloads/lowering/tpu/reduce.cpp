// Reductions over any set of axes.
#include "workloads/lowering/tpu/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "workloads/expression/expression.h"
#include "workloads/lowering/tpu/collapse.h"
#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::VectorOp;

constexpr std::uint64_t kFlatColumns = 1024;
/// Tiles larger than this only delay the first result.
constexpr std::uint64_t kMostElements = 64 * 1024;

enum class Finish : std::uint8_t { nothing, scale, negate, square_root };

/// How the two innermost axes are folded.
enum class Pattern : std::uint8_t {
    columns,  ///< columns vanish: one result per row
    rows,     ///< rows vanish: one result per column
    all,  ///< a run of elements, laid out in rows of kFlatColumns: first its rows vanish, then its columns
};

struct Piece {
    std::uint64_t rows = 0, columns = 0;
    std::vector<std::int64_t> offsets;  ///< per input, in elements
    std::int64_t first_row = 0, first_column = 0;
};

/// Results that are computed together, and the tiles that go into them.
struct Block {
    std::uint64_t results = 0;
    std::int64_t output_offset = 0;
    std::vector<Piece> pieces;
};

class Reducer {
  public:
    explicit Reducer(ProgramBuilder& program) : program_(program) {}

    void run() {
        prepare_operands();
        prepare_kernels();
        plan();
        if (blocks_.empty()) return;
        const bool split = blocks_.size() < program_.cores() && blocks_[0].pieces.size() >= 2 && !position_;
        if (split) {
            for (const Block& block : blocks_) reduce_together(block);
            return;
        }
        for (unsigned index = 0; index < program_.cores(); ++index) {
            CoreBuilder& core = program_.core(index);
            const Range range = part_of(blocks_.size(), program_.cores(), index);
            if (range.size() == 0) continue;
            Room room = make_room(core);
            std::vector<const Piece*> pieces;
            for (std::uint64_t block = range.begin; block < range.end; ++block) {
                for (const Piece& piece : blocks_[block].pieces) pieces.push_back(&piece);
            }
            std::uint64_t block = range.begin;
            std::size_t in_block = 0;
            run_pieces(core, room, pieces, [&](std::size_t) {
                if (in_block == 0) next_accumulators(room, blocks_[block].results);
                const bool first = in_block == 0;
                if (++in_block == blocks_[block].pieces.size()) {
                    in_block = 0;
                    return std::pair(first, static_cast<const Block*>(&blocks_[block++]));
                }
                return std::pair(first, static_cast<const Block*>(nullptr));
            });
        }
    }

  private:
    /// Tiles of one core.
    struct Room {
        std::vector<TileRing> inputs;
        std::vector<TileRing> accumulators, results;
        std::vector<TileRing> positions;  ///< as they are found, and as they are stored
        std::vector<Tile> present;        ///< accumulators of the block under way
    };

    void prepare_operands() {
        const std::vector<std::int64_t> shape = program_.input(0).shape;
        std::vector<std::int64_t> axes = program_.op().integers("axes");
        if (!program_.op().attributes.contains("axes")) {
            axes.resize(shape.size());
            std::iota(axes.begin(), axes.end(), 0);
        }
        std::vector<bool> reduced(shape.size(), false);
        for (const std::int64_t axis : axes) reduced.at(static_cast<std::size_t>(axis)) = true;
        std::vector<std::int64_t> output_strides(shape.size(), 0);
        std::int64_t stride = 1;
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (reduced[axis]) {
                reduced_elements_ *= shape[axis];
                continue;
            }
            output_strides[axis] = stride;
            stride *= shape[axis];
        }
        for (const std::int64_t extent : shape) total_ *= static_cast<std::uint64_t>(extent);

        expression_ = expression::parse(program_.op().text("expression", "y0 = x0"));
        std::vector<std::vector<std::int64_t>> strides;
        for (std::size_t i = 0; i < expression_.input_count; ++i) {
            inputs_.push_back(program_.input_view(i, shape));
            strides.push_back(inputs_.back().strides);
        }
        for (std::size_t i = 0; i < expression_.outputs.size(); ++i)
            outputs_.push_back(program_.dense_output(i));
        strides.push_back(output_strides);
        axes_ = collapse(shape, strides, reduced);
        const bool lone = axes_.shape.size() == 1;
        bool flat = true;
        for (std::size_t i = 0; i < inputs_.size(); ++i) flat = flat && axes_.strides[i].back() <= 1;
        if (program_.op().integer("argument", 0) != 0) prepare_position();
        if (lone && axes_.marked[0] && flat && !position_) {
            pattern_ = Pattern::all;
        } else if (axes_.marked.back()) {
            pattern_ = Pattern::columns;
            if (lone) insert_axis(0, false);
        } else if (lone) {
            pattern_ = Pattern::columns;
            insert_axis(1, true);
        } else {
            pattern_ = Pattern::rows;
        }
    }

    /// The index of the extremum is found by a second look at the values.
    void prepare_position() {
        const std::string reduction = program_.op().text("reduction");
        if (reduction != "max" && reduction != "min") throw Unsupported{"the position of a " + reduction};
        if (outputs_.size() != 1) throw Unsupported{"the positions of several extrema"};
        if (std::count(axes_.marked.begin(), axes_.marked.end(), true) > 1) {
            throw Unsupported{"the position of an extremum over axes that do not lie side by side"};
        }
        // Positions pass through fp32.
        if (reduced_elements_ > (1 << 24))
            throw Unsupported{"the position of an extremum among more than 2^24 elements"};
        position_ = program_.dense_output(1);
    }

    void insert_axis(std::size_t at, bool marked) {
        axes_.shape.insert(axes_.shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
        axes_.marked.insert(axes_.marked.begin() + static_cast<std::ptrdiff_t>(at), marked);
        for (auto& strides : axes_.strides)
            strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(at), 0);
    }

    void prepare_kernels() {
        const std::string reduction = program_.op().text("reduction");
        const bool maximum = reduction == "max" || reduction == "min";
        finish_ = reduction == "mean"    ? Finish::scale
                  : reduction == "min"   ? Finish::negate
                  : reduction == "norm2" ? Finish::square_root
                                         : Finish::nothing;
        lanes_ = maximum ? tpu::Reduction::lanes_maximum : tpu::Reduction::lanes_sum;
        sublanes_ = maximum ? tpu::Reduction::sublanes_maximum : tpu::Reduction::sublanes_sum;
        const std::vector<double> scalars = program_.op().reals("scalars");
        for (unsigned i = 0; i < expression_.scalar_count; ++i)
            scalars_.push_back(static_cast<float>(scalars.at(i)));
        std::vector<tpu::ElementType> types;
        for (const HbmView& view : inputs_) types.push_back(view.type);
        for (const bool accumulate : {false, true}) {
            KernelBuilder builder;
            std::vector<KernelBuilder::Node> x, s;
            for (const tpu::ElementType type : types) x.push_back(builder.input(type));
            for (unsigned i = 0; i < expression_.scalar_count; ++i) s.push_back(builder.scalar());
            for (KernelBuilder::Node value : builder.expression(expression_, x, s)) {
                if (reduction == "norm2") value = builder.apply(VectorOp::multiply, value, value);
                if (reduction == "min") value = builder.apply(VectorOp::negate, value);
                builder.reduce(value, pattern_ == Pattern::columns ? lanes_ : sublanes_, accumulate);
            }
            (accumulate ? later_ : first_) = program_.kernel(builder.finish(), types);
        }
    }

    void plan() {
        for (const expression::Node& node : expression_.nodes) {
            if (node.op == expression::Operator::random)
                throw Unsupported{"random numbers inside a reduction"};
        }
        if (total_ == 0) {
            if (outputs_[0].shape[0] == 0) return;
            throw Unsupported{"it reduces no elements"};
        }
        std::uint64_t bytes = 0;  // two places per input, perhaps staged
        for (const HbmView& view : inputs_) bytes += 4ull * bytes_of(view.type);
        most_elements_ = std::min(kMostElements, program_.target().vmem_bytes / 2 / bytes / 1024 * 1024);
        if (most_elements_ == 0) throw Unsupported{"its tiles do not fit on-chip memory"};
        if (pattern_ == Pattern::all) return plan_all();
        const std::size_t axes = axes_.shape.size(), row = axes - 2, column = axes - 1;
        const auto rows = static_cast<std::uint64_t>(axes_.shape[row]);
        const auto columns = static_cast<std::uint64_t>(axes_.shape[column]);
        const std::uint64_t cores = program_.cores();
        std::uint64_t row_step = 0, column_step = 0;
        if (pattern_ == Pattern::columns) {
            column_step = std::min(columns, most_elements_ / 8);
            row_step =
                std::min({rows, most_elements_ / column_step, divide_up(divide_up(rows, 2 * cores), 8) * 8});
        } else {
            column_step =
                std::min({columns, most_elements_ / 8, divide_up(divide_up(columns, cores), 128) * 128});
            row_step = std::min(rows, most_elements_ / column_step);
        }
        // Axes outside: those that stay number the blocks, those that vanish add pieces.
        std::vector<std::size_t> staying, vanishing;
        for (std::size_t axis = 0; axis < row; ++axis)
            (axes_.marked[axis] ? vanishing : staying).push_back(axis);
        std::vector<std::int64_t> index(axes, 0);
        do {
            add_blocks(index, rows, columns, row_step, column_step, vanishing);
        } while (advance(index, staying));
    }

    bool advance(std::vector<std::int64_t>& index, const std::vector<std::size_t>& axes) const {
        for (std::size_t i = axes.size(); i-- > 0;) {
            if (++index[axes[i]] < axes_.shape[axes[i]]) return true;
            index[axes[i]] = 0;
        }
        return false;
    }

    std::int64_t offset(std::size_t operand, const std::vector<std::int64_t>& index) const {
        std::int64_t sum = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            sum += index[axis] * axes_.strides[operand][axis];
        return sum;
    }

    void add_blocks(std::vector<std::int64_t> index, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t row_step, std::uint64_t column_step,
                    const std::vector<std::size_t>& vanishing) {
        const std::size_t row = index.size() - 2, column = index.size() - 1;
        const bool by_rows = pattern_ == Pattern::columns;  // the axis that stays
        const std::uint64_t stay = by_rows ? rows : columns, stay_step = by_rows ? row_step : column_step;
        const std::uint64_t fold = by_rows ? columns : rows, fold_step = by_rows ? column_step : row_step;
        for (std::uint64_t begin = 0; begin < stay; begin += stay_step) {
            Block block;
            block.results = std::min(stay_step, stay - begin);
            index[by_rows ? row : column] = static_cast<std::int64_t>(begin);
            index[by_rows ? column : row] = 0;
            block.output_offset = offset(inputs_.size(), index);
            do {
                for (std::uint64_t at = 0; at < fold; at += fold_step) {
                    index[by_rows ? column : row] = static_cast<std::int64_t>(at);
                    Piece piece;
                    const std::uint64_t folded = std::min(fold_step, fold - at);
                    piece.rows = by_rows ? block.results : folded;
                    piece.columns = by_rows ? folded : block.results;
                    piece.first_row = index[row];
                    piece.first_column = index[column];
                    for (std::size_t i = 0; i < inputs_.size(); ++i)
                        piece.offsets.push_back(offset(i, index));
                    block.pieces.push_back(std::move(piece));
                }
                index[by_rows ? column : row] = 0;
            } while (advance(index, vanishing));
            blocks_.push_back(std::move(block));
        }
    }

    void plan_all() {
        Block block;
        block.results = std::min(total_, kFlatColumns);
        const auto add = [&](std::uint64_t first, std::uint64_t rows, std::uint64_t columns) {
            Piece piece;
            piece.rows = rows;
            piece.columns = columns;
            for (std::size_t i = 0; i < inputs_.size(); ++i) {
                piece.offsets.push_back(axes_.strides[i][0] * static_cast<std::int64_t>(first));
            }
            piece.first_row = static_cast<std::int64_t>(first / kFlatColumns);
            block.pieces.push_back(std::move(piece));
        };
        const std::uint64_t whole = total_ / kFlatColumns;
        const std::uint64_t step = std::max<std::uint64_t>(
            1, std::min(most_elements_ / kFlatColumns, divide_up(whole, 4ull * program_.cores())));
        for (std::uint64_t row = 0; row < whole; row += step)
            add(row * kFlatColumns, std::min(step, whole - row), kFlatColumns);
        if (total_ % kFlatColumns != 0) add(whole * kFlatColumns, 1, total_ % kFlatColumns);
        blocks_.push_back(std::move(block));
    }

    TileSource source(std::size_t input, const Piece& piece) const {
        TileSource source;
        const HbmView& view = inputs_[input];
        source.address =
            view.address + static_cast<std::uint64_t>(piece.offsets[input]) * bytes_of(view.type);
        source.rows = piece.rows;
        source.columns = piece.columns;
        const std::vector<std::int64_t>& strides = axes_.strides[input];
        source.column_stride = strides.back();
        source.row_stride = pattern_ == Pattern::all ? strides[0] * static_cast<std::int64_t>(kFlatColumns)
                                                     : strides[strides.size() - 2];
        return source;
    }

    Room make_room(CoreBuilder& core) {
        core.start_over();
        Room room;
        std::uint64_t elements = kFlatColumns, results = 0;
        for (const Block& block : blocks_) {
            results = std::max(results, block.results);
            for (const Piece& piece : block.pieces) elements = std::max(elements, piece.rows * piece.columns);
        }
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const bool staged = !blocks_[0].pieces.empty() && needs_staging(source(i, blocks_[0].pieces[0]));
            room.inputs.emplace_back(core, inputs_[i].type, elements, 2, staged);
        }
        for (const HbmView& output : outputs_) {
            room.accumulators.emplace_back(core, tpu::ElementType::fp32, results, 2);
            room.results.emplace_back(core, output.type, results, 2);
        }
        if (position_) {
            room.positions.emplace_back(core, tpu::ElementType::fp32, results, 2);
            room.positions.emplace_back(core, position_->type, results, 2);
        }
        return room;
    }

    /// Fresh accumulators for a block, seen as its kernel writes them.
    void next_accumulators(Room& room, std::uint64_t results) const {
        room.present.clear();
        for (TileRing& ring : room.accumulators) {
            Tile tile = ring.next(pattern_ == Pattern::columns ? 1 : results);
            room.present.push_back(tile);
        }
    }

    /// `schedule(piece)` says whether the piece is its block's first and, for the last one, which block is
    /// complete.
    template <class Schedule>
    void run_pieces(CoreBuilder& core, Room& room, const std::vector<const Piece*>& pieces,
                    Schedule schedule) {
        std::vector<std::vector<Tile>> loaded(pieces.size());
        const auto stride = pattern_ == Pattern::all ? kFlatColumns : 0;
        pipeline(
            pieces.size(), 1,
            [&](std::size_t step) {
                for (std::size_t i = 0; i < inputs_.size(); ++i) {
                    loaded[step].push_back(room.inputs[i].load(core, source(i, *pieces[step])));
                }
            },
            [&](std::size_t step) {
                const auto [first, complete] = schedule(step);
                const Piece& piece = *pieces[step];
                core.vector(first ? first_ : later_, piece.rows, piece.columns, loaded[step], room.present,
                            scalars_, piece.first_row, piece.first_column, stride);
                if (complete != nullptr) {
                    if (pattern_ == Pattern::all) fold_lanes(core, room, complete->results);
                    if (position_) find_positions(core, room, *complete);
                    write_results(core, room, pattern_ == Pattern::all ? 1 : complete->results,
                                  complete->output_offset);
                }
            });
    }

    /// The first position at which a block's values are the extremum found.
    void find_positions(CoreBuilder& core, Room& room, const Block& block) {
        const bool by_rows = pattern_ == Pattern::columns;
        Tile extremum = room.present[0], found = room.positions[0].next(by_rows ? 1 : block.results);
        extremum.broadcast_columns = by_rows;
        if (!by_rows) extremum.row_stride = 0;
        for (std::size_t i = 0; i < block.pieces.size(); ++i) {
            KernelBuilder builder;
            std::vector<KernelBuilder::Node> x, s;
            std::vector<tpu::ElementType> types;
            for (const HbmView& view : inputs_) {
                types.push_back(view.type);
                x.push_back(builder.input(view.type));
            }
            for (unsigned scalar = 0; scalar < expression_.scalar_count; ++scalar)
                s.push_back(builder.scalar());
            auto value = builder.expression(expression_, x, s)[0];
            if (finish_ == Finish::negate) value = builder.apply(VectorOp::negate, value);
            const auto hit = builder.apply(VectorOp::equal, value, builder.raw_input());
            types.push_back(tpu::ElementType::fp32);
            // The smallest position is the largest negative one.
            const auto position = builder.apply(VectorOp::integer_to_float,
                                                by_rows ? builder.column_index() : builder.row_index());
            const auto candidate =
                builder.apply(VectorOp::select, hit, builder.apply(VectorOp::negate, position),
                              builder.constant(-std::numeric_limits<double>::infinity()));
            builder.reduce(candidate, by_rows ? lanes_ : sublanes_, i > 0);
            const Piece& piece = block.pieces[i];
            std::vector<Tile> tiles;
            for (std::size_t input = 0; input < inputs_.size(); ++input) {
                tiles.push_back(room.inputs[input].load(core, source(input, piece)));
            }
            tiles.push_back(extremum);
            core.vector(program_.kernel(builder.finish(), types), piece.rows, piece.columns, tiles, {found},
                        scalars_, piece.first_row, piece.first_column);
        }
        KernelBuilder builder;
        builder.output(builder.apply(VectorOp::negate, builder.raw_input()), position_->type);
        found.row_stride = 0;
        const Tile result = room.positions[1].next(block.results);
        core.vector(program_.kernel(builder.finish(), {tpu::ElementType::fp32}), 1, block.results, {found},
                    {result});
        store(
            core, result,
            {position_->address + static_cast<std::uint64_t>(block.output_offset) * bytes_of(position_->type),
             1, block.results, 0, 1});
    }

    /// One row of sums becomes one number, in its first place.
    void fold_lanes(CoreBuilder& core, Room& room, std::uint64_t columns) {
        KernelBuilder builder;
        builder.reduce(builder.raw_input(), lanes_);
        const auto kernel = program_.kernel(builder.finish(), {tpu::ElementType::fp32});
        for (Tile& tile : room.present) core.vector(kernel, 1, columns, {tile}, {tile});
    }

    void write_results(CoreBuilder& core, Room& room, std::uint64_t results, std::int64_t offset) {
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            const HbmView& view = outputs_[i];
            KernelBuilder builder;
            KernelBuilder::Node value = builder.raw_input();
            switch (finish_) {
                case Finish::scale:
                    value = builder.apply(VectorOp::multiply, value,
                                          builder.constant(1.0 / static_cast<double>(reduced_elements_)));
                    break;
                case Finish::negate:
                    value = builder.apply(VectorOp::negate, value);
                    break;
                case Finish::square_root:
                    value = builder.apply(VectorOp::square_root, value);
                    break;
                case Finish::nothing:
                    break;
            }
            builder.output(value, view.type, view.boolean);
            const auto kernel = program_.kernel(builder.finish(), {tpu::ElementType::fp32});
            // Results lie one behind the other, whether they were made as a row or as a column.
            Tile from = room.present[i];
            from.row_stride = 0;
            const Tile to = room.results[i].next(results);
            core.vector(kernel, 1, results, {from}, {to});
            TileSource destination;
            destination.address = view.address + static_cast<std::uint64_t>(offset) * bytes_of(view.type);
            destination.rows = 1;
            destination.columns = results;
            store(core, to, destination);
        }
    }

    /// All cores fold their share of a block; core 0 folds what they found.
    void reduce_together(const Block& block) {
        const unsigned cores = program_.cores();
        const std::size_t sums = outputs_.size();
        const HbmView partial =
            program_.workspace({static_cast<std::int64_t>(sums), static_cast<std::int64_t>(cores),
                                static_cast<std::int64_t>(block.results)});
        const auto place = [&](std::size_t sum, unsigned core) {
            return partial.address + (sum * cores + core) * block.results * 4;
        };
        unsigned busy = 0;
        for (unsigned index = 0; index < cores; ++index) {
            CoreBuilder& core = program_.core(index);
            const Range range =
                part_of(block.pieces.size(), std::min<std::uint64_t>(cores, block.pieces.size()), index);
            if (index >= block.pieces.size()) continue;
            ++busy;
            Room room = make_room(core);
            next_accumulators(room, block.results);
            std::vector<const Piece*> pieces;
            bool ragged = pattern_ == Pattern::all;
            for (std::uint64_t i = range.begin; i < range.end; ++i) {
                pieces.push_back(&block.pieces[i]);
                if (block.pieces[i].columns == block.results) ragged = false;
            }
            // A share that is shorter than the row of sums must not leave the rest of it undefined.
            if (ragged) {
                KernelBuilder builder;
                builder.raw_output(
                    builder.constant(is_sum(lanes_) ? 0.0 : -std::numeric_limits<double>::infinity()));
                const auto kernel = program_.kernel(builder.finish(), {});
                for (const Tile& tile : room.present) core.vector(kernel, 1, block.results, {}, {tile});
            }
            bool first = !ragged;
            run_pieces(core, room, pieces, [&](std::size_t) {
                return std::pair(std::exchange(first, false), static_cast<const Block*>(nullptr));
            });
            for (std::size_t i = 0; i < sums; ++i) {
                Tile row = room.present[i];
                row.row_stride = block.results * 4;
                store(core, row, {place(i, index), 1, block.results, 0, 1});
            }
        }
        program_.meet();
        CoreBuilder& core = program_.core(0);
        Room room = make_room(core);
        TileRing ring(core, tpu::ElementType::fp32, busy * block.results, 1);
        next_accumulators(room, block.results);
        KernelBuilder builder;
        builder.reduce(builder.raw_input(), sublanes_);
        const auto kernel = program_.kernel(builder.finish(), {tpu::ElementType::fp32});
        for (std::size_t i = 0; i < sums; ++i) {
            TileSource shares{place(i, 0), busy, block.results, static_cast<std::int64_t>(block.results), 1};
            const Tile tile = ring.load(core, shares);
            core.vector(kernel, busy, block.results, {tile}, {room.present[i]});
        }
        if (pattern_ == Pattern::all) fold_lanes(core, room, block.results);
        write_results(core, room, pattern_ == Pattern::all ? 1 : block.results, block.output_offset);
    }

    ProgramBuilder& program_;
    expression::Expression expression_;
    std::vector<HbmView> inputs_, outputs_;
    std::optional<HbmView> position_;  ///< where the index of the extremum goes
    std::vector<float> scalars_;
    Axes axes_;
    Pattern pattern_ = Pattern::columns;
    Finish finish_ = Finish::nothing;
    tpu::Reduction lanes_ = tpu::Reduction::lanes_sum, sublanes_ = tpu::Reduction::sublanes_sum;
    std::int64_t reduced_elements_ = 1;
    std::uint64_t total_ = 1, most_elements_ = 0;
    std::shared_ptr<const tpu::VectorKernel> first_, later_;
    std::vector<Block> blocks_;
};

}  // namespace

void lower_reduce(ProgramBuilder& program) {
    Reducer(program).run();
}

}  // namespace heddle::lowering::on_tpu
