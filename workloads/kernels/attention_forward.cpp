#include <cmath>
#include <optional>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/attention.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {
namespace {

void check(const AttentionSpec& spec) {
    const SourceLocation where{.key = "attention head_dim " + std::to_string(spec.head_dim) + " block " +
                                      std::to_string(spec.block_m) + "x" + std::to_string(spec.block_n)};
    if (spec.type != ElementType::f16 && spec.type != ElementType::bf16) {
        throw Error("attention kernels take f16 or bf16, not " + name_of(spec.type), where,
                    "cast, or use GEMM and softmax");
    }
    if (spec.head_dim != 64 && spec.head_dim != 128) {
        throw Error("attention kernels have head dimensions of 64 and 128", where, "use GEMM and softmax");
    }
    const bool blocks =
        (spec.block_m == 64 || spec.block_m == 128) && (spec.block_n == 64 || spec.block_n == 128);
    const unsigned rows = blocks && spec.warps != 0 ? spec.block_m / spec.warps : 0;
    // Beyond this the accumulators do not fit into 255 registers.
    const unsigned accumulators = rows / 16 * (spec.head_dim + spec.block_n) / 2;
    if (!blocks || (rows != 16 && rows != 32) || accumulators > 192) {
        throw Error(
            "attention blocks are 64 or 128 by 64 or 128, with 16 or 32 rows per warp, and no "
            "more than 192 accumulators per thread",
            where, "use more warps or a smaller block_n");
    }
}

/// The forward kernel, one member per stage of its life.
class AttentionForward {
  public:
    explicit AttentionForward(const AttentionSpec& spec)
        : spec_(spec),
          d_(spec.head_dim),
          threads_(spec.warps * 32),
          warp_rows_(spec.block_m / spec.warps),
          k_offset_(spec.block_m * d_ * 2),
          v_offset_(k_offset_ + spec.block_n * d_ * 2),
          w_("attention_forward_" + name_of(spec.type) + "_d" + std::to_string(d_) + "_" +
                 std::to_string(spec.block_m) + "x" + std::to_string(spec.block_n) + "_w" +
                 std::to_string(spec.warps) + (spec.causal ? "_causal" : "") +
                 (spec.dropout ? spec.narrow_dropout ? "_dropout32" : "_dropout" : "") +
                 (spec.full_blocks ? "_full" : ""),
             spec.compute_capability, target::first_with(&target::Generation::has_cp_async),
             "cp.async and mma.sync m16n8k16") {}

    GeneratedKernel write() {
        set_up();
        const std::string loop = w_.new_label("keys"), done = w_.new_label("done");
        copier_->copy(spec_.block_m, 0, q_pointer_, q_pass_, edge(rows_left_));
        w_.jump_if(w_.make_predicate("setp.lt.s32", first_key_, 0), done);
        copy_keys();
        w_.place(loop);
        wait();
        copier_->copy(spec_.block_n, v_offset_, v_pointer_, v_pass_, edge(keys_left_));
        w_.op("cp.async.commit_group");
        multiply_queries_by_keys();
        mask();
        wait();
        copy_next_keys();
        softmax_->update(scores_, output_);
        multiply_by_values();
        w_.op("add.s32", keys_left_, keys_left_, spec_.block_n);
        w_.op("sub.s64", v_pointer_, v_pointer_, v_step_);
        w_.op("sub.s32", first_key_, first_key_, spec_.block_n);
        w_.jump_if(w_.make_predicate("setp.ge.s32", first_key_, 0), loop);
        w_.place(done);
        w_.op("cp.async.wait_all");
        finish();
        return w_.finish({threads_, 1, 1});
    }

  private:
    Reg edge(const Reg& left) const { return spec_.full_blocks ? Reg{} : left; }

    Reg head_pointer(const Reg& base, const Reg& batch, const Reg& batch_stride, const Reg& head,
                     const Reg& head_stride) {
        const Reg batch_part = w_.make_b64("mul.lo.u64", batch, batch_stride);
        const Reg elements = w_.make_b64("mad.wide.u32", head, head_stride, batch_part);
        return w_.make_b64("add.s64", base, w_.make_b64("shl.b64", elements, 1));
    }

