#include <cmath>
#include <optional>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/attention.h"
#include "workloads/kernels/attention_grad_weights.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kBlockM = 64;  // queries per step

void check(const AttentionGradSpec& spec) {
    if (spec.type != ElementType::f16 && spec.type != ElementType::bf16) {
        throw Error("attention kernels take f16 or bf16, not " + name_of(spec.type), {},
                    "cast, or use GEMM and softmax");
    }
    if ((spec.head_dim != 64 && spec.head_dim != 128) || (spec.block_n != 64 && spec.block_n != 128) ||
        (spec.stages != 1 && spec.stages != 2)) {
        throw Error(
            "the gradient of attention has head dimensions of 64 or 128, 64 or 128 keys per CTA, and 1 or 2 "
            "stages");
    }
}

/// Every warp owns 16 keys. Scores are computed transposed (keys by queries), so that probabilities and their
/// gradients are, in registers, the A fragments of the products that make dV and dK.
class AttentionGrad {
  public:
    explicit AttentionGrad(const AttentionGradSpec& spec)
        : spec_(spec),
          d_(spec.head_dim),
          warps_(spec.block_n / 16),
          k_offset_(0),
          v_offset_(spec.block_n * d_ * 2),
          q_offset_(2 * v_offset_),
          do_offset_(q_offset_ + spec.stages * kBlockM * d_ * 2),
          ds_offset_(do_offset_ + spec.stages * kBlockM * d_ * 2),
          w_("attention_grad_" + name_of(spec.type) + "_d" + std::to_string(d_) + "_" +
                 std::to_string(spec.block_n) + "_stages" + std::to_string(spec.stages) +
                 (spec.causal ? "_causal" : "") +
                 (spec.dropout ? spec.narrow_dropout ? "_dropout32" : "_dropout" : "") +
                 (spec.full_blocks ? "_full" : ""),
             spec.compute_capability, target::first_with(&target::Generation::has_cp_async),
             "cp.async and mma.sync m16n8k16") {}

    GeneratedKernel write() {
        set_up();
        const std::string loop = w_.new_label("queries"), done = w_.new_label("done");
        copier_->copy(spec_.block_n, k_offset_, k_pointer_, k_pass_, edge(keys_left_));
        copier_->copy(spec_.block_n, v_offset_, v_pointer_, v_pass_, edge(keys_left_));
        w_.jump_if(w_.make_predicate("setp.ge.s32", first_query_, queries_), done);
        copy_queries(0);
        w_.place(loop);
        for (unsigned stage = 0; stage < spec_.stages; ++stage) {
            w_.op("cp.async.wait_group", 0);
            w_.cta_barrier();
            if (spec_.stages == 2) copy_next_queries(stage ^ 1);
            write_step(stage);
            w_.op("add.s32", first_query_, first_query_, kBlockM);
            w_.op("add.s64", lse_, lse_, kBlockM * 4);
            w_.op("add.s64", delta_, delta_, kBlockM * 4);
            w_.op("add.s64", dq_, dq_, kBlockM * d_ * 4);
            w_.jump_if(w_.make_predicate("setp.ge.s32", first_query_, queries_), done);
            if (spec_.stages == 1) {
                w_.cta_barrier();
                w_.op("add.s64", q_pointer_, q_pointer_, q_step_);
                w_.op("add.s64", do_pointer_, do_pointer_, do_step_);
                copy_queries(0);
            }
        }
        w_.jump(loop);
        w_.place(done);
        finish();
        return w_.finish({warps_ * 32, 1, 1});
    }

  private:
    Reg edge(const Reg& left) const { return spec_.full_blocks ? Reg{} : left; }

    /// base + batch * batch_stride + head * head_stride + row * row_stride elements
    Reg pointer(const Reg& base, const Reg& batch_stride, const Reg& head, const Reg& head_stride,
                const Reg& row, const Reg& row_stride) {
        const Reg batch_part = w_.make_b64("mul.lo.u64", batch_, batch_stride);
        const Reg head_part = w_.make_b64("mad.wide.u32", head, head_stride, batch_part);
        const Reg elements =
            row.empty() ? head_part : w_.make_b64("mad.wide.u32", row, row_stride, head_part);
        return w_.make_b64("add.s64", base, w_.make_b64("shl.b64", elements, 1));
    }

