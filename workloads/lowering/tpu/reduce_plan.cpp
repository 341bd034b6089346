#include "workloads/lowering/tpu/reduce_plan.h"

#include <algorithm>
#include <numeric>

namespace heddle::lowering::on_tpu {
namespace {

/// Tiles larger than this only delay the first result. Two of this size in 16 bits hide the latency of HBM.
constexpr std::uint64_t kReducePlanMostElements = 256 * 1024;
/// Width of tiles whose rows vanish: the higher a tile, the fewer of its registers are folded across
/// sublanes.
constexpr std::uint64_t kColumns = 1024;

class Planner {
  public:
    explicit Planner(const ProgramBuilder& program) : program_(program) {}

    ReducePlan run() {
        prepare_operands();
        plan();
        return std::move(plan_);
    }

  private:
    void prepare_operands() {
        const std::vector<std::int64_t> shape = program_.input(0).shape;
        std::vector<std::int64_t> axes = program_.op().get(keys::reduce.axes);
        if (!program_.op().has(keys::reduce.axes)) {
            axes.resize(shape.size());
            std::iota(axes.begin(), axes.end(), 0);
        }
        std::vector<bool> reduced(shape.size(), false);
        for (const std::int64_t axis : axes) reduced.at(static_cast<std::size_t>(axis)) = true;
        std::vector<std::int64_t> output_strides(shape.size(), 0);
        std::int64_t stride = 1;
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (reduced[axis]) {
                plan_.reduced_elements *= shape[axis];
                continue;
            }
            output_strides[axis] = stride;
            stride *= shape[axis];
        }
        for (const std::int64_t extent : shape) total_ *= static_cast<std::uint64_t>(extent);

        plan_.expression = expression::parse(program_.op().get(keys::reduce.expression, "y0 = x0"));
        std::vector<std::vector<std::int64_t>> strides;
        for (std::size_t i = 0; i < plan_.expression.input_count; ++i) {
            plan_.inputs.push_back(program_.input_view(i, shape));
            strides.push_back(plan_.inputs.back().strides);
        }
        for (std::size_t i = 0; i < plan_.expression.outputs.size(); ++i)
            plan_.outputs.push_back(program_.dense_output(i));
        strides.push_back(output_strides);
        plan_.axes = collapse(shape, strides, reduced);
        const bool lone = plan_.axes.shape.size() == 1;
        bool flat = true;
        for (std::size_t i = 0; i < plan_.inputs.size(); ++i)
            flat = flat && plan_.axes.strides[i].back() <= 1;
        if (program_.op().get(keys::reduce.argument) != 0) prepare_position();
        if (lone && plan_.axes.marked[0] && flat && !plan_.position) {
            plan_.pattern = ReducePattern::all;
        } else if (plan_.axes.marked.back()) {
            plan_.pattern = ReducePattern::columns;
            if (lone) insert_axis(0, false);
        } else if (lone) {
            plan_.pattern = ReducePattern::columns;
            insert_axis(1, true);
        } else {
            plan_.pattern = ReducePattern::rows;
        }
        if (plan_.pattern != ReducePattern::all) let_neighbours_differ();
    }

    /// Of the two innermost axes one stays and one vanishes. Where operands keep axes of one kind apart,
    /// another axis takes the place before the last: the innermost that stays, since results lie side by side
    /// along it, or the longest that vanishes.
    void let_neighbours_differ() {
        const std::size_t column = plan_.axes.shape.size() - 1, row = column - 1;
        const bool vanishes = plan_.axes.marked[column];
        if (plan_.axes.marked[row] != vanishes) return;
        std::optional<std::size_t> best;
        for (std::size_t axis = 0; axis < row && !plan_.position; ++axis) {
            if (plan_.axes.marked[axis] == vanishes) continue;
            if (!best || vanishes || plan_.axes.shape[axis] > plan_.axes.shape[*best]) best = axis;
        }
        if (!best) return insert_axis(column, !vanishes);
        const auto move_back = [&](auto& list) {
            const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
            std::rotate(at(*best), at(*best + 1), at(column));
        };
        move_back(plan_.axes.shape);
        move_back(plan_.axes.marked);
        for (auto& strides : plan_.axes.strides) move_back(strides);
    }

