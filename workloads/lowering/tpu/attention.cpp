// Scaled dot-product attention: products on the matrix units, softmax over chunks of keys on the vector unit,
// with a running maximum and sum when the keys do not fit on-chip memory at once.
#include <algorithm>

#include "workloads/lowering/tpu/attention_common.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::Reduction;
using tpu::VectorOp;

/// Stands for minus infinity: far below every score, but exp() of differences stays defined.
constexpr double kHidden = -1e30;

class AttentionLowering {
  public:
    explicit AttentionLowering(ProgramBuilder& program)
        : program_(program), sizes_(attention_sizes(program, 0)) {}

    void run() {
        q_ = program_.input_view(0);
        k_ = program_.input_view(1);
        v_ = program_.input_view(2);
        out_ = program_.output_view(0);
        if (program_.op().outputs.size() > 1) log_sum_ = program_.dense_output(1);
        if (sizes_.batch * sizes_.heads * sizes_.queries == 0) return;
        choose_sizes();
        make_kernels();
        std::vector<Task> tasks;
        for (std::uint64_t b = 0; b < sizes_.batch; ++b) {
            for (std::uint64_t h = 0; h < sizes_.heads; ++h) {
                for (std::uint64_t row = 0; row < sizes_.queries; row += rows_) {
                    tasks.push_back({b, h, row, std::min(rows_, sizes_.queries - row)});
                }
            }
        }
        for (unsigned core = 0; core < program_.cores(); ++core) {
            const Range range = part_of(tasks.size(), program_.cores(), core);
            emit(program_.core(core), {tasks.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                       tasks.begin() + static_cast<std::ptrdiff_t>(range.end)});
        }
    }

  private:
    /// Some queries of one head.
    struct Task {
        std::uint64_t batch, head, row, rows;
    };
    /// Tasks that go through the matrix units side by side, and a chunk of keys.
    struct Step {
        std::vector<Task> tasks;
        std::uint64_t key = 0, keys = 0;
        bool first = false, last = false;
    };
    /// Tiles of one matrix unit.
    struct UnitRoom {
        TileRing queries, scores, outputs, log_sums;
        Tile weights, product, largest, sum, chunk_largest, chunk_sum, rescale, accumulated;
        std::vector<Tile> query_tiles, score_tiles;  // of the steps loaded and multiplied ahead
    };

    std::uint64_t room_needed(std::uint64_t rows, std::uint64_t chunk) const {
        const std::uint64_t per_unit = rows * chunk * (2 * 4 + 2) + rows * sizes_.depth * 4 * 2 +
                                       rows * sizes_.value_depth * 4 * 4 + rows * 4 * 12 + 512 * 20;
        return per_unit * program_.target().matrix_units_per_core +
               2 * chunk * (sizes_.depth + sizes_.value_depth) * 4 + 4096;
    }

    void choose_sizes() {
        const std::uint64_t longest = divide_up(sizes_.keys, 128) * 128;
        for (const std::uint64_t rows : {512ull, 256ull, 128ull, 64ull, 32ull, 16ull, 8ull}) {
            if (rows > program_.target().accumulator_rows) continue;
            for (std::uint64_t chunk = longest; chunk >= 128; chunk = chunk / 2 / 128 * 128) {
                // Long streams over few keys are better than short ones over many, down to a point.
                if (rows > 128 && chunk < std::min<std::uint64_t>(longest, 1024)) break;
                if (room_needed(rows, chunk) > program_.target().vmem_bytes) continue;
                rows_ = std::min(rows, divide_up(sizes_.queries, 8) * 8);
                // Enough tasks for all units of all cores.
                const std::uint64_t wanted =
                    2ull * program_.cores() * program_.target().matrix_units_per_core;
                while (rows_ > 128 && sizes_.batch * sizes_.heads * divide_up(sizes_.queries, rows_) < wanted)
                    rows_ /= 2;
                chunk_ = chunk;
                return;
            }
        }
        throw Unsupported{"a head's tiles do not fit on-chip memory"};
    }

