#include "workloads/kernels/attention_grad_wgmma.h"

#include <optional>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/attention_grad_weights.h"
#include "workloads/kernels/attention_wgmma_parts.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kAttentionGradWgmmaGroups = kAttentionConsumers, kStages = 2, kKeys = kAttentionGradKeys;
constexpr unsigned kQuarter = kWarpgroupRows * 64 * 4;  ///< bytes of a warpgroup's part of dQ, 64 x 64
/// Named barriers: all consumers; a warpgroup's part of dQ is there, is gone (one each).
constexpr unsigned kConsumers = 1, kFull = 2, kGone = 4;
constexpr unsigned kPartThreads = kWarpgroupThreads + 32;

/// Byte offsets in shared memory, from a multiple of kAtom.
struct AttentionGradWgmmaLayout {
    explicit AttentionGradWgmmaLayout(const AttentionGradWgmmaSpec& spec)
        : panels(spec.head_dim / kLineElements),
          key_bytes(kKeys * kLine * panels),
          step_bytes(spec.block_m() * kLine * panels),
          row_bytes(spec.block_m() * 4),
          v(key_bytes),
          q(v + key_bytes),
          d_o(q + kStages * step_bytes),
          ds(d_o + kStages * step_bytes),
          dq(ds + kKeys * spec.block_m() * 2),
          shift(dq + kAttentionGradWgmmaGroups * kQuarter),
          delta(shift + kStages * row_bytes),
          keys_full(delta + kStages * row_bytes),
          q_full(keys_full + 8),
          q_empty(q_full + 8 * kStages),
          do_full(q_empty + 8 * kStages),
          do_empty(do_full + 8 * kStages),
          end(do_empty + 8 * kStages) {}
    unsigned panels, key_bytes, step_bytes, row_bytes;
    unsigned v, q, d_o, ds, dq, shift, delta;
    unsigned keys_full, q_full, q_empty, do_full, do_empty, end;
};

void check(const AttentionGradWgmmaSpec& spec) {
    check_attention_wgmma(spec.type, spec.head_dim,
                          {.key = "attention_grad_wgmma head_dim " + std::to_string(spec.head_dim)});
}

class AttentionGradWgmmaWriter {
  public:
    explicit AttentionGradWgmmaWriter(const AttentionGradWgmmaSpec& spec)
        : spec_(spec),
          d_(spec.head_dim),
          m_(spec.block_m()),
          layout_(spec),
          w_("attention_grad_wgmma_" + name_of(spec.type) + "_d" + std::to_string(spec.head_dim) + "_" +
                 std::to_string(m_) + "x" + std::to_string(kKeys) + (spec.causal ? "_causal" : "") +
                 (spec.dropout ? spec.narrow_dropout ? "_dropout32" : "_dropout" : ""),
             spec.compute_capability, target::first_with(&target::Generation::has_wgmma), "wgmma") {}

    GeneratedKernel write() {
        parts_.begin();
        parameters();
        positions();
        set_up_barriers();
        return parts_.finish(
            group_, [&](const std::string&) { consume(); }, [&](const std::string& end) { produce(end); });
    }

  private:
    void parameters() {
        q_map_ = w_.tensor_map_parameter("tensor_q");
        k_map_ = w_.tensor_map_parameter("tensor_k");
        v_map_ = w_.tensor_map_parameter("tensor_v");
        do_map_ = w_.tensor_map_parameter("tensor_do");
        dq_ = w_.pointer_parameter("dq_accumulator");
        dk_ = w_.pointer_parameter("dk");
        dv_ = w_.pointer_parameter("dv");
        shift_ = w_.pointer_parameter("shift");
        delta_ = w_.pointer_parameter("delta");
        queries_ = w_.b32_parameter("queries");
        keys_ = w_.b32_parameter("keys");
        blocks_ = w_.b32_parameter("blocks");
        ratio_ = w_.divider_parameter("heads_per_kv_head");
        dk_row_ = w_.b32_parameter("dk_row");
        dk_head_ = w_.b32_parameter("dk_head");
        dv_row_ = w_.b32_parameter("dv_row");
        dv_head_ = w_.b32_parameter("dv_head");
        dk_batch_ = w_.b64_parameter("dk_batch");
        dv_batch_ = w_.b64_parameter("dv_batch");
        weights_.emplace(w_, AttentionGradWeights::Spec{spec_.type, m_, spec_.causal, false, spec_.dropout,
                                                        spec_.narrow_dropout});
    }

