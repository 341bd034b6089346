// Scaled dot-product attention: products on the matrix units, softmax over chunks of keys on the vector unit,
// with a running maximum and sum when the keys do not fit on-chip memory at once. Heads go side by side, one
// on each matrix unit; scores of the next step are computed while the vector unit works on those of this one.
#include <algorithm>
#include <deque>
#include <optional>

#include "workloads/lowering/tpu/attention_common.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::Reduction;
using tpu::VectorOp;

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
    /// A task and a chunk of keys.
    struct Step {
        Task task;
        std::uint64_t key = 0, keys = 0;
        bool first = false, last = false;
        Tile query_tile, key_tile, value_tile, scores;
    };
    struct Lane : AttentionLane {
        TileRing keys, values, queries, scaled, scores, outputs, log_sums;
        const CausalMask* mask = nullptr;
        Tile weights, product, largest, sum, chunk_largest, chunk_sum, rescale, accumulated;
        std::vector<Step> steps;

        Lane(TileRing k, TileRing v, TileRing q, TileRing qs, TileRing s, TileRing o, TileRing l)
            : keys(std::move(k)),
              values(std::move(v)),
              queries(std::move(q)),
              scaled(std::move(qs)),
              scores(std::move(s)),
              outputs(std::move(o)),
              log_sums(std::move(l)) {}
    };

    std::uint64_t lane_bytes(std::uint64_t rows, std::uint64_t chunk) const {
        return rows * chunk * (2 * 4 + 2) + 2 * chunk * (sizes_.depth + sizes_.value_depth) * 4 +
               rows * sizes_.depth * 4 * 4 + rows * sizes_.value_depth * 4 * 4 + rows * 4 * 12 + 512 * 28;
    }

    void choose_sizes() {
        const AttentionTiles tiles =
            attention_tiles(program_, sizes_,
                            [&](std::uint64_t rows, std::uint64_t chunk) { return lane_bytes(rows, chunk); });
        lanes_ = tiles.lanes;
        rows_ = tiles.rows;
        chunk_ = tiles.chunk;
        // Enough tasks for all units of all cores.
        const std::uint64_t wanted = 2ull * program_.cores() * lanes_;
        while (rows_ > 128 && sizes_.batch * sizes_.heads * divide_up(sizes_.queries, rows_) < wanted)
            rows_ /= 2;
    }

    void make_kernels() {
        const auto fp32 = [](std::size_t count) {
            return std::vector<ElementType>(count, ElementType::fp32);
        };
        KernelBuilder scale;
        scale.raw_output(scale.apply(VectorOp::multiply, scale.input(q_.type), scale.constant(sizes_.scale)));
        scale_ = program_.kernel(scale.finish(), {q_.type});
        for (const bool masked : {false, true}) {
            const auto score = [&](KernelBuilder& builder) {
                const auto given = builder.raw_input();
                return masked ? builder.apply(VectorOp::add, given, builder.raw_input()) : given;
            };
            std::vector<ElementType> types{ElementType::fp32};
            if (masked) types.push_back(ElementType::bf16);
            // Scores are read twice: to keep them masked would take a store for each.
            KernelBuilder maximum;
            maximum.reduce(score(maximum), Reduction::lanes_maximum);
            (masked ? maximum_masked_ : maximum_) = program_.kernel(maximum.finish(), types);
            KernelBuilder builder;
            const auto shown = score(builder);
            types.push_back(ElementType::fp32);
            const auto e = builder.apply(VectorOp::exponential,
                                         builder.apply(VectorOp::subtract, shown, builder.raw_input()));
            builder.raw_output(e);
            builder.reduce(e, Reduction::lanes_sum);
            (masked ? exponential_masked_ : exponential_) = program_.kernel(builder.finish(), types);
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

    std::vector<Step> steps_of(const std::vector<Task>& tasks, Range range) const {
        std::vector<Step> steps;
        for (std::uint64_t i = range.begin; i < range.end; ++i) {
            const Task& task = tasks[i];
            const std::uint64_t seen = sizes_.visible(task.row + task.rows - 1);
            for (std::uint64_t key = 0; key < seen; key += chunk_) {
                steps.push_back({task,
                                 key,
                                 std::min(chunk_, seen - key),
                                 key == 0,
                                 key + chunk_ >= seen,
                                 {},
                                 {},
                                 {},
                                 {}});
            }
        }
        return steps;
    }

    void emit(CoreBuilder& core, const std::vector<Task>& tasks) {
        if (tasks.empty()) return;
        std::optional<CausalMask> mask;
        if (sizes_.causal) mask.emplace(program_, core, sizes_, rows_, chunk_);
        std::deque<Lane> lanes;  // steps of products refer to them
        std::size_t longest = 0;
        for (unsigned unit = 0; unit < lanes_; ++unit) {
            const Range range = part_of(tasks.size(), lanes_, unit);
            if (range.size() == 0) continue;
            const auto column = [&] { return core.new_tile(ElementType::fp32, rows_, 1); };
            Lane& lane =
                lanes.emplace_back(TileRing(core, k_.type, chunk_ * sizes_.depth, 2),
                                   TileRing(core, v_.type, chunk_ * sizes_.value_depth, 2),
                                   TileRing(core, q_.type, rows_ * sizes_.depth, 2),
                                   TileRing(core, q_.type, rows_ * sizes_.depth, 2),
                                   TileRing(core, ElementType::fp32, rows_ * chunk_, 2),
                                   TileRing(core, out_.type, rows_ * sizes_.value_depth, 2),
                                   TileRing(core, log_ ? log_sum_.type : ElementType::fp32, rows_, 2));
            lane.unit = unit;
            lane.mask = mask ? &*mask : nullptr;
            lane.weights = core.new_tile(ElementType::bf16, rows_, chunk_);
            lane.product = core.new_tile(ElementType::fp32, rows_, sizes_.value_depth);
            lane.accumulated = core.new_tile(ElementType::fp32, rows_, sizes_.value_depth);
            lane.largest = column();
            lane.sum = column();
            lane.chunk_largest = column();
            lane.chunk_sum = column();
            lane.rescale = column();
            lane.steps = steps_of(tasks, range);
            longest = std::max(longest, lane.steps.size());
        }
        load(core, lanes, 0);
        multiply_keys(core, lanes, 0);
        for (std::size_t number = 0; number < longest; ++number) {
            load(core, lanes, number + 1);
            for (Lane& lane : lanes)
                if (number < lane.steps.size()) softmax(core, lane, lane.steps[number]);
            multiply_keys(core, lanes, number + 1);
            multiply_values(core, lanes, number);
            for (Lane& lane : lanes)
                if (number < lane.steps.size()) finish(core, lane, lane.steps[number]);
        }
    }

    void load(CoreBuilder& core, std::deque<Lane>& lanes, std::size_t number) const {
        for (Lane& lane : lanes) {
            if (number >= lane.steps.size()) continue;
            Step& step = lane.steps[number];
            const std::uint64_t key_head = step.task.head / sizes_.heads_per_key_head();
            // The whole chunk, for later queries see more of it; it stays where it is for them.
            const std::uint64_t rows = std::min(chunk_, sizes_.keys - step.key);
            const Step* const before = number > 0 ? &lane.steps[number - 1] : nullptr;
            const bool same = before != nullptr && before->task.batch == step.task.batch &&
                              before->task.head / sizes_.heads_per_key_head() == key_head &&
                              before->key == step.key;
            step.key_tile =
                same ? before->key_tile
                     : lane.keys.load(core, head_rows(k_, step.task.batch, key_head, step.key, rows));
            step.value_tile =
                same ? before->value_tile
                     : lane.values.load(core, head_rows(v_, step.task.batch, key_head, step.key, rows));
            if (!step.first) {
                step.query_tile = before->query_tile;
            } else {
                const Tile query = lane.queries.load(
                    core, head_rows(q_, step.task.batch, step.task.head, step.task.row, step.task.rows));
                step.query_tile = lane.scaled.next(sizes_.depth);
                core.vector(scale_, step.task.rows, sizes_.depth, {query}, {step.query_tile});
            }
            step.scores = lane.scores.next(step.keys);
        }
    }

    void multiply_keys(CoreBuilder& core, std::deque<Lane>& lanes, std::size_t number) const {
        Interleaved work(lanes.size());
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (number >= lanes[i].steps.size()) continue;
            const Step& step = lanes[i].steps[number];
            multiply_tiles(work, i, core, lanes[i], step.query_tile, step.key_tile, true, step.task.rows,
                           sizes_.depth, step.keys, step.scores);
        }
        work.emit();
    }

    static Tile wide(Tile tile) {
        tile.broadcast_columns = true;
        return tile;
    }

    void softmax(CoreBuilder& core, const Lane& lane, const Step& step) const {
        const Task& task = step.task;
        // Only chunks that reach beyond what the first query sees need the mask.
        const bool masked = sizes_.causal && step.key + step.keys > sizes_.visible(task.row);
        const Tile& largest = step.first ? lane.largest : lane.chunk_largest;
        std::vector<Tile> scores{step.scores};
        if (masked) scores.push_back(lane.mask->at(task.row, step.key));
        core.vector(masked ? maximum_masked_ : maximum_, task.rows, step.keys, scores, {largest});
        if (!step.first) {
            core.vector(join_largest_, task.rows, 1, {lane.largest, lane.chunk_largest},
                        {lane.rescale, lane.largest});
        }
        scores.push_back(wide(lane.largest));
        core.vector(masked ? exponential_masked_ : exponential_, task.rows, step.keys, scores,
                    {weights_of(lane, step), step.first ? lane.sum : lane.chunk_sum});
        if (!step.first) {
            core.vector(rescale_add_, task.rows, 1, {lane.sum, lane.rescale, lane.chunk_sum}, {lane.sum});
        }
    }

    static Tile weights_of(const Lane& lane, const Step& step) {
        Tile weights = lane.weights;
        weights.row_stride = step.keys * 2;
        return weights;
    }

    void multiply_values(CoreBuilder& core, std::deque<Lane>& lanes, std::size_t number) const {
        Interleaved work(lanes.size());
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (number >= lanes[i].steps.size()) continue;
            const Step& step = lanes[i].steps[number];
            multiply_tiles(work, i, core, lanes[i], weights_of(lanes[i], step), step.value_tile, false,
                           step.task.rows, step.keys, sizes_.value_depth,
                           step.first ? lanes[i].accumulated : lanes[i].product);
        }
        work.emit();
    }

    void finish(CoreBuilder& core, Lane& lane, const Step& step) const {
        const Task& task = step.task;
        if (!step.first) {
            core.vector(rescale_add_, task.rows, sizes_.value_depth,
                        {lane.accumulated, wide(lane.rescale), lane.product}, {lane.accumulated});
        }
        if (!step.last) return;
        const Tile result = lane.outputs.next(sizes_.value_depth);
        core.vector(finish_, task.rows, sizes_.value_depth, {lane.accumulated, wide(lane.sum)}, {result});
        store(core, result, head_rows(out_, task.batch, task.head, task.row, task.rows));
        if (!log_) return;
        const Tile logs = lane.log_sums.next(1);
        core.vector(log_, task.rows, 1, {lane.largest, lane.sum}, {logs});
        const std::uint64_t first = (task.batch * sizes_.heads + task.head) * sizes_.queries + task.row;
        store(core, logs, {log_sum_.address + first * bytes_of(log_sum_.type), task.rows, 1, 1, 1});
    }

    ProgramBuilder& program_;
    AttentionSizes sizes_;
    HbmView q_, k_, v_, out_, log_sum_;
    std::uint64_t rows_ = 0, chunk_ = 0;
    unsigned lanes_ = 1;
    std::shared_ptr<const tpu::VectorKernel> scale_, maximum_, maximum_masked_, exponential_,
        exponential_masked_, join_largest_, rescale_add_, finish_, log_;
};

}  // namespace

void lower_attention(ProgramBuilder& program) {
    AttentionLowering(program).run();
}

}  // namespace heddle::lowering::on_tpu