    /// The index of the extremum is found by a second look at the values.
    void prepare_position() {
        const std::string reduction = program_.op().get(keys::reduce.reduction);
        if (reduction != "max" && reduction != "min") throw Unsupported{"the position of a " + reduction};
        if (plan_.outputs.size() != 1) throw Unsupported{"the positions of several extrema"};
        if (std::count(plan_.axes.marked.begin(), plan_.axes.marked.end(), true) > 1) {
            throw Unsupported{"the position of an extremum over axes that do not lie side by side"};
        }
        // Positions pass through fp32.
        if (plan_.reduced_elements > (1 << 24))
            throw Unsupported{"the position of an extremum among more than 2^24 elements"};
        plan_.position = program_.dense_output(1);
    }

    void insert_axis(std::size_t at, bool marked) {
        plan_.axes.shape.insert(plan_.axes.shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
        plan_.axes.marked.insert(plan_.axes.marked.begin() + static_cast<std::ptrdiff_t>(at), marked);
        for (auto& strides : plan_.axes.strides)
            strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(at), 0);
    }
    void plan() {
        for (const expression::Node& node : plan_.expression.nodes) {
            if (node.op == expression::Operator::random || node.op == expression::Operator::philox ||
                node.op == expression::Operator::position)
                throw Unsupported{"numbers by an element's position inside a reduction"};
        }
        if (total_ == 0) {
            if (plan_.outputs[0].shape[0] == 0) return;
            throw Unsupported{"it reduces no elements"};
        }
        std::uint64_t bytes = 0;  // two places per input, perhaps staged
        for (const HbmView& view : plan_.inputs) bytes += 4ull * bytes_of(view.type);
        if (bytes == 0) throw Unsupported{"it reads nothing"};
        most_elements_ = std::min(kReducePlanMostElements, program_.target().vmem_bytes / 2 / bytes / 1024 * 1024);
        if (most_elements_ == 0) throw Unsupported{"its tiles do not fit on-chip memory"};
        if (plan_.pattern == ReducePattern::all) return plan_all();
        const std::size_t axes = plan_.axes.shape.size(), row = axes - 2, column = axes - 1;
        const auto rows = static_cast<std::uint64_t>(plan_.axes.shape[row]);
        const auto columns = static_cast<std::uint64_t>(plan_.axes.shape[column]);
        const std::uint64_t cores = program_.cores();
        std::uint64_t row_step = 0, column_step = 0;
        if (plan_.pattern == ReducePattern::columns) {
            column_step = std::min(columns, most_elements_ / 8);
            row_step =
                std::min({rows, most_elements_ / column_step, divide_up(divide_up(rows, 2 * cores), 8) * 8});
        } else {
            const std::uint64_t high = std::max<std::uint64_t>(8, divide_up(rows, 8) * 8);
            column_step = std::min({columns, std::max(kColumns, most_elements_ / high / 128 * 128),
                                    std::max<std::uint64_t>(1, most_elements_ / 8),
                                    divide_up(divide_up(columns, cores), 128) * 128});
            // Several tiles, so that loads and work overlap.
            const std::uint64_t share = divide_up(total_, 8ull * cores * column_step);
            row_step = std::min({rows, most_elements_ / column_step, std::max<std::uint64_t>(64, share)});
        }
        // Axes outside: those that stay number the blocks, those that vanish add pieces.
        std::vector<std::size_t> staying, vanishing;
        for (std::size_t axis = 0; axis < row; ++axis)
            (plan_.axes.marked[axis] ? vanishing : staying).push_back(axis);
        std::vector<std::int64_t> index(axes, 0);
        do {
            add_blocks(index, rows, columns, row_step, column_step, vanishing);
        } while (advance(index, staying));
    }

    bool advance(std::vector<std::int64_t>& index, const std::vector<std::size_t>& axes) const {
        for (std::size_t i = axes.size(); i-- > 0;) {
            if (++index[axes[i]] < plan_.axes.shape[axes[i]]) return true;
            index[axes[i]] = 0;
        }
        return false;
    }