    void positions() {
        const AttentionWgmmaParts::Position own = parts_.position(layout_.end);
        group_ = own.group;
        thread_ = own.thread;
        shared_ = own.shared;
        first_key_ = w_.multiply_by(w_.cta_x(), kKeys);
        batch_ = w_.cta_y();
        head_ = w_.cta_z();
        // From the first block of queries that sees the CTA's first key to the last one.
        block_ = w_.constant_b32(0);
        if (spec_.causal) {
            const Reg offset = w_.make_b32("sub.s32", keys_, queries_);
            const Reg first = w_.make_b32("max.s32", w_.make_b32("sub.s32", first_key_, offset), 0);
            w_.op("shr.u32", block_, first, m_ == 64 ? 6 : 7);
        }
        first_query_ = w_.multiply_by(block_, m_);
        left_ = w_.make_b32("sub.u32", blocks_, block_);
        matrix_ = w_.make_b32("mad.lo.u32", batch_, w_.make_b32("mov.u32", "%nctaid.z"), head_);
        // Blocks of the workspaces: (batch * heads + head) * blocks + block.
        const Reg place = w_.make_b64("mad.wide.u32", matrix_, blocks_, w_.make_b64("cvt.u64.u32", block_));
        first_row_ = w_.make_b64("shl.b64", place, m_ == 64 ? 6 : 7);
    }

    void set_up_barriers() {
        parts_.make_barriers([&] {
            const Reg one = w_.constant_b32(1), both = w_.constant_b32(kAttentionGradWgmmaGroups);
            parts_.make_barrier(shared_, layout_.keys_full, one);
            for (unsigned s = 0; s < kStages; ++s) {
                for (const unsigned full : {layout_.q_full, layout_.do_full})
                    parts_.make_barrier(shared_, full + 8 * s, one);
                for (const unsigned empty : {layout_.q_empty, layout_.do_empty})
                    parts_.make_barrier(shared_, empty + 8 * s, both);
            }
        });
    }

    /// The next stage, and the other phase after the last one.
    void advance(const Reg& stage, const Reg& parity) {
        w_.op("xor.b32", stage, stage, 1);
        const Reg wraps = w_.make_predicate("setp.eq.u32", stage, 0);
        w_.op_if(wraps, "xor.b32", parity, parity, 1);
    }

    // The producer warpgroup.

    void produce(const std::string& end) {
        const std::string adder = w_.new_label("add_queries");
        const Reg warp = w_.make_b32("shr.u32", thread_, 5);
        w_.jump_if(w_.make_predicate("setp.eq.u32", warp, 1), adder);
        w_.jump_if(w_.make_predicate("setp.ne.u32", thread_, 0), end);
        load(end);
        w_.place(adder);
        add_to_queries();
    }

