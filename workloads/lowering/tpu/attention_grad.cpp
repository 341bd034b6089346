// Gradient of attention. Weights are computed again from the scores and the saved log-sums, chunk of keys by
// chunk of keys: with P the weights and D = rowsum(dO * O), dS = P * (dO V^T - D), dV = P^T dO, dK = dS^T Q,
// dQ = dS K.
#include <algorithm>

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
    struct Room {
        TileRing keys, values, queries, d_outs, outs, log_sums, dq_before, dq_results, dk_results, dv_results;
        Tile scores, d_weights, weights, d_scores, weights_turned, d_scores_turned, delta, dq, product_k,
            product_v, dk, dv;
        Region* dq_in_hbm;
    };

    std::uint64_t room_needed(std::uint64_t rows, std::uint64_t chunk) const {
        const std::uint64_t d = sizes_.depth, dv = sizes_.value_depth;
        return rows * chunk * (4 + 4 + 4 * 2) + 2 * chunk * (d + dv) * 4 +
               chunk * (d + dv) * (4 + 4 + 2 * 4) + rows * (2 * d + 4 * dv) * 4 + rows * d * 4 * 5 +
               rows * 4 * 4 + 512 * 40;
    }

    void choose_sizes() {
        const std::uint64_t longest = std::min<std::uint64_t>(divide_up(sizes_.keys, 128) * 128,
                                                              program_.target().accumulator_rows / 128 * 128);
        for (const std::uint64_t rows : {512ull, 256ull, 128ull, 64ull, 32ull, 16ull, 8ull}) {
            if (rows > program_.target().accumulator_rows) continue;
            for (std::uint64_t chunk = longest; chunk >= 128; chunk = chunk / 2 / 128 * 128) {
                if (rows > 128 && chunk < std::min<std::uint64_t>(longest, 1024)) break;
                if (room_needed(rows, chunk) > program_.target().vmem_bytes) continue;
                rows_ = std::min(rows, divide_up(sizes_.queries, 8) * 8);
                chunk_ = std::min(chunk, divide_up(sizes_.keys, 8) * 8);
                return;
            }
        }
        throw Unsupported{"a head's tiles do not fit on-chip memory"};
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
            const auto score =
                builder.apply(VectorOp::multiply, builder.raw_input(), builder.constant(sizes_.scale));
            const auto d_weight = builder.raw_input(), log_sum = builder.input(log_sum_.type),
                       delta = builder.raw_input();
            auto weight =
                builder.apply(VectorOp::exponential, builder.apply(VectorOp::subtract, score, log_sum));
            if (masked) {
                weight = builder.apply(VectorOp::select, causal_mask(builder, sizes_), weight,
                                       builder.constant(0));
            }
            const auto difference = builder.apply(VectorOp::subtract, d_weight, delta);
            const auto scaled = builder.apply(VectorOp::multiply, weight, builder.constant(sizes_.scale));
            builder.raw_output(weight);
            builder.raw_output(builder.apply(VectorOp::multiply, scaled, difference));
            (masked ? gradients_masked_ : gradients_) = program_.kernel(
                builder.finish(), {ElementType::fp32, ElementType::fp32, log_sum_.type, ElementType::fp32});
        }
        KernelBuilder copy;
        copy.raw_output(copy.raw_input());
        copy_ = program_.kernel(copy.finish(), {ElementType::fp32});
        KernelBuilder add;
        add.accumulate(add.raw_input());
        add_ = program_.kernel(add.finish(), {ElementType::fp32});
        KernelBuilder sum;
        const auto a = sum.raw_input();
        sum.raw_output(sum.apply(VectorOp::add, a, sum.input(dq_.type)));
        sum_ = program_.kernel(sum.finish(), {ElementType::fp32, dq_.type});
    }

    /// Kernels store into tiles of any floating type; only the instruction knows which.
    void emit(CoreBuilder& core, Range heads) {
        const std::uint64_t d = sizes_.depth, dv = sizes_.value_depth;
        const auto tile = [&](ElementType type, std::uint64_t rows, std::uint64_t columns) {
            return core.new_tile(type, rows, columns);
        };
        const auto ring = [&](const HbmView& view, std::uint64_t elements, std::size_t places) {
            return TileRing(core, view.type, elements, places);
        };
        Room room{ring(k_, chunk_ * d, 1),
                  ring(v_, chunk_ * dv, 1),
                  ring(q_, rows_ * d, 2),
                  ring(d_out_, rows_ * dv, 2),
                  ring(out_, rows_ * dv, 2),
                  ring(log_sum_, rows_, 2),
                  ring(dq_, rows_ * d, 2),
                  ring(dq_, rows_ * d, 2),
                  ring(dk_, chunk_ * d, 1),
                  ring(dv_, chunk_ * dv, 1),
                  tile(ElementType::fp32, rows_, chunk_),
                  tile(ElementType::fp32, rows_, chunk_),
                  tile(ElementType::bf16, rows_, chunk_),
                  tile(ElementType::bf16, rows_, chunk_),
                  tile(ElementType::bf16, chunk_, rows_),
                  tile(ElementType::bf16, chunk_, rows_),
                  tile(ElementType::fp32, rows_, 1),
                  tile(ElementType::fp32, rows_, d),
                  tile(ElementType::fp32, chunk_, d),
                  tile(ElementType::fp32, chunk_, dv),
                  tile(ElementType::fp32, chunk_, d),
                  tile(ElementType::fp32, chunk_, dv),
                  core.new_region()};
        for (std::uint64_t number = heads.begin; number < heads.end; ++number) {
            const std::uint64_t batch = number / sizes_.key_heads, key_head = number % sizes_.key_heads;
            for (std::uint64_t key = 0; key < sizes_.keys; key += chunk_) {
                emit_chunk(core, room, batch, key_head, key, std::min(chunk_, sizes_.keys - key));
            }
        }
    }

    struct Queries {
        std::uint64_t head, row, rows;
    };

    void emit_chunk(CoreBuilder& core, Room& room, std::uint64_t batch, std::uint64_t key_head,
                    std::uint64_t key, std::uint64_t keys) const {
        const std::uint64_t d = sizes_.depth, dv = sizes_.value_depth;
        const Tile k = room.keys.load(core, head_rows(k_, batch, key_head, key, keys));
        const Tile v = room.values.load(core, head_rows(v_, batch, key_head, key, keys));
        std::vector<Queries> work;
        const std::uint64_t group = sizes_.heads_per_key_head();
        for (std::uint64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
            for (std::uint64_t row = 0; row < sizes_.queries; row += rows_) {
                const std::uint64_t rows = std::min(rows_, sizes_.queries - row);
                // Queries that see none of these keys still get a dQ from the first chunk, which all queries
                // see.
                if (sizes_.visible(row + rows - 1) > key) work.push_back({head, row, rows});
            }
        }
        struct Loaded {
            Tile q, d_out, out, log_sum;
        };
        std::vector<Loaded> loaded(work.size());
        bool first = true;
        pipeline(
            work.size(), 1,
            [&](std::size_t i) {
                const Queries& part = work[i];
                const std::uint64_t position = (batch * sizes_.heads + part.head) * sizes_.queries + part.row;
                loaded[i] = {room.queries.load(core, head_rows(q_, batch, part.head, part.row, part.rows)),
                             room.d_outs.load(core, head_rows(d_out_, batch, part.head, part.row, part.rows)),
                             room.outs.load(core, head_rows(out_, batch, part.head, part.row, part.rows)),
                             room.log_sums.load(core, {log_sum_.address + position * bytes_of(log_sum_.type),
                                                       part.rows, 1, 1, 1})};
            },
            [&](std::size_t i) {
                const Queries& part = work[i];
                const Loaded& tiles = loaded[i];
                const unsigned other = program_.target().matrix_units_per_core > 1 ? 1 : 0;
                const auto shaped = [](Tile tile, std::uint64_t columns) {
                    tile.row_stride = columns * bytes_of(tile.type);
                    return tile;
                };
                const Tile scores = shaped(room.scores, keys), d_weights = shaped(room.d_weights, keys);
                const Tile weights = shaped(room.weights, keys), d_scores = shaped(room.d_scores, keys);
                const Tile weights_turned = shaped(room.weights_turned, part.rows);
                const Tile d_scores_turned = shaped(room.d_scores_turned, part.rows);
                multiply_tiles(core, 0, tiles.q, k, true, part.rows, d, keys, scores);
                multiply_tiles(core, other, tiles.d_out, v, true, part.rows, dv, keys, d_weights);
                core.vector(delta_, part.rows, dv, {tiles.d_out, tiles.out}, {room.delta});
                Tile log_sum = tiles.log_sum, delta = room.delta;
                log_sum.broadcast_columns = delta.broadcast_columns = true;
                const bool masked = sizes_.causal && key + keys > sizes_.visible(part.row);
                core.vector(masked ? gradients_masked_ : gradients_, part.rows, keys,
                            {scores, d_weights, log_sum, delta}, {weights, d_scores}, {},
                            static_cast<std::int64_t>(part.row), static_cast<std::int64_t>(key));
                core.transpose(weights, weights_turned, part.rows, keys);
                core.transpose(d_scores, d_scores_turned, part.rows, keys);
                multiply_tiles(core, 0, d_scores, k, false, part.rows, keys, d, room.dq);
                multiply_tiles(core, other, weights_turned, tiles.d_out, false, keys, part.rows, dv,
                               room.product_v);
                multiply_tiles(core, 0, d_scores_turned, tiles.q, false, keys, part.rows, d, room.product_k);
                core.vector(first ? copy_ : add_, keys, dv, {room.product_v}, {room.dv});
                core.vector(first ? copy_ : add_, keys, d, {room.product_k}, {room.dk});
                first = false;
                write_dq(core, room, batch, part, key == 0);
            });
        if (work.empty()) return write_zeros(core, room, batch, key_head, key, keys);
        write(core, room.dk, room.dk_results, head_rows(dk_, batch, key_head, key, keys));
        write(core, room.dv, room.dv_results, head_rows(dv_, batch, key_head, key, keys));
    }

    void write(CoreBuilder& core, const Tile& from, TileRing& ring, const TileSource& to) const {
        const Tile result = ring.next(to.columns);
        core.vector(copy_, to.rows, to.columns, {from}, {result});
        store(core, result, to);
    }

    /// Keys that no query sees.
    void write_zeros(CoreBuilder& core, Room& room, std::uint64_t batch, std::uint64_t key_head,
                     std::uint64_t key, std::uint64_t keys) const {
        KernelBuilder builder;
        builder.raw_output(builder.constant(0));
        const auto zero = program_.kernel(builder.finish(), {});
        core.vector(zero, keys, sizes_.depth, {}, {room.dk});
        core.vector(zero, keys, sizes_.value_depth, {}, {room.dv});
        write(core, room.dk, room.dk_results, head_rows(dk_, batch, key_head, key, keys));
        write(core, room.dv, room.dv_results, head_rows(dv_, batch, key_head, key, keys));
    }

    void write_dq(CoreBuilder& core, Room& room, std::uint64_t batch, const Queries& part,
                  bool first_chunk) const {
        const TileSource place = head_rows(dq_, batch, part.head, part.row, part.rows);
        const Tile result = room.dq_results.next(sizes_.depth);
        if (first_chunk) {
            core.vector(copy_, part.rows, sizes_.depth, {room.dq}, {result});
        } else {
            const Tile before = room.dq_before.load(core, place, room.dq_in_hbm);
            core.vector(sum_, part.rows, sizes_.depth, {room.dq, before}, {result});
        }
        store(core, result, place, room.dq_in_hbm);
    }

    ProgramBuilder& program_;
    AttentionSizes sizes_;
    HbmView d_out_, q_, k_, v_, out_, log_sum_, dq_, dk_, dv_;
    std::uint64_t rows_ = 0, chunk_ = 0;
    std::shared_ptr<const tpu::VectorKernel> delta_, gradients_, gradients_masked_, copy_, add_, sum_;
};

}  // namespace

void lower_attention_grad(ProgramBuilder& program) {
    AttentionGradLowering(program).run();
}

}  // namespace heddle::lowering::on_tpu
