#include "workloads/lowering/tpu/map.h"

#include <algorithm>
#include <optional>

#include "workloads/lowering/tpu/collapse.h"
#include "workloads/lowering/tpu/turn_matrices.h"

namespace heddle::lowering::on_tpu {
namespace {

/// Width of the rows in which a one-dimensional run of elements is laid out in VMEM.
constexpr std::uint64_t kFlatColumns = 1024;
/// Tiles larger than this only delay the first result.
constexpr std::uint64_t kMapMostElements = 128 * 1024;
/// Tiles smaller than this do not hide the latency of HBM.
constexpr std::uint64_t kLeastElements = 8 * 1024;
/// Two such tiles of 16 bits under way hide it wholly on a v6e (1,000 cycles of 1,000 bytes).
constexpr std::uint64_t kGoodElements = 64 * 1024;

/// One tile of the work: position of its first element in every operand, in elements.
struct Task {
    std::uint64_t rows = 0, columns = 0;
    std::vector<std::int64_t> input_offset, output_offset;
    std::int64_t first_row = 0,
                 first_column = 0;  ///< row-major index is first_row * element_stride + first_column
};

/// The whole work as tiles of two axes.
struct TaskList {
    std::vector<Task> tasks;
    std::vector<std::pair<std::int64_t, std::int64_t>> input_strides, output_strides;  ///< (row, column)
    std::uint64_t most_elements = 0;
    std::uint64_t element_stride = 0;
};

TileSource tile_of(const HbmView& view, std::int64_t offset, const Task& task,
                   std::pair<std::int64_t, std::int64_t> strides) {
    TileSource source;
    source.address = view.address + static_cast<std::uint64_t>(offset) * bytes_of(view.type);
    source.rows = task.rows;
    source.columns = task.columns;
    source.row_stride = strides.first;
    source.column_stride = strides.second;
    return source;
}

class Mapper {
  public:
    Mapper(ProgramBuilder& program, const std::shared_ptr<const tpu::VectorKernel>& kernel,
           const std::vector<HbmView>& inputs, const std::vector<HbmView>& outputs,
           const std::vector<float>& scalars)
        : program_(program), kernel_(kernel), inputs_(inputs), outputs_(outputs), scalars_(scalars) {}

    void run() {
        std::vector<std::vector<std::int64_t>> strides;
        for (const HbmView& view : inputs_) strides.push_back(view.strides);
        for (const HbmView& view : outputs_) strides.push_back(view.strides);
        axes_ = collapse(outputs_[0].shape, strides);
        std::uint64_t elements = 1;
        for (const std::int64_t extent : axes_.shape) elements *= static_cast<std::uint64_t>(extent);
        if (elements == 0) return;
        total_ = elements;
        plan_tile_size();
        if (axes_.shape.size() == 1 && is_flat()) {
            plan_flat();
        } else {
            plan_axes();
        }
        for (unsigned core = 0; core < program_.cores(); ++core) emit(core);
    }

  private:
    std::int64_t stride(std::size_t operand, std::size_t axis) const { return axes_.strides[operand][axis]; }
    std::size_t operands() const { return inputs_.size() + outputs_.size(); }

    bool is_flat() const {
        for (std::size_t i = 0; i < operands(); ++i) {
            if (stride(i, 0) > 1) return false;
        }
        return true;
    }

    void plan_tile_size() {
        std::uint64_t bytes = 0;
        for (const HbmView& view : inputs_)
            bytes += 4ull * bytes_of(view.type);  // two places, perhaps staged
        for (const HbmView& view : outputs_) bytes += 2ull * bytes_of(view.type);
        const std::uint64_t room = program_.target().vmem_bytes * 9 / 10;
        limit_ = std::min(kMapMostElements, room / std::max<std::uint64_t>(bytes, 1));
        // Several tiles per core, so that loads, work and stores overlap.
        const std::uint64_t share = divide_up(total_, 4ull * program_.cores());
        limit_ = std::max<std::uint64_t>(1, std::min(limit_, std::max(share, kLeastElements)));
        list_.most_elements = limit_;
    }