    void load(const std::string& end) {
        for (const Reg& map : {q_map_, k_map_, v_map_, do_map_}) w_.op("prefetch.tensormap", at(map));
        const Reg kv_head = w_.divide_fast(head_, ratio_);
        parts_.expect_bytes(shared_, layout_.keys_full, 2 * layout_.key_bytes);
        parts_.copy(k_map_, layout_.panels, kKeys, shared_, first_key_, kv_head, batch_, shared_,
                    layout_.keys_full);
        parts_.copy(v_map_, layout_.panels, kKeys, w_.make_b32("add.u32", shared_, layout_.v), first_key_,
                    kv_head, batch_, shared_, layout_.keys_full);
        const Reg stage = w_.constant_b32(0), parity = w_.constant_b32(1);
        const Reg bytes = w_.make_b64("shl.b64", first_row_, 2);
        const Reg shift = w_.make_b64("add.s64", shift_, bytes),
                  delta = w_.make_b64("add.s64", delta_, bytes);
        const std::string next = w_.new_label("load_queries");
        w_.place(next);
        const Reg barrier = w_.make_b32("mad.lo.u32", stage, 8, shared_);
        const Reg area = w_.make_b32("mad.lo.u32", stage, layout_.step_bytes, shared_);
        const Reg row_area = w_.make_b32("mad.lo.u32", stage, layout_.row_bytes, shared_);
        const auto step = [&](const Reg& map, unsigned place, const Reg& per_row, unsigned row_place,
                              unsigned full, unsigned empty) {
            parts_.wait(barrier, empty, parity);
            parts_.expect_bytes(barrier, full, layout_.step_bytes + layout_.row_bytes);
            parts_.copy(map, layout_.panels, m_, w_.make_b32("add.u32", area, place), first_query_, head_,
                        batch_, barrier, full);
            w_.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
                  at(row_area, row_place), at(per_row), layout_.row_bytes, at(barrier, full));
            w_.op("add.s64", per_row, per_row, layout_.row_bytes);
        };
        step(q_map_, layout_.q, shift, layout_.shift, layout_.q_full, layout_.q_empty);
        step(do_map_, layout_.d_o, delta, layout_.delta, layout_.do_full, layout_.do_empty);
        w_.op("add.u32", first_query_, first_query_, m_);
        advance(stage, parity);
        w_.op("sub.u32", left_, left_, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", left_, 0), next);
        w_.jump(end);
    }

