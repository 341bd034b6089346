// Gradient of attention. Weights are computed again from the scores and the saved log-sums, chunk of keys by
// chunk of keys: with P the weights and D = rowsum(dO * O), dS = P * (dO V^T - D), dV = P^T dO, dK = dS^T Q,
// dQ = dS K. The large P and dS are never turned: dV and dK are made as dV^T = dO^T P and dK^T = Q^T dS, for
// which the transpose unit turns dO and Q, and dV^T and dK^T once when they are complete.
#include <algorithm>
#include <deque>
#include <optional>

#include "workloads/lowering/tpu/attention_common.h"
#include "workloads/lowering/tpu/map.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::Reduction;
using tpu::VectorOp;

class AttentionGradLowering {
  public:
    explicit AttentionGradLowering(ProgramBuilder& program)
        : program_(program), sizes_(attention_sizes(program, 1)) {}

    void run() {
        d_out_ = program_.input_view(0);
        q_ = program_.input_view(1);
        k_ = program_.input_view(2);
        v_ = program_.input_view(3);
        out_ = program_.input_view(4);
        log_sum_ = program_.dense_input(5);
        dq_ = program_.output_view(0);
        dk_ = program_.output_view(1);
        dv_ = program_.output_view(2);
        const std::uint64_t heads = sizes_.batch * sizes_.key_heads;
        if (heads * sizes_.queries * sizes_.keys == 0) throw Unsupported{"an attention over nothing"};
        choose_sizes();
        // dQ is a sum over chunks of keys: kept in fp32 until it is complete.
        const bool several = chunk_ < sizes_.keys;
        const HbmView result = dq_;
        if (several && dq_.type != ElementType::fp32) {
            dq_ = program_.workspace(program_.output(0).shape);
        }
        make_kernels();
        for (unsigned core = 0; core < program_.cores(); ++core) {
            const Range range = part_of(heads, program_.cores(), core);
            if (range.size() > 0) emit(program_.core(core), range);
        }
        if (dq_.address != result.address) {
            program_.meet();
            copy_view(program_, dq_, result);
        }
    }

  private:
    /// Keys of a head (and of the query heads that share it), with the part of the queries that see them.
    struct Step {
        std::uint64_t batch = 0, key_head = 0, key = 0, keys = 0;
        std::uint64_t head = 0, row = 0, rows = 0;
        std::uint64_t seen = 0;            ///< of the keys, by the last of the queries
        bool first = false, last = false;  ///< of these keys
        Tile k, v, q, d_out, out, log_sum;
        Tile scores, d_weights;
    };
    struct Lane : AttentionLane {
        TileRing keys, values, queries, scaled, d_outs, outs, log_sums, scores, d_weights, dq_before,
            dq_results, dk_results, dv_results;
        Tile weights, d_scores, delta, q_turned, d_out_turned, dq, product_k, product_v, dk, dv, dk_rounded,
            dv_rounded;
        Region* dq_in_hbm = nullptr;
        const CausalMask* mask = nullptr;
        std::vector<Step> steps;
    };

    std::uint64_t lane_bytes(std::uint64_t rows, std::uint64_t chunk) const {
        const std::uint64_t d = sizes_.depth, dv = sizes_.value_depth;
        return rows * chunk * (2 * 4 + 2 * 4 + 2 * 2) + 2 * chunk * (d + dv) * 4 +
               chunk * (d + dv) * (2 * 4 + 2 * 4) + 2 * rows * (2 * d + 2 * dv) * 4 + rows * (d + dv) * 4 +
               rows * d * 4 * 5 + rows * 4 * 4 + 512 * 50;
    }

    void choose_sizes() {
        const AttentionTiles tiles =
            attention_tiles(program_, sizes_,
                            [&](std::uint64_t rows, std::uint64_t chunk) { return lane_bytes(rows, chunk); });
        lanes_ = tiles.lanes;
        rows_ = tiles.rows;
        chunk_ = std::min(tiles.chunk, divide_up(sizes_.keys, 8) * 8);
    }

