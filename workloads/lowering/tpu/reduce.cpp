// Reductions over any set of axes.
#include "workloads/lowering/tpu/reduce.h"

#include <limits>
#include <utility>

#include "workloads/expression/expression.h"
#include "workloads/lowering/tpu/map.h"
#include "workloads/lowering/tpu/reduce_plan.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::VectorOp;

enum class Finish : std::uint8_t { nothing, scale, negate, square_root };

class Reducer {
  public:
    explicit Reducer(ProgramBuilder& program) : program_(program) {}

    void run() {
        plan_ = plan_reduce(program_);
        prepare_kernels();
        if (plan_.blocks.empty()) return;
        const bool split =
            plan_.blocks.size() < program_.cores() && plan_.blocks[0].pieces.size() >= 2 && !plan_.position;
        if (split) {
            for (const ReduceBlock& block : plan_.blocks) reduce_together(block);
            return;
        }
        for (unsigned index = 0; index < program_.cores(); ++index) {
            CoreBuilder& core = program_.core(index);
            const Range range = part_of(plan_.blocks.size(), program_.cores(), index);
            if (range.size() == 0) continue;
            Room room = make_room(core);
            std::vector<const ReducePiece*> pieces;
            for (std::uint64_t block = range.begin; block < range.end; ++block) {
                for (const ReducePiece& piece : plan_.blocks[block].pieces) pieces.push_back(&piece);
            }
            std::uint64_t block = range.begin;
            std::size_t in_block = 0;
            run_pieces(core, room, pieces, [&](std::size_t) {
                if (in_block == 0) next_accumulators(room, plan_.blocks[block].results);
                const bool first = in_block == 0;
                if (++in_block == plan_.blocks[block].pieces.size()) {
                    in_block = 0;
                    return std::pair(first, static_cast<const ReduceBlock*>(&plan_.blocks[block++]));
                }
                return std::pair(first, static_cast<const ReduceBlock*>(nullptr));
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

    void prepare_kernels() {
        const std::string reduction = program_.op().get(keys::reduce.reduction);
        const bool maximum = reduction == "max" || reduction == "min";
        finish_ = reduction == "mean"    ? Finish::scale
                  : reduction == "min"   ? Finish::negate
                  : reduction == "norm2" ? Finish::square_root
                                         : Finish::nothing;
        lanes_ = maximum ? tpu::Reduction::lanes_maximum : tpu::Reduction::lanes_sum;
        sublanes_ = maximum ? tpu::Reduction::sublanes_maximum : tpu::Reduction::sublanes_sum;
        const std::vector<double> scalars = program_.op().get(keys::reduce.scalars);
        for (unsigned i = 0; i < plan_.expression.scalar_count; ++i)
            scalars_.push_back(static_cast<float>(scalars.at(i)));
        std::vector<tpu::ElementType> types;
        for (const HbmView& view : plan_.inputs) types.push_back(view.type);
        for (const bool accumulate : {false, true}) {
            KernelBuilder builder;
            std::vector<KernelBuilder::Node> x, s;
            for (const tpu::ElementType type : types) x.push_back(builder.input(type));
            for (unsigned i = 0; i < plan_.expression.scalar_count; ++i) s.push_back(builder.scalar());
            for (KernelBuilder::Node value : builder.expression(plan_.expression, x, s)) {
                if (reduction == "norm2") value = builder.apply(VectorOp::multiply, value, value);
                if (reduction == "min") value = builder.apply(VectorOp::negate, value);
                builder.reduce(value, plan_.pattern == ReducePattern::columns ? lanes_ : sublanes_,
                               accumulate);
            }
            (accumulate ? later_ : first_) = program_.kernel(builder.finish(), types);
        }
    }
    Room make_room(CoreBuilder& core) {
        core.start_over();
        Room room;
        std::uint64_t elements = ReducePlan::flat_columns, results = 0;
        for (const ReduceBlock& block : plan_.blocks) {
            results = std::max(results, block.results);
            for (const ReducePiece& piece : block.pieces)
                elements = std::max(elements, piece.rows * piece.columns);
        }
        for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
            const bool staged =
                !plan_.blocks[0].pieces.empty() && needs_staging(plan_.source(i, plan_.blocks[0].pieces[0]));
            room.inputs.emplace_back(core, plan_.inputs[i].type, elements, 2, staged);
        }
        for (const HbmView& output : plan_.outputs) {
            room.accumulators.emplace_back(core, tpu::ElementType::fp32, results, 2);
            room.results.emplace_back(core, output.type, results, 2);
        }
        if (plan_.position) {
            room.positions.emplace_back(core, tpu::ElementType::fp32, results, 2);
            room.positions.emplace_back(core, plan_.position->type, results, 2);
        }
        return room;
    }

    /// Fresh accumulators for a block, seen as its kernel writes them.
    void next_accumulators(Room& room, std::uint64_t results) const {
        room.present.clear();
        for (TileRing& ring : room.accumulators) {
            Tile tile = ring.next(plan_.pattern == ReducePattern::columns ? 1 : results);
            room.present.push_back(tile);
        }
    }

    /// `schedule(piece)` says whether the piece is its block's first and, for the last one, which block is
    /// complete.
    template <class Schedule>
    void run_pieces(CoreBuilder& core, Room& room, const std::vector<const ReducePiece*>& pieces,
                    Schedule schedule) {
        std::vector<std::vector<Tile>> loaded(pieces.size());
        const auto stride = plan_.pattern == ReducePattern::all ? ReducePlan::flat_columns : 0;
        pipeline(
            pieces.size(), 1,
            [&](std::size_t step) {
                for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
                    loaded[step].push_back(room.inputs[i].load(core, plan_.source(i, *pieces[step])));
                }
            },
            [&](std::size_t step) {
                const auto [first, complete] = schedule(step);
                const ReducePiece& piece = *pieces[step];
                core.vector(first ? first_ : later_, piece.rows, piece.columns, loaded[step], room.present,
                            scalars_, piece.first_row, piece.first_column, stride);
                if (complete != nullptr) {
                    if (plan_.pattern == ReducePattern::all) fold_lanes(core, room, complete->results);
                    if (plan_.position) find_positions(core, room, *complete);
                    write_results(core, room, plan_.pattern == ReducePattern::all ? 1 : complete->results,
                                  complete->output_offset);
                }
            });
    }

    /// The first position at which a block's values are the extremum found.
    void find_positions(CoreBuilder& core, Room& room, const ReduceBlock& block) {
        const bool by_rows = plan_.pattern == ReducePattern::columns;
        Tile extremum = room.present[0], found = room.positions[0].next(by_rows ? 1 : block.results);
        extremum.broadcast_columns = by_rows;
        if (!by_rows) extremum.row_stride = 0;
        for (std::size_t i = 0; i < block.pieces.size(); ++i) {
            KernelBuilder builder;
            std::vector<KernelBuilder::Node> x, s;
            std::vector<tpu::ElementType> types;
            for (const HbmView& view : plan_.inputs) {
                types.push_back(view.type);
                x.push_back(builder.input(view.type));
            }
            for (unsigned scalar = 0; scalar < plan_.expression.scalar_count; ++scalar)
                s.push_back(builder.scalar());
            auto value = builder.expression(plan_.expression, x, s)[0];
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
            const ReducePiece& piece = block.pieces[i];
            std::vector<Tile> tiles;
            for (std::size_t input = 0; input < plan_.inputs.size(); ++input) {
                tiles.push_back(room.inputs[input].load(core, plan_.source(input, piece)));
            }
            tiles.push_back(extremum);
            core.vector(program_.kernel(builder.finish(), types), piece.rows, piece.columns, tiles, {found},
                        scalars_, piece.first_row, piece.first_column);
        }
        KernelBuilder builder;
        builder.output(builder.apply(VectorOp::negate, builder.raw_input()), plan_.position->type);
        found.row_stride = 0;
        const Tile result = room.positions[1].next(block.results);
        core.vector(program_.kernel(builder.finish(), {tpu::ElementType::fp32}), 1, block.results, {found},
                    {result});
        store(core, result,
              {plan_.position->address +
                   static_cast<std::uint64_t>(block.output_offset) * bytes_of(plan_.position->type),
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
        for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
            const HbmView& view = plan_.outputs[i];
            KernelBuilder builder;
            KernelBuilder::Node value = builder.raw_input();
            switch (finish_) {
                case Finish::scale:
                    value =
                        builder.apply(VectorOp::multiply, value,
                                      builder.constant(1.0 / static_cast<double>(plan_.reduced_elements)));
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
    void reduce_together(const ReduceBlock& block) {
        const unsigned cores = program_.cores();
        const std::size_t sums = plan_.outputs.size();
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
            std::vector<const ReducePiece*> pieces;
            bool ragged = plan_.pattern == ReducePattern::all;
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
                return std::pair(std::exchange(first, false), static_cast<const ReduceBlock*>(nullptr));
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
        if (plan_.pattern == ReducePattern::all) fold_lanes(core, room, block.results);
        write_results(core, room, plan_.pattern == ReducePattern::all ? 1 : block.results,
                      block.output_offset);
    }

    ProgramBuilder& program_;
    ReducePlan plan_;
    std::vector<float> scalars_;
    Finish finish_ = Finish::nothing;
    tpu::Reduction lanes_ = tpu::Reduction::lanes_sum, sublanes_ = tpu::Reduction::sublanes_sum;
    std::shared_ptr<const tpu::VectorKernel> first_, later_;
};

}  // namespace

namespace {

/// Over axes of one element nothing is combined: the expression alone is left.
bool lower_as_map(ProgramBuilder& program) {
    const trace::Op& op = program.op();
    const std::vector<std::int64_t>& shape = program.input(0).shape;
    std::int64_t reduced = 1;
    if (!op.has(keys::reduce.axes)) {
        reduced = program.input(0).elements();
    } else {
        for (const std::int64_t axis : op.get(keys::reduce.axes))
            reduced *= shape.at(static_cast<std::size_t>(axis));
    }
    if (reduced != 1 || op.get(keys::reduce.argument) != 0) return false;
    const expression::Expression parsed = expression::parse(op.get(keys::reduce.expression, "y0 = x0"));
    KernelBuilder builder;
    std::vector<HbmView> inputs, outputs;
    std::vector<tpu::ElementType> types;
    std::vector<KernelBuilder::Node> x, s;
    for (std::size_t i = 0; i < parsed.input_count; ++i) {
        inputs.push_back(program.input_view(i, shape));
        types.push_back(inputs.back().type);
        x.push_back(builder.input(inputs.back().type));
    }
    std::vector<float> scalars;
    const std::vector<double> given = op.get(keys::reduce.scalars);
    for (unsigned i = 0; i < parsed.scalar_count; ++i) {
        s.push_back(builder.scalar());
        scalars.push_back(static_cast<float>(given.at(i)));
    }
    const std::vector<KernelBuilder::Node> values = builder.expression(parsed, x, s);
    for (std::size_t i = 0; i < values.size(); ++i) {
        HbmView view = program.dense_output(i);
        view.shape = shape;
        view.strides = trace::broadcast_strides(shape, shape);
        const auto value = op.get(keys::reduce.reduction) == "norm2"
                               ? builder.apply(tpu::VectorOp::absolute, values[i])
                               : values[i];
        builder.output(value, view.type, view.boolean);
        outputs.push_back(view);
    }
    map_elements(program, program.kernel(builder.finish(), types), inputs, outputs, scalars);
    return true;
}

}  // namespace

void lower_reduce(ProgramBuilder& program) {
    if (!lower_as_map(program)) Reducer(program).run();
}

}  // namespace heddle::lowering::on_tpu