    void make_kernels() {
        const auto fp32 = [](std::size_t count) {
            return std::vector<ElementType>(count, ElementType::fp32);
        };
        for (const bool masked : {false, true}) {
            KernelBuilder builder;
            auto score =
                builder.apply(VectorOp::multiply, builder.raw_input(), builder.constant(sizes_.scale));
            if (masked) {
                score = builder.apply(VectorOp::select, causal_mask(builder, sizes_), score,
                                      builder.constant(kHidden));
            }
            builder.raw_output(score);
            builder.reduce(score, Reduction::lanes_maximum);
            (masked ? scale_masked_ : scale_) = program_.kernel(builder.finish(), fp32(1));
        }
        {
            KernelBuilder builder;
            const auto score = builder.raw_input(), largest = builder.raw_input();
            const auto e =
                builder.apply(VectorOp::exponential, builder.apply(VectorOp::subtract, score, largest));
            builder.raw_output(e);
            builder.reduce(e, Reduction::lanes_sum);
            exponential_ = program_.kernel(builder.finish(), fp32(2));
        }
        {
            KernelBuilder builder;
            const auto before = builder.raw_input(), now = builder.raw_input();
            const auto largest = builder.apply(VectorOp::maximum, before, now);
            builder.raw_output(
                builder.apply(VectorOp::exponential, builder.apply(VectorOp::subtract, before, largest)));
            builder.raw_output(largest);
            join_largest_ = program_.kernel(builder.finish(), fp32(2));
        }
        {
            KernelBuilder builder;
            const auto before = builder.raw_input(), factor = builder.raw_input(), more = builder.raw_input();
            builder.raw_output(
                builder.apply(VectorOp::add, builder.apply(VectorOp::multiply, before, factor), more));
            rescale_add_ = program_.kernel(builder.finish(), fp32(3));
        }
        {
            KernelBuilder builder;
            const auto value = builder.raw_input();
            builder.output(builder.apply(VectorOp::divide, value, builder.raw_input()), out_.type);
            finish_ = program_.kernel(builder.finish(), fp32(2));
        }
        if (program_.op().outputs.size() > 1) {
            KernelBuilder builder;
            const auto largest = builder.raw_input();
            builder.output(builder.apply(VectorOp::add, largest,
                                         builder.apply(VectorOp::logarithm, builder.raw_input())),
                           log_sum_.type);
            log_ = program_.kernel(builder.finish(), fp32(2));
        }
    }

    std::vector<Step> steps_of(const std::vector<Task>& tasks) const {
        std::vector<Step> steps;
        const std::uint64_t group = sizes_.heads_per_key_head();
        for (std::size_t i = 0; i < tasks.size();) {
            std::vector<Task> together;
            while (i < tasks.size() && together.size() < program_.target().matrix_units_per_core &&
                   (together.empty() || (tasks[i].batch == together[0].batch &&
                                         tasks[i].head / group == together[0].head / group))) {
                together.push_back(tasks[i++]);
            }
            std::uint64_t seen = 0;
            for (const Task& task : together) seen = std::max(seen, sizes_.visible(task.row + task.rows - 1));
            for (std::uint64_t key = 0; key < seen; key += chunk_) {
                steps.push_back(
                    {together, key, std::min(chunk_, seen - key), key == 0, key + chunk_ >= seen});
            }
        }
        return steps;
    }

    /// Keys of a step that the task's queries see; 0: none.
    std::uint64_t keys_for(const Step& step, const Task& task) const {
        const std::uint64_t seen = sizes_.visible(task.row + task.rows - 1);
        return seen <= step.key ? 0 : std::min(step.keys, seen - step.key);
    }

    void emit(CoreBuilder& core, const std::vector<Task>& tasks) {
        if (tasks.empty()) return;
        const std::vector<Step> steps = steps_of(tasks);
        TileRing keys(core, k_.type, chunk_ * sizes_.depth, 2),
            values(core, v_.type, chunk_ * sizes_.value_depth, 2);
        std::vector<UnitRoom> rooms;
        for (unsigned unit = 0; unit < program_.target().matrix_units_per_core; ++unit) {
            const auto column = [&] { return core.new_tile(ElementType::fp32, rows_, 1); };
            rooms.push_back(UnitRoom{TileRing(core, q_.type, rows_ * sizes_.depth, 2),
                                     TileRing(core, ElementType::fp32, rows_ * chunk_, 2),
                                     TileRing(core, out_.type, rows_ * sizes_.value_depth, 2),
                                     TileRing(core, log_ ? log_sum_.type : ElementType::fp32, rows_, 2),
                                     core.new_tile(ElementType::bf16, rows_, chunk_),
                                     core.new_tile(ElementType::fp32, rows_, sizes_.value_depth),
                                     column(),
                                     column(),
                                     column(),
                                     column(),
                                     column(),
                                     core.new_tile(ElementType::fp32, rows_, sizes_.value_depth),
                                     {},
                                     {}});
        }
        std::vector<Tile> key_tiles(steps.size()), value_tiles(steps.size());
        std::vector<std::vector<Tile>> query_tiles(steps.size()), score_tiles(steps.size());
        std::uint64_t present_keys = UINT64_MAX;
        // Loads and score products of the next step are issued before the softmax of this one, so that the
        // matrix units work while the vector unit does.
        pipeline(
            steps.size(), 1,
            [&](std::size_t number) {
                const Step& step = steps[number];
                const std::uint64_t key_head = step.tasks[0].head / sizes_.heads_per_key_head();
                // The whole chunk, for later queries see more of it; it stays where it is for them.
                const std::uint64_t rows = std::min(chunk_, sizes_.keys - step.key);
                const TileSource key = head_rows(k_, step.tasks[0].batch, key_head, step.key, rows);
                const bool same = number > 0 && present_keys == key.address;
                present_keys = key.address;
                key_tiles[number] = same ? key_tiles[number - 1] : keys.load(core, key);
                value_tiles[number] =
                    same ? value_tiles[number - 1]
                         : values.load(core, head_rows(v_, step.tasks[0].batch, key_head, step.key, rows));
                for (std::size_t unit = 0; unit < step.tasks.size(); ++unit) {
                    const Task& task = step.tasks[unit];
                    query_tiles[number].push_back(
                        step.first ? rooms[unit].queries.load(
                                         core, head_rows(q_, task.batch, task.head, task.row, task.rows))
                                   : query_tiles[number - 1][unit]);
                    const std::uint64_t seen = keys_for(step, task);
                    score_tiles[number].push_back(seen > 0 ? rooms[unit].scores.next(seen) : Tile{});
                    if (seen == 0) continue;
                    multiply_tiles(core, static_cast<unsigned>(unit), query_tiles[number][unit],
                                   key_tiles[number], true, task.rows, sizes_.depth, seen,
                                   score_tiles[number][unit]);
                }
            },
            [&](std::size_t number) {
                const Step& step = steps[number];
                for (std::size_t unit = 0; unit < step.tasks.size(); ++unit) {
                    const std::uint64_t seen = keys_for(step, step.tasks[unit]);
                    if (seen > 0)
                        softmax(core, rooms[unit], step, step.tasks[unit], seen, score_tiles[number][unit]);
                }
                for (std::size_t unit = 0; unit < step.tasks.size(); ++unit) {
                    const Task& task = step.tasks[unit];
                    const std::uint64_t seen = keys_for(step, task);
                    if (seen > 0) {
                        add_values(core, static_cast<unsigned>(unit), rooms[unit], step, task, seen,
                                   value_tiles[number]);
                    }
                    if (step.last) finish(core, rooms[unit], task);
                }
            });
    }