    void make_kernels() {
        {
            KernelBuilder builder;
            const auto a = builder.input(d_out_.type);
            builder.reduce(builder.apply(VectorOp::multiply, a, builder.input(out_.type)),
                           Reduction::lanes_sum);
            delta_ = program_.kernel(builder.finish(), {d_out_.type, out_.type});
        }
        for (const bool masked : {false, true}) {
            KernelBuilder builder;
            auto score = builder.raw_input();
            const auto d_weight = builder.raw_input(), log_sum = builder.input(log_sum_.type),
                       delta = builder.raw_input();
            std::vector<ElementType> types{ElementType::fp32, ElementType::fp32, log_sum_.type,
                                           ElementType::fp32};
            if (masked) {
                score = builder.apply(VectorOp::add, score, builder.raw_input());
                types.push_back(ElementType::bf16);
            }
            const auto weight =
                builder.apply(VectorOp::exponential, builder.apply(VectorOp::subtract, score, log_sum));
            builder.raw_output(weight);
            builder.raw_output(builder.apply(VectorOp::multiply, weight,
                                             builder.apply(VectorOp::subtract, d_weight, delta)));
            (masked ? gradients_masked_ : gradients_) = program_.kernel(builder.finish(), types);
        }
        KernelBuilder scale;
        scale.raw_output(scale.apply(VectorOp::multiply, scale.input(q_.type), scale.constant(sizes_.scale)));
        scale_q_ = program_.kernel(scale.finish(), {q_.type});
        KernelBuilder copy;
        copy.raw_output(copy.raw_input());
        copy_ = program_.kernel(copy.finish(), {ElementType::fp32});
        KernelBuilder scaled;
        scaled.raw_output(
            scaled.apply(VectorOp::multiply, scaled.raw_input(), scaled.constant(sizes_.scale)));
        scaled_ = program_.kernel(scaled.finish(), {ElementType::fp32});
        KernelBuilder add;
        add.accumulate(add.raw_input());
        add_ = program_.kernel(add.finish(), {ElementType::fp32});
        KernelBuilder sum;
        const auto a = sum.apply(VectorOp::multiply, sum.raw_input(), sum.constant(sizes_.scale));
        sum.raw_output(sum.apply(VectorOp::add, a, sum.input(dq_.type)));
        sum_ = program_.kernel(sum.finish(), {ElementType::fp32, dq_.type});
    }

    /// The work of a lane: chunk by chunk, since all dQ of the first chunk are written before others are
    /// added.
    std::vector<Step> steps_of(Range heads) const {
        std::vector<Step> steps;
        const std::uint64_t group = sizes_.heads_per_key_head();
        for (std::uint64_t key = 0; key < sizes_.keys; key += chunk_) {
            for (std::uint64_t number = heads.begin; number < heads.end; ++number) {
                Step step;
                step.batch = number / sizes_.key_heads;
                step.key_head = number % sizes_.key_heads;
                step.key = key;
                step.keys = std::min(chunk_, sizes_.keys - key);
                const std::size_t before = steps.size();  // the last queries see every key: there are some
                for (step.head = step.key_head * group; step.head < (step.key_head + 1) * group; ++step.head)
                    add_rows(steps, step);
                steps[before].first = steps.back().last = true;
            }
        }
        return steps;
    }

    /// From the last queries on: they see all that others see, so that the first product covers all keys.
    void add_rows(std::vector<Step>& steps, Step step) const {
        for (std::uint64_t part = divide_up(sizes_.queries, rows_); part-- > 0;) {
            step.row = part * rows_;
            step.rows = std::min(rows_, sizes_.queries - step.row);
            const std::uint64_t seen = sizes_.visible(step.row + step.rows - 1);
            // Queries that see none of these keys still get a dQ from the first chunk, which all queries see.
            if (seen <= step.key) continue;
            step.seen = std::min(step.keys, seen - step.key);
            steps.push_back(step);
        }
    }

    Lane make_lane(CoreBuilder& core) const {
        const std::uint64_t d = sizes_.depth, dv = sizes_.value_depth;
        const auto tile = [&](ElementType type, std::uint64_t rows, std::uint64_t columns) {
            return core.new_tile(type, rows, columns);
        };
        const auto ring = [&](ElementType type, std::uint64_t elements, std::size_t places) {
            return TileRing(core, type, elements, places);
        };
        return Lane{{},
                    ring(k_.type, chunk_ * d, 2),
                    ring(v_.type, chunk_ * dv, 2),
                    ring(q_.type, rows_ * d, 2),
                    ring(q_.type, rows_ * d, 2),
                    ring(d_out_.type, rows_ * dv, 2),
                    ring(out_.type, rows_ * dv, 2),
                    ring(log_sum_.type, rows_, 2),
                    ring(ElementType::fp32, rows_ * chunk_, 2),
                    ring(ElementType::fp32, rows_ * chunk_, 2),
                    ring(dq_.type, rows_ * d, 2),
                    ring(dq_.type, rows_ * d, 2),
                    ring(dk_.type, chunk_ * d, 1),
                    ring(dv_.type, chunk_ * dv, 1),
                    tile(ElementType::bf16, rows_, chunk_),
                    tile(ElementType::bf16, rows_, chunk_),
                    tile(ElementType::fp32, rows_, 1),
                    tile(q_.type, d, rows_),
                    tile(d_out_.type, dv, rows_),
                    tile(ElementType::fp32, rows_, d),
                    tile(ElementType::fp32, d, chunk_),
                    tile(ElementType::fp32, dv, chunk_),
                    tile(ElementType::fp32, d, chunk_),
                    tile(ElementType::fp32, dv, chunk_),
                    tile(dk_.type, d, chunk_),
                    tile(dv_.type, dv, chunk_),
                    core.new_region(),
                    nullptr,
                    {}};
    }