    std::int64_t offset(std::size_t operand, const std::vector<std::int64_t>& index) const {
        std::int64_t sum = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            sum += index[axis] * plan_.axes.strides[operand][axis];
        return sum;
    }

    void add_blocks(std::vector<std::int64_t> index, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t row_step, std::uint64_t column_step,
                    const std::vector<std::size_t>& vanishing) {
        const std::size_t row = index.size() - 2, column = index.size() - 1;
        const bool by_rows = plan_.pattern == ReducePattern::columns;  // the axis that stays
        const std::uint64_t stay = by_rows ? rows : columns, stay_step = by_rows ? row_step : column_step;
        const std::uint64_t fold = by_rows ? columns : rows, fold_step = by_rows ? column_step : row_step;
        for (std::uint64_t begin = 0; begin < stay; begin += stay_step) {
            ReduceBlock block;
            block.results = std::min(stay_step, stay - begin);
            index[by_rows ? row : column] = static_cast<std::int64_t>(begin);
            index[by_rows ? column : row] = 0;
            block.output_offset = offset(plan_.inputs.size(), index);
            do {
                for (std::uint64_t at = 0; at < fold; at += fold_step) {
                    index[by_rows ? column : row] = static_cast<std::int64_t>(at);
                    ReducePiece piece;
                    const std::uint64_t folded = std::min(fold_step, fold - at);
                    piece.rows = by_rows ? block.results : folded;
                    piece.columns = by_rows ? folded : block.results;
                    piece.first_row = index[row];
                    piece.first_column = index[column];
                    for (std::size_t i = 0; i < plan_.inputs.size(); ++i)
                        piece.offsets.push_back(offset(i, index));
                    block.pieces.push_back(std::move(piece));
                }
                index[by_rows ? column : row] = 0;
            } while (advance(index, vanishing));
            plan_.blocks.push_back(std::move(block));
        }
    }

    void plan_all() {
        ReduceBlock block;
        block.results = std::min(total_, ReducePlan::flat_columns);
        const auto add = [&](std::uint64_t first, std::uint64_t rows, std::uint64_t columns) {
            ReducePiece piece;
            piece.rows = rows;
            piece.columns = columns;
            for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
                piece.offsets.push_back(plan_.axes.strides[i][0] * static_cast<std::int64_t>(first));
            }
            piece.first_row = static_cast<std::int64_t>(first / ReducePlan::flat_columns);
            block.pieces.push_back(std::move(piece));
        };
        const std::uint64_t whole = total_ / ReducePlan::flat_columns;
        const std::uint64_t step = std::max<std::uint64_t>(
            1,
            std::min(most_elements_ / ReducePlan::flat_columns, divide_up(whole, 4ull * program_.cores())));
        for (std::uint64_t row = 0; row < whole; row += step)
            add(row * ReducePlan::flat_columns, std::min(step, whole - row), ReducePlan::flat_columns);
        if (total_ % ReducePlan::flat_columns != 0)
            add(whole * ReducePlan::flat_columns, 1, total_ % ReducePlan::flat_columns);
        plan_.blocks.push_back(std::move(block));
    }

    const ProgramBuilder& program_;
    ReducePlan plan_;
    std::uint64_t total_ = 1, most_elements_ = 0;
};

}  // namespace

TileSource ReducePlan::source(std::size_t input, const ReducePiece& piece) const {
    TileSource source;
    const HbmView& view = inputs[input];
    source.address = view.address + static_cast<std::uint64_t>(piece.offsets[input]) * bytes_of(view.type);
    source.rows = piece.rows;
    source.columns = piece.columns;
    const std::vector<std::int64_t>& strides = axes.strides[input];
    source.column_stride = strides.back();
    source.row_stride = pattern == ReducePattern::all ? strides[0] * static_cast<std::int64_t>(flat_columns)
                                                      : strides[strides.size() - 2];
    return source;
}

ReducePlan plan_reduce(const ProgramBuilder& program) {
    return Planner(program).run();
}

}  // namespace heddle::lowering::on_tpu