    /// A warp that adds what the consumers leave in shared memory to the accumulator of dQ.
    void add_to_queries() {
        const Reg elected = w_.make_predicate("setp.eq.u32", thread_, 32);
        const Reg to = w_.make_b64("add.s64", dq_, w_.make_b64("shl.b64", first_row_, d_ == 64 ? 8 : 9));
        const auto is_free = [&](unsigned g) { w_.op("bar.arrive", kGone + g, kPartThreads); };
        for (unsigned g = 0; g < kAttentionGradWgmmaGroups; ++g) is_free(g);
        const std::string next = w_.new_label("add_block");
        w_.place(next);
        for (unsigned g = 0; g < kAttentionGradWgmmaGroups; ++g) {
            w_.op("bar.sync", kFull + g, kPartThreads);
            w_.op_if(elected, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32",
                     at(to, g * kQuarter), at(shared_, layout_.dq + g * kQuarter), w_.constant_b32(kQuarter));
            w_.op_if(elected, "cp.async.bulk.commit_group");
        }
        for (unsigned g = 0; g < kAttentionGradWgmmaGroups; ++g) {
            w_.op_if(elected, "cp.async.bulk.wait_group.read", kAttentionGradWgmmaGroups - 1 - g);
            w_.warp_barrier();
            is_free(g);
        }
        w_.op("add.s64", to, to, kAttentionGradWgmmaGroups * kQuarter);
        w_.op("sub.u32", left_, left_, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", left_, 0), next);
        w_.op_if(elected, "cp.async.bulk.wait_group", 0);
    }

    // The consumers.

    void set_up_consumer() {
        lane_ = w_.make_b32("and.b32", thread_, 31);
        const Reg warp_row = w_.multiply_by(w_.make_b32("shr.u32", thread_, 5), 16);
        warp_key_ = w_.make_b32("mad.lo.u32", group_, kWarpgroupRows, warp_row);
        elected_ = w_.make_predicate("setp.eq.u32", thread_, 0);
        never_ = w_.make_predicate("setp.ne.u32", thread_, thread_);
        parts_.make_high_word();
        const Reg group_key = w_.make_b32("mad.lo.u32", group_, kWarpgroupRows, first_key_);
        weights_->begin({lane_, w_.make_b32("add.u32", first_key_, warp_key_), group_key,
                         w_.make_b32("add.s32", group_key, kWarpgroupRows - 1), queries_, keys_, first_query_,
                         w_.make_b64("mul.wide.u32", matrix_, queries_)});
        const Reg own_lines = w_.make_b32("mad.lo.u32", group_, kWarpgroupRows * kLine, shared_);
        k_rows_ = parts_.descriptor_low(own_lines, 16);
        v_rows_ = parts_.descriptor_low(w_.make_b32("add.u32", own_lines, layout_.v), 16);
        // dQ is divided between the warpgroups by columns (heads of 128) or by rows.
        const unsigned k_part = d_ == 128 ? kKeys * kLine : 0, ds_part = d_ == 128 ? 0 : kKeys * kLine;
        k_columns_ = parts_.descriptor_low(w_.make_b32("mad.lo.u32", group_, k_part, shared_), kKeys * kLine);
        const Reg ds = w_.make_b32("add.u32", shared_, layout_.ds);
        ds_rows_ = parts_.descriptor_low(w_.make_b32("mad.lo.u32", group_, ds_part, ds), kKeys * kLine);
        q_rows_ = parts_.descriptor_low(w_.make_b32("add.u32", shared_, layout_.q), 16);
        do_rows_ = parts_.descriptor_low(w_.make_b32("add.u32", shared_, layout_.d_o), 16);
        q_columns_ = parts_.descriptor_low(w_.make_b32("add.u32", shared_, layout_.q), m_ * kLine);
        do_columns_ = parts_.descriptor_low(w_.make_b32("add.u32", shared_, layout_.d_o), m_ * kLine);
        // stmatrix: lane l gives row l % 16 of the warp's keys; chunks of columns 0 or 1 by l / 16.
        const Reg line = w_.make_b32("add.u32", warp_key_, w_.make_b32("and.b32", lane_, 15));
        ds_line_ = w_.make_b32("mad.lo.u32", line, kLine, ds);
        ds_chunk_ =
            w_.make_b32("xor.b32", w_.make_b32("and.b32", lane_, 7), w_.make_b32("shr.u32", lane_, 4));
        const Reg own_part = w_.make_b32("mad.lo.u32", group_, kQuarter, shared_);
        dq_place_ = w_.make_b32("mad.lo.u32", thread_, 16, own_part);
        full_ = w_.make_b32("add.u32", group_, kFull);
        gone_ = w_.make_b32("add.u32", group_, kGone);
        stage_ = w_.constant_b32(0);
        parity_ = w_.constant_b32(0);
        scores_ = make_accumulators(w_, 1, m_ / 8, false);
        gradients_ = make_accumulators(w_, 1, m_ / 8, false);
        dk_tile_ = make_accumulators(w_, 1, d_ / 8, true);
        dv_tile_ = make_accumulators(w_, 1, d_ / 8, true);
        dq_tile_ = make_accumulators(w_, 1, 8, false);
    }

    /// c = own rows of keys or values times the transpose of the stage's queries or dO.
    void multiply_rows(AccumulatorTile& c, const Reg& own, const Reg& others) {
        const Reg columns = w_.make_b32("mad.lo.u32", stage_, layout_.step_bytes / 16, others);
        for (unsigned step = 0; step < d_ / 16; ++step) {
            const unsigned panel = step / 4, within = step % 4 * 32;
            w_.op(parts_.opcode(m_), vector_of(AttentionWgmmaParts::all_of(c)),
                  parts_.descriptor(own, panel * kKeys * kLine + within),
                  parts_.descriptor(columns, panel * m_ * kLine + within), step == 0 ? never_ : Reg("1"), 1,
                  1, 0, 0);
        }
        parts_.commit();
    }
    /// c += fragments (own keys by queries) times the stage's queries or dO.
    void accumulate(AccumulatorTile& c, const PackedWeights& fragments, const Reg& others) {
        const Reg rows = w_.make_b32("mad.lo.u32", stage_, layout_.step_bytes / 16, others);
        for (unsigned step = 0; step < m_ / 16; ++step) {
            w_.op(parts_.opcode(d_), vector_of(AttentionWgmmaParts::all_of(c)), vector_of(fragments[0][step]),
                  parts_.descriptor(rows, step * 16 * kLine), "1", 1, 1, 1);
        }
        parts_.commit();
    }
    /// The warpgroup's part of dQ: gradients of the scores of all keys times the keys.
    void multiply_keys() {
        for (unsigned step = 0; step < kKeys / 16; ++step) {
            w_.op(parts_.opcode(64), vector_of(AttentionWgmmaParts::all_of(dq_tile_)),
                  parts_.descriptor(ds_rows_, step * 16 * kLine),
                  parts_.descriptor(k_columns_, step * 16 * kLine), step == 0 ? never_ : Reg("1"), 1, 1, 1,
                  1);
        }
        parts_.commit();
    }

    PerQuery load_per_query(unsigned place) {
        const Reg area = w_.make_b32("mad.lo.u32", stage_, layout_.row_bytes, shared_);
        const Reg own = w_.make_b32("mad.lo.u32", weights_->pair_column(), 4, area);
        PerQuery values;
        for (unsigned j = 0; j < m_ / 8; ++j) {
            values.push_back(w_.f32s(2));
            w_.op("ld.shared.v2.f32", vector_of(values.back()), at(own, place + j * 32));
        }
        return values;
    }

    /// Gradients of the scores to shared memory: lines of 64 queries for each key, panels by queries.
    void store_gradients(const PackedWeights& packed) {
        for (unsigned step = 0; step < m_ / 16; ++step) {
            const unsigned panel = step / 4;
            const Reg chunk = step % 4 == 0 ? ds_chunk_ : w_.make_b32("xor.b32", ds_chunk_, step % 4 * 2);
            const Reg address = w_.make_b32("mad.lo.u32", chunk, 16, ds_line_);
            w_.op("stmatrix.sync.aligned.m8n8.x4.shared.b16", at(address, panel * kKeys * kLine),
                  vector_of(packed[0][step]));
        }
    }

    void consume() {
        set_up_consumer();
        parts_.wait(shared_, layout_.keys_full, parity_);
        const std::string next = w_.new_label("queries");
        w_.place(next);
        const Reg barrier = w_.make_b32("mad.lo.u32", stage_, 8, shared_);
        parts_.wait(barrier, layout_.q_full, parity_);
        parts_.fence();
        multiply_rows(scores_, k_rows_, q_rows_);
        parts_.wait(barrier, layout_.do_full, parity_);
        multiply_rows(gradients_, v_rows_, do_rows_);
        const PerQuery shift = load_per_query(layout_.shift);
        parts_.wait_for_all_but(1);
        weights_->mask(scores_);
        weights_->exponentials(scores_, shift);
        const PerQuery delta = load_per_query(layout_.delta);
        parts_.wait_for_all_but(0);
        const PackedWeights probabilities = weights_->finish(scores_, gradients_, delta);
        const PackedWeights packed = pack_accumulators(w_, spec_.type, gradients_);
        parts_.fence();
        accumulate(dv_tile_, probabilities, do_columns_);
        // Both warpgroups have made their dQ of the step before.
        w_.op("bar.sync", kConsumers, kAttentionGradWgmmaGroups * kWarpgroupThreads);
        store_gradients(packed);
        w_.op("fence.proxy.async.shared::cta");
        w_.op("bar.sync", kConsumers, kAttentionGradWgmmaGroups * kWarpgroupThreads);
        parts_.fence();
        multiply_keys();
        accumulate(dk_tile_, packed, q_columns_);
        parts_.wait_for_all_but(1);
        parts_.arrive(elected_, barrier, layout_.do_empty);
        w_.op("bar.sync", gone_, kPartThreads);
        for (unsigned j = 0; j < 8; ++j)
            w_.op("st.shared.v4.f32", at(dq_place_, layout_.dq + j * kWarpgroupThreads * 16),
                  vector_of(dq_tile_[0][j]));
        w_.op("fence.proxy.async.shared::cta");
        w_.op("bar.arrive", full_, kPartThreads);
        parts_.wait_for_all_but(0);
        parts_.arrive(elected_, barrier, layout_.q_empty);
        weights_->next_step();
        w_.op("add.u32", first_query_, first_query_, m_);
        advance(stage_, parity_);
        w_.op("sub.u32", left_, left_, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", left_, 0), next);
        finish();
    }

    void finish() {
        // Keys and values have been read by all: each warp takes a part of their place.
        w_.op("bar.sync", kConsumers, kAttentionGradWgmmaGroups * kWarpgroupThreads);
        for (auto& block : dk_tile_[0]) {
            for (const Reg& value : block) w_.op("mul.rn.f32", value, value, weights_->scale());
        }
        if (const AttentionDropout* dropout = weights_->dropout()) {
            for (auto& block : dv_tile_[0]) {
                for (const Reg& value : block) w_.op("mul.rn.f32", value, value, dropout->scale());
            }
        }
        const Reg own = w_.make_b32("mad.lo.u32", warp_key_, d_ * 2, shared_);
        const Reg own_v = w_.make_b32("add.u32", own, layout_.v);
        const Reg row = w_.make_b32("add.u32", first_key_, warp_key_);
        const auto result = [&](const Reg& base, const Reg& batch_stride, const Reg& head_stride) {
            const Reg batch = w_.make_b64("mul.lo.u64", w_.make_b64("cvt.u64.u32", batch_), batch_stride);
            const Reg elements = w_.make_b64("mad.wide.u32", head_, head_stride, batch);
            return w_.make_b64("add.s64", base, w_.make_b64("shl.b64", elements, 1));
        };
        emit_row_store(w_, spec_.type, dk_tile_,
                       {lane_, own, row, keys_, result(dk_, dk_batch_, dk_head_), dk_row_});
        emit_row_store(w_, spec_.type, dv_tile_,
                       {lane_, own_v, row, keys_, result(dv_, dv_batch_, dv_head_), dv_row_});
    }

    const AttentionGradWgmmaSpec& spec_;
    unsigned d_, m_;
    AttentionGradWgmmaLayout layout_;
    PtxWriter w_;
    AttentionWgmmaParts parts_{w_, spec_.type};
    std::optional<AttentionGradWeights> weights_;
    Reg q_map_, k_map_, v_map_, do_map_, dq_, dk_, dv_, shift_, delta_, queries_, keys_, blocks_;
    Reg dk_row_, dk_head_, dv_row_, dv_head_, dk_batch_, dv_batch_;
    PtxWriter::Divider ratio_;
    Reg group_, thread_, shared_, first_key_, batch_, head_, block_, first_query_, left_, matrix_, first_row_;
    // Of a consumer.
    Reg lane_, warp_key_, elected_, never_, k_rows_, v_rows_, k_columns_, ds_rows_, q_rows_, do_rows_,
        q_columns_, do_columns_, ds_line_, ds_chunk_, dq_place_, full_, gone_, stage_, parity_;
    AccumulatorTile scores_, gradients_, dk_tile_, dv_tile_, dq_tile_;
};

}  // namespace

GeneratedKernel generate_attention_grad_wgmma(const AttentionGradWgmmaSpec& spec) {
    check(spec);
    return AttentionGradWgmmaWriter(spec).write();
}

}  // namespace heddle::kernels