    void emit(CoreBuilder& core, Range heads) {
        std::optional<CausalMask> mask;
        if (sizes_.causal) mask.emplace(program_, core, sizes_, rows_, chunk_);
        std::deque<Lane> lanes;  // steps of products refer to them
        std::size_t longest = 0;
        for (unsigned unit = 0; unit < lanes_; ++unit) {
            Range range = part_of(heads.size(), lanes_, unit);
            if (range.size() == 0) continue;
            range = {range.begin + heads.begin, range.end + heads.begin};
            Lane& lane = lanes.emplace_back(make_lane(core));
            lane.unit = unit;
            lane.mask = mask ? &*mask : nullptr;
            lane.steps = steps_of(range);
            longest = std::max(longest, lane.steps.size());
        }
        const auto each = [&](std::size_t number, const auto& visit) {
            for (Lane& lane : lanes) {
                if (number < lane.steps.size()) visit(lane, lane.steps[number]);
            }
        };
        load(core, lanes, 0);
        multiply_scores(core, lanes, 0);
        for (std::size_t number = 0; number < longest; ++number) {
            load(core, lanes, number + 1);
            each(number, [&](Lane& lane, Step& step) { differentiate(core, lane, step); });
            multiply_scores(core, lanes, number + 1);
            multiply_gradients(core, lanes, number);
            each(number, [&](Lane& lane, Step& step) { add_gradients(core, lane, step); });
            for (Lane& lane : lanes)
                if (number < lane.steps.size() && lane.steps[number].last)
                    write_keys(core, lane, lane.steps[number]);
        }
    }

    void load(CoreBuilder& core, std::deque<Lane>& lanes, std::size_t number) const {
        for (Lane& lane : lanes) {
            if (number >= lane.steps.size()) continue;
            Step& step = lane.steps[number];
            const std::uint64_t position =
                (step.batch * sizes_.heads + step.head) * sizes_.queries + step.row;
            step.k = step.first
                         ? lane.keys.load(core, head_rows(k_, step.batch, step.key_head, step.key, step.keys))
                         : lane.steps[number - 1].k;
            step.v = step.first ? lane.values.load(
                                      core, head_rows(v_, step.batch, step.key_head, step.key, step.keys))
                                : lane.steps[number - 1].v;
            const Tile q = lane.queries.load(core, head_rows(q_, step.batch, step.head, step.row, step.rows));
            step.q = lane.scaled.next(sizes_.depth);
            core.vector(scale_q_, step.rows, sizes_.depth, {q}, {step.q});
            step.d_out =
                lane.d_outs.load(core, head_rows(d_out_, step.batch, step.head, step.row, step.rows));
            step.out = lane.outs.load(core, head_rows(out_, step.batch, step.head, step.row, step.rows));
            step.log_sum = lane.log_sums.load(
                core, {log_sum_.address + position * bytes_of(log_sum_.type), step.rows, 1, 1, 1});
            step.scores = lane.scores.next(step.seen);
            step.d_weights = lane.d_weights.next(step.seen);
        }
    }