    Reg row_pointer(const Reg& head, const Reg& row, const Reg& row_stride) {
        const Reg elements = w_.make_b64("mul.wide.u32", row, row_stride);
        return w_.make_b64("add.s64", head, w_.make_b64("shl.b64", elements, 1));
    }

    void set_up() {
        o_ = w_.pointer_parameter("o");
        lse_ = w_.pointer_parameter("lse");
        const Reg q = w_.pointer_parameter("q"), k = w_.pointer_parameter("k"), v = w_.pointer_parameter("v");
        queries_ = w_.b32_parameter("queries");
        keys_ = w_.b32_parameter("keys");
        const Reg ratio = w_.b32_parameter("heads_per_kv_head");
        const Reg q_row = w_.b32_parameter("q_row"), q_head = w_.b32_parameter("q_head");
        const Reg k_row = w_.b32_parameter("k_row"), k_head = w_.b32_parameter("k_head");
        const Reg v_row = w_.b32_parameter("v_row"), v_head = w_.b32_parameter("v_head");
        o_row_ = w_.b32_parameter("o_row");
        const Reg o_head = w_.b32_parameter("o_head");
        const Reg q_batch = w_.b64_parameter("q_batch"), k_batch = w_.b64_parameter("k_batch");
        const Reg v_batch = w_.b64_parameter("v_batch"), o_batch = w_.b64_parameter("o_batch");
        softmax_.emplace(w_);
        if (spec_.dropout) dropout_.emplace(w_, spec_.narrow_dropout);

        const Reg tid = w_.tid();
        lane_ = w_.make_b32("and.b32", tid, 31);
        const Reg warp = w_.make_b32("shr.u32", tid, 5);
        warp_row_ = w_.multiply_by(warp, warp_rows_);
        first_query_ = w_.multiply_by(w_.cta_x(), spec_.block_m);
        const Reg batch32 = w_.cta_y(), head = w_.cta_z();
        const Reg batch = w_.make_b64("cvt.u64.u32", batch32);
        const Reg kv_head = w_.make_b32("div.u32", head, ratio);
        // Rows of the log-sum-exp: (batch * heads + head) * queries.
        const Reg matrix = w_.make_b32("mad.lo.u32", batch32, w_.make_b32("mov.u32", "%nctaid.z"), head);
        const Reg matrix_row = w_.make_b64("mul.wide.u32", matrix, queries_);
        lse_ = w_.make_b64("add.s64", lse_, w_.make_b64("shl.b64", matrix_row, 2));
        o_ = head_pointer(o_, batch, o_batch, head, o_head);

        // Keys that the CTA's last query sees.
        Reg seen = keys_;
        const Reg offset = w_.make_b32("sub.s32", keys_, queries_);
        if (spec_.causal) {
            const Reg last =
                w_.make_b32("add.s32", w_.make_b32("add.s32", first_query_, spec_.block_m), offset);
            seen = w_.make_b32("min.s32", last, keys_);
        }
        const Reg blocks = w_.make_b32("shr.s32", w_.make_b32("add.s32", seen, spec_.block_n - 1),
                                       spec_.block_n == 64 ? 6 : 7);
        // From the last block of keys to the first, as the blocks that need a mask come first then.
        first_key_ = w_.make_b32("sub.s32", w_.make_b32("mul.lo.s32", blocks, spec_.block_n), spec_.block_n);
        keys_left_ = w_.make_b32("sub.s32", keys_, first_key_);
        rows_left_ = w_.make_b32("sub.s32", queries_, first_query_);
        const Reg start = w_.make_b32("max.s32", first_key_, 0);

        shared_ = w_.make_b32("mov.u32", w_.dynamic_shared(v_offset_ + spec_.block_n * d_ * 2));
        copier_.emplace(w_, tid, shared_, threads_, d_);
        q_pointer_ = copier_->thread_pointer(
            row_pointer(head_pointer(q, batch, q_batch, head, q_head), first_query_, q_row), q_row);
        k_pointer_ = copier_->thread_pointer(
            row_pointer(head_pointer(k, batch, k_batch, kv_head, k_head), start, k_row), k_row);
        v_pointer_ = copier_->thread_pointer(
            row_pointer(head_pointer(v, batch, v_batch, kv_head, v_head), start, v_row), v_row);
        q_pass_ = copier_->pass_bytes(q_row);
        k_pass_ = copier_->pass_bytes(k_row);
        v_pass_ = copier_->pass_bytes(v_row);
        k_step_ = w_.make_b64("mul.wide.u32", k_row, spec_.block_n * 2);
        v_step_ = w_.make_b64("mul.wide.u32", v_row, spec_.block_n * 2);
        q_pattern_.emplace(w_, FragmentKind::a, lane_, shared_, d_, warp_row_);
        k_pattern_.emplace(w_, FragmentKind::b, lane_, shared_, d_);
        v_pattern_.emplace(w_, FragmentKind::b_transposed, lane_, shared_, d_);

        group_ = w_.make_b32("shr.u32", lane_, 2);
        pair_column_ = w_.make_b32("shl.b32", w_.make_b32("and.b32", lane_, 3), 1);
        const unsigned blocks_m = warp_rows_ / 16;
        scores_ = make_accumulators(w_, blocks_m, spec_.block_n / 8, false);
        output_ = make_accumulators(w_, blocks_m, d_ / 8, true);
        for (unsigned i = 0; i < 4; ++i) zero_.push_back(w_.constant_f32(0));
        const Reg row = w_.make_b32("add.u32", w_.make_b32("add.u32", first_query_, warp_row_), group_);
        softmax_->make_rows(blocks_m * 2);
        for (unsigned i = 0; i < blocks_m * 2; ++i) {
            rows_.push_back(i == 0 ? row : w_.make_b32("add.u32", row, i * 8));
            // The last key that the row sees.
            const Reg last_key = w_.make_b32("sub.s32", keys_, 1);
            limits_.push_back(
                spec_.causal ? w_.make_b32("min.s32", last_key, w_.make_b32("add.s32", rows_.back(), offset))
                             : last_key);
        }
        offset_ = offset;
        if (!spec_.dropout) return;
        for (const Reg& own : rows_) {
            const Reg above = w_.make_b64("add.s64", matrix_row, w_.make_b64("cvt.u64.u32", own));
            weights_of_row_.push_back(
                w_.make_b64("mul.lo.u64", above, w_.make_b64("cvt.u64.u32", dropout_->row_elements(keys_))));
        }
    }