    void plan_flat() {
        for (std::size_t i = 0; i < operands(); ++i) {
            const std::int64_t step = stride(i, 0);
            auto& strides = i < inputs_.size() ? list_.input_strides : list_.output_strides;
            strides.emplace_back(step * static_cast<std::int64_t>(kFlatColumns), step);
        }
        list_.element_stride = kFlatColumns;
        const auto add = [&](std::uint64_t first, std::uint64_t rows, std::uint64_t columns) {
            Task task;
            task.rows = rows;
            task.columns = columns;
            task.first_row = static_cast<std::int64_t>(first / kFlatColumns);
            task.first_column = 0;
            for (std::size_t i = 0; i < operands(); ++i) {
                auto& offsets = i < inputs_.size() ? task.input_offset : task.output_offset;
                offsets.push_back(stride(i, 0) * static_cast<std::int64_t>(first));
            }
            list_.tasks.push_back(std::move(task));
        };
        const std::uint64_t whole = total_ / kFlatColumns;
        const std::uint64_t step = std::max<std::uint64_t>(1, limit_ / kFlatColumns);
        list_.most_elements = std::max(list_.most_elements, kFlatColumns);
        for (std::uint64_t row = 0; row < whole; row += step) {
            add(row * kFlatColumns, std::min(step, whole - row), kFlatColumns);
        }
        if (total_ % kFlatColumns != 0) add(whole * kFlatColumns, 1, total_ % kFlatColumns);
    }

    /// Columns are the last axis; rows the axis before it, or the one along which an input is contiguous that
    /// is not so along the last.
    void plan_axes() {
        // A lone axis that is not flat becomes one row.
        if (axes_.shape.size() == 1) {
            axes_.shape.insert(axes_.shape.begin(), 1);
            for (auto& strides : axes_.strides) strides.insert(strides.begin(), 0);
        }
        const std::size_t axes = axes_.shape.size(), column = axes - 1;
        std::size_t row = axes - 2;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (stride(i, column) <= 1) continue;
            for (std::size_t axis = 0; axis < column; ++axis) {
                if (stride(i, axis) == 1) row = axis;
            }
        }
        // Tiles of a short axis would not hide the latency of HBM: the longest one then.
        if (row == axes - 2 &&
            axes_.shape[row] * axes_.shape[column] < static_cast<std::int64_t>(kGoodElements)) {
            for (std::size_t axis = 0; axis < column; ++axis)
                if (axes_.shape[axis] > axes_.shape[row]) row = axis;
        }
        for (std::size_t i = 0; i < operands(); ++i) {
            auto& strides = i < inputs_.size() ? list_.input_strides : list_.output_strides;
            strides.emplace_back(stride(i, row), stride(i, column));
        }
        std::vector<std::int64_t> linear(axes, 1);
        for (std::size_t axis = column; axis-- > 0;) linear[axis] = linear[axis + 1] * axes_.shape[axis + 1];
        list_.element_stride = static_cast<std::uint64_t>(linear[row]);

        const auto rows = static_cast<std::uint64_t>(axes_.shape[row]);
        const auto columns = static_cast<std::uint64_t>(axes_.shape[column]);
        std::uint64_t row_step = 0, column_step = 0;
        if (std::any_of(list_.input_strides.begin(), list_.input_strides.end(),
                        [](const auto& strides) { return strides.second > 1; })) {
            // Turned tiles are best near square: both sides of the transfer are then long runs.
            column_step = std::min<std::uint64_t>(columns, 256);
            row_step = std::min(rows, std::max<std::uint64_t>(1, limit_ / column_step));
        } else {
            column_step = std::min(columns, limit_);
            row_step = std::min(rows, std::max<std::uint64_t>(1, limit_ / column_step));
        }
        std::vector<std::int64_t> index(axes, 0);
        while (true) {
            for (std::uint64_t r = 0; r < rows; r += row_step) {
                for (std::uint64_t c = 0; c < columns; c += column_step) {
                    Task task;
                    task.rows = std::min(row_step, rows - r);
                    task.columns = std::min(column_step, columns - c);
                    index[row] = static_cast<std::int64_t>(r);
                    index[column] = static_cast<std::int64_t>(c);
                    for (std::size_t i = 0; i < operands(); ++i) {
                        std::int64_t offset = 0;
                        for (std::size_t axis = 0; axis < axes; ++axis)
                            offset += index[axis] * stride(i, axis);
                        (i < inputs_.size() ? task.input_offset : task.output_offset).push_back(offset);
                    }
                    task.first_row = static_cast<std::int64_t>(r);
                    task.first_column = static_cast<std::int64_t>(c);
                    for (std::size_t axis = 0; axis < column; ++axis) {
                        if (axis != row) task.first_column += index[axis] * linear[axis];
                    }
                    list_.tasks.push_back(std::move(task));
                }
            }
            index[row] = index[column] = 0;
            std::size_t axis = column;
            while (axis-- > 0) {
                if (axis == row) continue;
                if (++index[axis] < axes_.shape[axis]) break;
                index[axis] = 0;
            }
            if (axis == static_cast<std::size_t>(-1)) return;
        }
    }