    void set_up() {
        dq_ = w_.pointer_parameter("dq_accumulator");
        const Reg dk = w_.pointer_parameter("dk"), dv = w_.pointer_parameter("dv");
        const Reg q = w_.pointer_parameter("q"), k = w_.pointer_parameter("k"), v = w_.pointer_parameter("v");
        const Reg d_o = w_.pointer_parameter("d_o");
        lse_ = w_.pointer_parameter("lse");
        delta_ = w_.pointer_parameter("delta");
        queries_ = w_.b32_parameter("queries");
        keys_ = w_.b32_parameter("keys");
        const Reg ratio = w_.b32_parameter("heads_per_kv_head");
        const Reg q_row = w_.b32_parameter("q_row"), q_head = w_.b32_parameter("q_head");
        const Reg k_row = w_.b32_parameter("k_row"), k_head = w_.b32_parameter("k_head");
        const Reg v_row = w_.b32_parameter("v_row"), v_head = w_.b32_parameter("v_head");
        const Reg do_row = w_.b32_parameter("do_row"), do_head = w_.b32_parameter("do_head");
        dk_row_ = w_.b32_parameter("dk_row");
        const Reg dk_head = w_.b32_parameter("dk_head");
        dv_row_ = w_.b32_parameter("dv_row");
        const Reg dv_head = w_.b32_parameter("dv_head");
        const Reg q_batch = w_.b64_parameter("q_batch"), k_batch = w_.b64_parameter("k_batch");
        const Reg v_batch = w_.b64_parameter("v_batch"), do_batch = w_.b64_parameter("do_batch");
        const Reg dk_batch = w_.b64_parameter("dk_batch"), dv_batch = w_.b64_parameter("dv_batch");
        weights_.emplace(w_, AttentionGradWeights::Spec{spec_.type, kBlockM, spec_.causal, !spec_.full_blocks,
                                                        spec_.dropout, spec_.narrow_dropout});

        const Reg tid = w_.tid();
        lane_ = w_.make_b32("and.b32", tid, 31);
        const Reg warp = w_.make_b32("shr.u32", tid, 5);
        warp_row_ = w_.multiply_by(warp, 16);
        first_key_ = w_.multiply_by(w_.cta_x(), spec_.block_n);
        const Reg batch32 = w_.cta_y(), head = w_.cta_z();
        batch_ = w_.make_b64("cvt.u64.u32", batch32);
        const Reg kv_head = w_.make_b32("div.u32", head, ratio);
        const Reg offset = w_.make_b32("sub.s32", keys_, queries_);
        keys_left_ = w_.make_b32("sub.s32", keys_, first_key_);
        // The first block of queries that sees the CTA's first key.
        first_query_ = w_.b32();
        w_.op("mov.u32", first_query_, 0);
        if (spec_.causal) {
            const Reg first = w_.make_b32("max.s32", w_.make_b32("sub.s32", first_key_, offset), 0);
            w_.op("and.b32", first_query_, first, "0xffffffc0");
        }

        // Rows of lse, delta and the accumulator of dQ: (batch * heads + head) * queries.
        const Reg matrix = w_.make_b32("mad.lo.u32", batch32, w_.make_b32("mov.u32", "%nctaid.z"), head);
        const Reg matrix_row = w_.make_b64("mul.wide.u32", matrix, queries_);
        weights_->begin({lane_, w_.make_b32("add.u32", first_key_, warp_row_), first_key_,
                         w_.make_b32("add.s32", first_key_, spec_.block_n - 1), queries_, keys_, first_query_,
                         matrix_row});
        group_ = weights_->key_in_eight();
        pair_column_ = weights_->pair_column();
        const Reg start = w_.make_b64("add.s64", matrix_row, w_.make_b64("cvt.u64.u32", first_query_));
        const Reg column = w_.make_b64("add.s64", start, w_.make_b64("cvt.u64.u32", pair_column_));
        const Reg column_bytes = w_.make_b64("shl.b64", column, 2);
        lse_ = w_.make_b64("add.s64", lse_, column_bytes);
        delta_ = w_.make_b64("add.s64", delta_, column_bytes);

        // dQ of a step is 64 x head_dim: four warps take 16 rows each; eight also halve the columns.
        const Reg dq_warp_row = w_.multiply_by(w_.make_b32("and.b32", warp, 3), 16);
        const Reg dq_half = w_.make_b32("shr.u32", warp, 2);
        dq_columns_ = warps_ == 8 ? d_ / 2 : d_;
        const Reg dq_column = w_.make_b32("mad.lo.u32", dq_half, dq_columns_, pair_column_);
        dq_local_row_ = w_.make_b32("add.u32", dq_warp_row, group_);
        const Reg dq_row = w_.make_b64("add.s64", start, w_.make_b64("cvt.u64.u32", dq_local_row_));
        const Reg dq_element = w_.make_b64("mad.lo.u64", dq_row, d_, w_.make_b64("cvt.u64.u32", dq_column));
        dq_ = w_.make_b64("add.s64", dq_, w_.make_b64("shl.b64", dq_element, 2));

        shared_ = w_.make_b32("mov.u32", w_.dynamic_shared(ds_offset_ + spec_.block_n * kBlockM * 2));
        copier_.emplace(w_, tid, shared_, warps_ * 32, d_);
        k_pointer_ = copier_->thread_pointer(pointer(k, k_batch, kv_head, k_head, first_key_, k_row), k_row);
        v_pointer_ = copier_->thread_pointer(pointer(v, v_batch, kv_head, v_head, first_key_, v_row), v_row);
        q_pointer_ = copier_->thread_pointer(pointer(q, q_batch, head, q_head, first_query_, q_row), q_row);
        do_pointer_ =
            copier_->thread_pointer(pointer(d_o, do_batch, head, do_head, first_query_, do_row), do_row);
        dk_ = pointer(dk, dk_batch, head, dk_head, {}, {});
        dv_ = pointer(dv, dv_batch, head, dv_head, {}, {});
        k_pass_ = copier_->pass_bytes(k_row);
        v_pass_ = copier_->pass_bytes(v_row);
        q_pass_ = copier_->pass_bytes(q_row);
        do_pass_ = copier_->pass_bytes(do_row);
        q_step_ = w_.make_b64("mul.wide.u32", q_row, kBlockM * 2);
        do_step_ = w_.make_b64("mul.wide.u32", do_row, kBlockM * 2);

        own_rows_.emplace(w_, FragmentKind::a, lane_, shared_, d_, warp_row_);
        along_k_.emplace(w_, FragmentKind::b, lane_, shared_, d_);
        down_k_.emplace(w_, FragmentKind::b_transposed, lane_, shared_, d_);
        ds_rows_.emplace(w_, FragmentKind::a_transposed, lane_, shared_, kBlockM, Reg{},
                         w_.make_b32("shr.u32", dq_warp_row, 3));
        if (warps_ == 8) {
            k_columns_.emplace(w_, FragmentKind::b_transposed, lane_, shared_, d_, Reg{},
                               w_.multiply_by(dq_half, dq_columns_ / 8));
        } else {
            k_columns_.emplace(*down_k_);
        }
        const Reg ds_row = w_.make_b32("add.u32", warp_row_, group_);
        const Reg ds_row_part = w_.make_b32("mad.lo.u32", ds_row, kBlockM * 2, shared_);
        ds_write_ = w_.make_b32("mad.lo.u32", pair_column_, 2, ds_row_part);

        scores_ = make_accumulators(w_, 1, kBlockM / 8, false);
        gradients_ = make_accumulators(w_, 1, kBlockM / 8, false);
        dk_tile_ = make_accumulators(w_, 1, d_ / 8, true);
        dv_tile_ = make_accumulators(w_, 1, d_ / 8, true);
        for (unsigned i = 0; i < 4; ++i) zero_.push_back(w_.constant_f32(0));
    }