    void wait() {
        w_.op("cp.async.wait_group", 0);
        w_.cta_barrier();
    }

    void copy_keys() {
        copier_->copy(spec_.block_n, k_offset_, k_pointer_, k_pass_, edge(keys_left_));
        w_.op("cp.async.commit_group");
    }

    /// Every block of keys but the last one is whole.
    void copy_next_keys() {
        const std::string skip = w_.new_label("no_more_keys");
        w_.jump_if(w_.make_predicate("setp.eq.s32", first_key_, 0), skip);
        w_.op("sub.s64", k_pointer_, k_pointer_, k_step_);
        copier_->copy(spec_.block_n, k_offset_, k_pointer_, k_pass_, {});
        w_.op("cp.async.commit_group");
        w_.place(skip);
    }

    void multiply_queries_by_keys() {
        emit_warp_multiply(
            w_, spec_.type, scores_, d_ / 16,
            [&](unsigned m, unsigned step, std::vector<Reg>& into) {
                if (into.empty()) into = w_.b32s(4);
                q_pattern_->load(into, 0, m, step);
            },
            [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                k_pattern_->load(into, k_offset_, pair, step);
            },
            zero_);
    }

    /// Scores of keys that a row does not see become -infinity. Blocks in which every row sees every key skip
    /// this.
    void mask() {
        if (!spec_.causal && spec_.full_blocks) return;
        const std::string skip = w_.new_label("unmasked");
        // The first row of the CTA sees the fewest keys.
        Reg last_seen = w_.make_b32("sub.s32", keys_, 1);
        if (spec_.causal)
            last_seen = w_.make_b32("min.s32", last_seen, w_.make_b32("add.s32", first_query_, offset_));
        const Reg last_key = w_.make_b32("add.s32", first_key_, spec_.block_n - 1);
        w_.jump_if(w_.make_predicate("setp.le.s32", last_key, last_seen), skip);
        softmax_->hide(scores_, limits_, w_.make_b32("add.s32", first_key_, pair_column_));
        w_.place(skip);
    }