    void emit(unsigned which) {
        CoreBuilder& core = program_.core(which);
        core.start_over();
        const Range range = part_of(list_.tasks.size(), program_.cores(), which);
        if (range.size() == 0) return;
        std::vector<TileRing> input_rings, output_rings;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const bool staged = list_.input_strides[i].second > 1 && list_.input_strides[i].first == 1;
            input_rings.emplace_back(core, inputs_[i].type, list_.most_elements, 2, staged);
        }
        if (kernel_ != nullptr) {
            for (const HbmView& view : outputs_)
                output_rings.emplace_back(core, view.type, list_.most_elements, 2);
        }
        std::vector<std::vector<Tile>> loaded(range.size());
        pipeline(
            range.size(), 1,
            [&](std::size_t step) {
                const Task& task = list_.tasks[range.begin + step];
                for (std::size_t i = 0; i < inputs_.size(); ++i) {
                    loaded[step].push_back(input_rings[i].load(
                        core, tile_of(inputs_[i], task.input_offset[i], task, list_.input_strides[i])));
                }
            },
            [&](std::size_t step) {
                const Task& task = list_.tasks[range.begin + step];
                std::vector<Tile> results;
                if (kernel_ == nullptr) {
                    results = loaded[step];
                } else {
                    for (TileRing& ring : output_rings) results.push_back(ring.next(task.columns));
                    core.vector(kernel_, task.rows, task.columns, loaded[step], results, scalars_,
                                task.first_row, task.first_column, list_.element_stride);
                }
                for (std::size_t i = 0; i < outputs_.size(); ++i) {
                    store(core, results[i],
                          tile_of(outputs_[i], task.output_offset[i], task, list_.output_strides[i]));
                }
            });
    }

    ProgramBuilder& program_;
    const std::shared_ptr<const tpu::VectorKernel>& kernel_;
    const std::vector<HbmView>& inputs_;
    const std::vector<HbmView>& outputs_;
    const std::vector<float>& scalars_;
    Axes axes_;
    std::uint64_t total_ = 0, limit_ = 0;
    TaskList list_;
};

}  // namespace

void map_elements(ProgramBuilder& program, const std::shared_ptr<const tpu::VectorKernel>& kernel,
                  const std::vector<HbmView>& inputs, const std::vector<HbmView>& outputs,
                  const std::vector<float>& scalars) {
    for (const HbmView& input : inputs) {
        for (const HbmView& output : outputs) {
            if (input.address != output.address) continue;
            const bool same =
                input.shape == output.shape && input.strides == output.strides && input.type == output.type;
            if (!same) throw Unsupported{"it works in place but reads other elements than it writes"};
        }
    }
    Mapper(program, kernel, inputs, outputs, scalars).run();
}

void copy_view(ProgramBuilder& program, const HbmView& from, const HbmView& to) {
    const bool plain = from.type == to.type && from.boolean == to.boolean;
    // A broadcast row or column lies once in VMEM; the vector unit repeats it.
    const bool repeats = std::find(from.strides.begin(), from.strides.end(), 0) != from.strides.end();
    if (plain && !repeats) {
        if (!turn_matrices(program, from, to, nullptr)) map_elements(program, nullptr, {from}, {to});
        return;
    }
    KernelBuilder builder;
    if (plain) {
        builder.raw_output(builder.raw_input());
    } else {
        builder.output(builder.input(from.type), to.type, to.boolean);
    }
    const auto kernel = program.kernel(builder.finish(), {from.type});
    if (!repeats && turn_matrices(program, from, to, kernel)) return;
    map_elements(program, kernel, {from}, {to});
}

void fill_view(ProgramBuilder& program, const HbmView& to, double value) {
    KernelBuilder builder;
    builder.output(builder.constant(value), to.type, to.boolean);
    map_elements(program, program.kernel(builder.finish(), {}), {}, {to});
}

}  // namespace heddle::lowering::on_tpu