    std::uint32_t q_tile(unsigned stage) const { return q_offset_ + stage * kBlockM * d_ * 2; }
    std::uint32_t do_tile(unsigned stage) const { return do_offset_ + stage * kBlockM * d_ * 2; }

    void copy_queries(unsigned stage) {
        const Reg left = spec_.full_blocks ? Reg{} : w_.make_b32("sub.s32", queries_, first_query_);
        copy_queries(stage, left);
    }

    void copy_queries(unsigned stage, const Reg& left) {
        copier_->copy(kBlockM, q_tile(stage), q_pointer_, q_pass_, left);
        copier_->copy(kBlockM, do_tile(stage), do_pointer_, do_pass_, left);
        w_.op("cp.async.commit_group");
    }

    void copy_next_queries(unsigned stage) {
        const std::string skip = w_.new_label("no_more_queries");
        const Reg next = w_.make_b32("add.s32", first_query_, kBlockM);
        w_.jump_if(w_.make_predicate("setp.ge.s32", next, queries_), skip);
        w_.op("add.s64", q_pointer_, q_pointer_, q_step_);
        w_.op("add.s64", do_pointer_, do_pointer_, do_step_);
        copy_queries(stage, spec_.full_blocks ? Reg{} : w_.make_b32("sub.s32", queries_, next));
        w_.place(skip);
    }