    void multiply_scores(CoreBuilder& core, std::deque<Lane>& lanes, std::size_t number) const {
        Interleaved work(lanes.size());
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (number >= lanes[i].steps.size()) continue;
            const Step& step = lanes[i].steps[number];
            multiply_tiles(work, i, core, lanes[i], step.q, step.k, true, step.rows, sizes_.depth, step.seen,
                           step.scores);
            multiply_tiles(work, i, core, lanes[i], step.d_out, step.v, true, step.rows, sizes_.value_depth,
                           step.seen, step.d_weights);
        }
        work.emit();
    }

    static Tile shaped(Tile tile, std::uint64_t columns) {
        tile.row_stride = columns * bytes_of(tile.type);
        return tile;
    }

    /// Of the weights and scores, and the turned operands of the products that follow.
    void differentiate(CoreBuilder& core, const Lane& lane, const Step& step) const {
        core.transpose(step.d_out, shaped(lane.d_out_turned, step.rows), step.rows, sizes_.value_depth);
        core.transpose(step.q, shaped(lane.q_turned, step.rows), step.rows, sizes_.depth);
        core.vector(delta_, step.rows, sizes_.value_depth, {step.d_out, step.out}, {lane.delta});
        Tile log_sum = step.log_sum, delta = lane.delta;
        log_sum.broadcast_columns = delta.broadcast_columns = true;
        const bool masked = sizes_.causal && step.key + step.seen > sizes_.visible(step.row);
        std::vector<Tile> inputs{step.scores, step.d_weights, log_sum, delta};
        if (masked) inputs.push_back(lane.mask->at(step.row, step.key));
        core.vector(masked ? gradients_masked_ : gradients_, step.rows, step.seen, inputs,
                    {shaped(lane.weights, step.seen), shaped(lane.d_scores, step.seen)});
    }

    void multiply_gradients(CoreBuilder& core, std::deque<Lane>& lanes, std::size_t number) const {
        Interleaved work(lanes.size());
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (number >= lanes[i].steps.size()) continue;
            Lane& lane = lanes[i];
            const Step& step = lane.steps[number];
            const Tile weights = shaped(lane.weights, step.seen), d_scores = shaped(lane.d_scores, step.seen);
            multiply_tiles(work, i, core, lane, shaped(lane.d_out_turned, step.rows), weights, false,
                           sizes_.value_depth, step.rows, step.seen,
                           shaped(step.first ? lane.dv : lane.product_v, step.seen));
            multiply_tiles(work, i, core, lane, shaped(lane.q_turned, step.rows), d_scores, false,
                           sizes_.depth, step.rows, step.seen,
                           shaped(step.first ? lane.dk : lane.product_k, step.seen));
            multiply_tiles(work, i, core, lane, d_scores, step.k, false, step.rows, step.seen, sizes_.depth,
                           lane.dq);
        }
        work.emit();
    }

    void add_gradients(CoreBuilder& core, Lane& lane, const Step& step) const {
        write_dq(core, lane, step);
        if (step.first) return;  // the products themselves
        const auto add = [&](const Tile& product, const Tile& sum, std::uint64_t depth) {
            core.vector(add_, depth, step.seen, {shaped(product, step.seen)}, {shaped(sum, step.keys)});
        };
        add(lane.product_v, lane.dv, sizes_.value_depth);
        add(lane.product_k, lane.dk, sizes_.depth);
    }

    void write_dq(CoreBuilder& core, Lane& lane, const Step& step) const {
        const TileSource place = head_rows(dq_, step.batch, step.head, step.row, step.rows);
        const Tile result = lane.dq_results.next(sizes_.depth);
        if (step.key == 0) {
            core.vector(scaled_, step.rows, sizes_.depth, {lane.dq}, {result});
        } else {
            const Tile before = lane.dq_before.load(core, place, lane.dq_in_hbm);
            core.vector(sum_, step.rows, sizes_.depth, {lane.dq, before}, {result});
        }
        store(core, result, place, lane.dq_in_hbm);
    }

    /// dK and dV are complete: to the type of the result, then turned.
    void write_keys(CoreBuilder& core, Lane& lane, const Step& step) const {
        const auto write = [&](const std::shared_ptr<const tpu::VectorKernel>& kernel, const Tile& sum,
                               const Tile& narrow, std::uint64_t depth, TileRing& results,
                               const HbmView& view) {
            const Tile rounded = shaped(narrow, step.keys);
            core.vector(kernel, depth, step.keys, {shaped(sum, step.keys)}, {rounded});
            const Tile result = results.next(depth);
            core.transpose(rounded, result, depth, step.keys);
            store(core, result, head_rows(view, step.batch, step.key_head, step.key, step.keys));
        };
        write(copy_, lane.dk, lane.dk_rounded, sizes_.depth, lane.dk_results, dk_);
        write(copy_, lane.dv, lane.dv_rounded, sizes_.value_depth, lane.dv_results, dv_);
    }

    ProgramBuilder& program_;
    AttentionSizes sizes_;
    HbmView d_out_, q_, k_, v_, out_, log_sum_, dq_, dk_, dv_;
    std::uint64_t rows_ = 0, chunk_ = 0;
    unsigned lanes_ = 1;
    std::shared_ptr<const tpu::VectorKernel> delta_, gradients_, gradients_masked_, scale_q_, copy_, scaled_,
        add_, sum_;
};

}  // namespace

void lower_attention_grad(ProgramBuilder& program) {
    AttentionGradLowering(program).run();
}

}  // namespace heddle::lowering::on_tpu