    void drop(std::vector<std::vector<std::vector<Reg>>>& weights) {
        // Eight numbers of the generator for 32 keys, two of them this thread's.
        const Reg first = w_.make_b32("add.u32", w_.make_b32("shr.u32", first_key_, 2), pair_column_);
        const Reg column = w_.make_b64("cvt.u64.u32", first);
        std::vector<Reg> elements;
        for (const Reg& row : weights_of_row_) elements.push_back(w_.make_b64("add.s64", row, column));
        softmax_->drop(weights, *dropout_, elements);
    }

    void multiply_by_values() {
        auto probabilities = pack_accumulators(w_, spec_.type, scores_);
        if (dropout_) drop(probabilities);
        emit_warp_multiply(
            w_, spec_.type, output_, spec_.block_n / 16,
            [&](unsigned m, unsigned step, std::vector<Reg>& into) { into = probabilities[m][step]; },
            [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                v_pattern_->load(into, v_offset_, step, pair);
            });
    }

    /// Divides by the sums, and stores rows of 16-byte pieces by way of the warp's own rows of the query
    /// tile.
    void finish() {
        const Reg first_of_quad = w_.make_predicate("setp.eq.u32", pair_column_, 0);
        softmax_->normalise(output_, dropout_ ? &*dropout_ : nullptr);
        for (unsigned r = 0; r < softmax_->rows(); ++r) {
            const Reg inside = w_.make_predicate("setp.lt.and.u32", rows_[r], queries_, first_of_quad);
            w_.op_if(inside, "st.global.f32", at(w_.element_address(lse_, rows_[r], 4)),
                     softmax_->log_sum_exp(r));
        }
        const Reg own = w_.make_b32("mad.lo.u32", warp_row_, d_ * 2, shared_);
        const Reg first_row = w_.make_b32("add.u32", first_query_, warp_row_);
        emit_row_store(w_, spec_.type, output_, {lane_, own, first_row, queries_, o_, o_row_});
    }

    AttentionSpec spec_;
    unsigned d_, threads_, warp_rows_;
    std::uint32_t k_offset_, v_offset_;
    PtxWriter w_;
    Reg o_, lse_, queries_, keys_, o_row_, lane_, warp_row_, first_query_, first_key_, keys_left_, rows_left_,
        offset_, shared_, group_, pair_column_;
    Reg q_pointer_, k_pointer_, v_pointer_, q_pass_, k_pass_, v_pass_, k_step_, v_step_;
    std::optional<TileCopier> copier_;
    std::optional<FragmentPattern> q_pattern_, k_pattern_, v_pattern_;
    AccumulatorTile scores_, output_;
    std::optional<OnlineSoftmax> softmax_;
    std::optional<AttentionDropout> dropout_;
    std::vector<Reg> zero_, rows_, limits_, weights_of_row_;
};

}  // namespace

GeneratedKernel generate_attention_forward(const AttentionSpec& spec) {
    check(spec);
    return AttentionForward(spec).write();
}

Extent3 attention_forward_grid(const AttentionSpec& spec, std::uint32_t queries, std::uint32_t batch,
                               std::uint32_t heads) {
    return {divide_up(queries, spec.block_m), batch, heads};
}

}  // namespace heddle::kernels