    static Tile wide(Tile tile) {
        tile.broadcast_columns = true;
        return tile;
    }

    void softmax(CoreBuilder& core, UnitRoom& room, const Step& step, const Task& task, std::uint64_t seen,
                 const Tile& scores) const {
        // Only chunks that reach beyond what the first query sees need the mask.
        const bool masked = sizes_.causal && step.key + seen > sizes_.visible(task.row);
        const Tile& largest = step.first ? room.largest : room.chunk_largest;
        core.vector(masked ? scale_masked_ : scale_, task.rows, seen, {scores}, {scores, largest}, {},
                    static_cast<std::int64_t>(task.row), static_cast<std::int64_t>(step.key));
        if (!step.first) {
            core.vector(join_largest_, task.rows, 1, {room.largest, room.chunk_largest},
                        {room.rescale, room.largest});
        }
        Tile weights = room.weights;
        weights.row_stride = seen * 2;
        core.vector(exponential_, task.rows, seen, {scores, wide(room.largest)},
                    {weights, step.first ? room.sum : room.chunk_sum});
        if (!step.first) {
            core.vector(rescale_add_, task.rows, 1, {room.sum, room.rescale, room.chunk_sum}, {room.sum});
        }
    }

    void add_values(CoreBuilder& core, unsigned unit, UnitRoom& room, const Step& step, const Task& task,
                    std::uint64_t seen, const Tile& values) const {
        Tile weights = room.weights;
        weights.row_stride = seen * 2;
        const Tile& to = step.first ? room.accumulated : room.product;
        multiply_tiles(core, unit, weights, values, false, task.rows, seen, sizes_.value_depth, to);
        if (step.first) return;
        core.vector(rescale_add_, task.rows, sizes_.value_depth,
                    {room.accumulated, wide(room.rescale), room.product}, {room.accumulated});
    }

    void finish(CoreBuilder& core, UnitRoom& room, const Task& task) const {
        const Tile result = room.outputs.next(sizes_.value_depth);
        core.vector(finish_, task.rows, sizes_.value_depth, {room.accumulated, wide(room.sum)}, {result});
        store(core, result, head_rows(out_, task.batch, task.head, task.row, task.rows));
        if (!log_) return;
        const Tile logs = room.log_sums.next(1);
        core.vector(log_, task.rows, 1, {room.largest, room.sum}, {logs});
        const std::uint64_t first = (task.batch * sizes_.heads + task.head) * sizes_.queries + task.row;
        store(core, logs, {log_sum_.address + first * bytes_of(log_sum_.type), task.rows, 1, 1, 1});
    }

    ProgramBuilder& program_;
    AttentionSizes sizes_;
    HbmView q_, k_, v_, out_, log_sum_;
    std::uint64_t rows_ = 0, chunk_ = 0;
    std::shared_ptr<const tpu::VectorKernel> scale_, scale_masked_, exponential_, join_largest_, rescale_add_,
        finish_, log_;
};

}  // namespace

void lower_attention(ProgramBuilder& program) {
    AttentionLowering(program).run();
}

}  // namespace heddle::lowering::on_tpu