    /// c = rows of this warp in `own_tile` times the transpose of `other_tile`.
    void multiply_rows(AccumulatorTile& c, std::uint32_t own_tile, std::uint32_t other_tile) {
        emit_warp_multiply(
            w_, spec_.type, c, d_ / 16,
            [&](unsigned, unsigned step, std::vector<Reg>& into) {
                if (into.empty()) into = w_.b32s(4);
                own_rows_->load(into, own_tile, 0, step);
            },
            [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                along_k_->load(into, other_tile, pair, step);
            },
            zero_);
    }

    /// c += fragments (keys by queries) times `tile` (queries by head_dim).
    void accumulate(AccumulatorTile& c, const std::vector<std::vector<std::vector<Reg>>>& fragments,
                    std::uint32_t tile) {
        emit_warp_multiply(
            w_, spec_.type, c, kBlockM / 16,
            [&](unsigned m, unsigned step, std::vector<Reg>& into) { into = fragments[m][step]; },
            [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                down_k_->load(into, tile, step, pair);
            });
    }

    PerQuery load_per_query(const Reg& pointer) {
        PerQuery values;
        Reg left;
        if (!spec_.full_blocks) {
            left = w_.make_b32("sub.s32", w_.make_b32("sub.s32", queries_, first_query_), pair_column_);
        }
        for (unsigned j = 0; j < kBlockM / 8; ++j) {
            std::vector<Reg> pair = w_.f32s(2);
            if (spec_.full_blocks) {
                w_.op("ld.global.v2.f32", vector_of(pair), at(pointer, j * 32));
            } else {
                for (unsigned e = 0; e < 2; ++e) {
                    w_.op("mov.f32", pair[e], f32_immediate(0));
                    w_.op_if(w_.make_predicate("setp.gt.s32", left, j * 8 + e), "ld.global.f32", pair[e],
                             at(pointer, j * 32 + e * 4));
                }
            }
            values.push_back(pair);
        }
        return values;
    }

    void write_step(unsigned stage) {
        PerQuery shift = load_per_query(lse_);
        multiply_rows(scores_, k_offset_, q_tile(stage));
        if (spec_.causal || !spec_.full_blocks) weights_->mask(scores_);
        for (std::vector<Reg>& pair : shift) {
            for (Reg& value : pair) value = w_.make_f32("mul.rn.f32", value, f32_immediate(-kLog2E));
        }
        weights_->exponentials(scores_, shift);
        const PerQuery delta = load_per_query(delta_);
        multiply_rows(gradients_, v_offset_, do_tile(stage));
        const PackedWeights probabilities = weights_->finish(scores_, gradients_, delta);
        weights_->next_step();
        const PackedWeights packed = pack_accumulators(w_, spec_.type, gradients_);
        for (unsigned j = 0; j < kBlockM / 8; ++j) {
            const Reg swizzled = w_.make_b32("xor.b32", group_, j);
            const Reg address = w_.make_b32("mad.lo.u32", swizzled, 16, ds_write_);
            const std::vector<Reg>& fragment = packed[0][j / 2];
            w_.op("st.shared.b32", at(address, ds_offset_), fragment[j % 2 * 2]);
            w_.op("st.shared.b32", at(address, ds_offset_ + 8 * kBlockM * 2), fragment[j % 2 * 2 + 1]);
        }
        accumulate(dv_tile_, probabilities, do_tile(stage));
        w_.cta_barrier();
        accumulate(dk_tile_, packed, q_tile(stage));
        add_to_dq();
    }

    void add_to_dq() {
        AccumulatorTile tile = make_accumulators(w_, 1, dq_columns_ / 8, false);
        emit_warp_multiply(
            w_, spec_.type, tile, spec_.block_n / 16,
            [&](unsigned, unsigned step, std::vector<Reg>& into) {
                if (into.empty()) into = w_.b32s(4);
                ds_rows_->load(into, ds_offset_, step, 0);
            },
            [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                k_columns_->load(into, k_offset_, step, pair);
            },
            zero_);
        for (unsigned r = 0; r < 2; ++r) {
            Reg inside;
            if (!spec_.full_blocks) {
                const Reg row =
                    w_.make_b32("add.s32", w_.make_b32("add.s32", first_query_, dq_local_row_), r * 8);
                inside = w_.make_predicate("setp.lt.s32", row, queries_);
            }
            for (unsigned j = 0; j < dq_columns_ / 8; ++j) {
                for (unsigned e = 0; e < 2; ++e) {
                    const std::string target = at(dq_, (r * 8 * d_ + j * 8 + e) * 4);
                    const Reg& value = tile[0][j][r * 2 + e];
                    if (inside.empty()) {
                        w_.op("red.global.add.f32", target, value);
                    } else {
                        w_.op_if(inside, "red.global.add.f32", target, value);
                    }
                }
            }
        }
    }

    void finish() {
        w_.op("cp.async.wait_all");
        w_.cta_barrier();
        for (auto& block : dk_tile_[0]) {
            for (const Reg& value : block) w_.op("mul.rn.f32", value, value, weights_->scale());
        }
        if (const AttentionDropout* dropout = weights_->dropout()) {
            for (auto& block : dv_tile_[0]) {
                for (const Reg& value : block) w_.op("mul.rn.f32", value, value, dropout->scale());
            }
        }
        const Reg own = w_.make_b32("mad.lo.u32", warp_row_, d_ * 2, shared_);
        const Reg own_v = w_.make_b32("add.u32", own, v_offset_);
        const Reg first_row = w_.make_b32("add.u32", first_key_, warp_row_);
        emit_row_store(w_, spec_.type, dk_tile_, {lane_, own, first_row, keys_, dk_, dk_row_});
        emit_row_store(w_, spec_.type, dv_tile_, {lane_, own_v, first_row, keys_, dv_, dv_row_});
    }

    AttentionGradSpec spec_;
    unsigned d_, warps_, dq_columns_ = 0;
    std::uint32_t k_offset_, v_offset_, q_offset_, do_offset_, ds_offset_;
    PtxWriter w_;
    Reg dq_, dk_, dv_, lse_, delta_, queries_, keys_, dk_row_, dv_row_, lane_, warp_row_, first_key_,
        first_query_, batch_, keys_left_, group_, pair_column_, dq_local_row_, shared_, ds_write_;
    std::optional<AttentionGradWeights> weights_;
    Reg k_pointer_, v_pointer_, q_pointer_, do_pointer_, k_pass_, v_pass_, q_pass_, do_pass_, q_step_,
        do_step_;
    std::optional<TileCopier> copier_;
    std::optional<FragmentPattern> own_rows_, along_k_, down_k_, ds_rows_, k_columns_;
    AccumulatorTile scores_, gradients_, dk_tile_, dv_tile_;
    std::vector<Reg> zero_;
};

}  // namespace

GeneratedKernel generate_attention_grad(const AttentionGradSpec& spec) {
    check(spec);
    return AttentionGrad(spec).write();
}

Extent3 attention_grad_grid(const AttentionGradSpec& spec, std::uint32_t keys, std::uint32_t batch,
                            std::uint32_t heads) {
    return {divide_up(keys, spec.block_n), batch, heads};
}

}  // namespace heddle::kernels
