#include "workloads/kernels/attention_grad_weights.h"

#include <cmath>

namespace heddle::kernels {

AttentionGradWeights::AttentionGradWeights(PtxWriter& w, const Spec& spec)
    : w_(w),
      spec_(spec),
      scale_(w.f32_parameter("scale")),
      scale_log2_(w.make_f32("mul.rn.f32", scale_, f32_immediate(kLog2E))) {
    if (spec.dropout) dropout_.emplace(w, spec.narrow_dropout);
}

void AttentionGradWeights::begin(const Place& place) {
    place_ = place;
    offset_ = w_.make_b32("sub.s32", place.keys, place.queries);
    group_ = w_.make_b32("shr.u32", place.lane, 2);
    pair_column_ = w_.make_b32("shl.b32", w_.make_b32("and.b32", place.lane, 3), 1);
    if (!dropout_) return;
    // The generator's element for the warp's 16 keys, of the thread's first query of the step.
    const Reg column =
        w_.make_b64("add.s64", place.matrix_row,
                    w_.make_b64("cvt.u64.u32", w_.make_b32("add.u32", place.first_query, pair_column_)));
    row_elements_ = dropout_->row_elements(place.keys);
    const Reg block = w_.make_b32("and.b32", w_.make_b32("shr.u32", place.warp_key, 2), -8);
    const Reg half = w_.make_b32("bfe.u32", place.warp_key, 4, 1);
    const Reg pair = w_.make_b32("and.b32", group_, 6);
    const Reg first = w_.make_b32("add.u32", w_.make_b32("add.u32", block, half), pair);
    weight_ = w_.make_b64("mad.lo.u64", column, w_.make_b64("cvt.u64.u32", row_elements_),
                          w_.make_b64("cvt.u64.u32", first));
    const Reg odd = w_.make_b32("and.b32", group_, 1);
    odd_key_ = w_.make_b32("shl.b32", odd, 3);
    is_odd_ = w_.make_predicate("setp.ne.u32", odd, 0);
    // The lane of the key beside this one needs the same numbers: each makes those of one query of two.
    weight_ = w_.make_b64("mad.wide.u32", row_elements_, odd, weight_);
}

void AttentionGradWeights::mask(const AccumulatorTile& scores) {
    const std::string skip = w_.new_label("unmasked");
    // Visible as a whole when the last key is seen by the first query and nothing lies beyond the ends.
    Reg last_seen = w_.make_b32("sub.s32", place_.keys, 1);
    if (spec_.causal) {
        last_seen = w_.make_b32("min.s32", last_seen, w_.make_b32("add.s32", place_.first_query, offset_));
    }
    Reg whole = w_.make_predicate("setp.le.s32", place_.last_key, last_seen);
    const Reg queries_left = w_.make_b32("sub.s32", place_.queries, place_.first_query);
    if (spec_.mask_queries)
        whole = w_.make_predicate("setp.ge.and.s32", queries_left, spec_.step_queries, whole);
    w_.jump_if(whole, skip);
    const Reg row = w_.make_b32("add.s32", place_.warp_key, group_);
    const Reg high = w_.make_b32("sub.s32", queries_left, pair_column_);
    const Reg none = w_.make_b32("neg.s32", w_.constant_b32(spec_.step_queries));
    for (unsigned r = 0; r < 2; ++r) {
        const Reg key = r == 0 ? row : w_.make_b32("add.s32", row, 8);
        // Columns low ... high - 1 count.
        Reg low;
        if (spec_.causal) {
            const Reg first =
                w_.make_b32("sub.s32", w_.make_b32("sub.s32", key, offset_), place_.first_query);
            low = w_.make_b32("sub.s32", first, pair_column_);
        }
        const Reg known = w_.make_predicate("setp.lt.s32", key, place_.keys);
        const Reg own_high = w_.make_b32("selp.b32", high, none, known);
        for (unsigned j = 0; j < scores[0].size(); ++j) {
            for (unsigned e = 0; e < 2; ++e) {
                const Reg& score = scores[0][j][r * 2 + e];
                Reg hidden = w_.make_predicate("setp.le.s32", own_high, j * 8 + e);
                if (spec_.causal) hidden = w_.make_predicate("setp.gt.or.s32", low, j * 8 + e, hidden);
                w_.op("selp.f32", score, f32_immediate(-INFINITY), score, hidden);
            }
        }
    }
    w_.place(skip);
}

void AttentionGradWeights::exponentials(const AccumulatorTile& scores, const PerQuery& shift) {
    // In sweeps over each block of columns, so that no instruction waits for the one just before it.
    for (unsigned j = 0; j < scores[0].size(); ++j) {
        const std::vector<Reg>& block = scores[0][j];
        for (unsigned e = 0; e < 4; ++e)
            w_.op("fma.rn.f32", block[e], block[e], scale_log2_, shift[j][e % 2]);
        for (const Reg& score : block) w_.op("ex2.approx.ftz.f32", score, score);
    }
}

PackedWeights AttentionGradWeights::finish(const AccumulatorTile& scores, AccumulatorTile& gradients,
                                           const PerQuery& delta) {
    PackedWeights packed =
        dropout_ ? drop(scores, gradients, delta) : pack_accumulators(w_, spec_.type, scores);
    for (unsigned j = 0; j < scores[0].size(); ++j) {
        const std::vector<Reg>& block = gradients[0][j];
        for (unsigned e = 0; e < 4 && !dropout_; ++e)
            w_.op("sub.rn.f32", block[e], block[e], delta[j][e % 2]);
        for (unsigned e = 0; e < 4; ++e) w_.op("mul.rn.f32", block[e], block[e], scores[0][j][e]);
    }
    return packed;
}

PackedWeights AttentionGradWeights::drop(const AccumulatorTile& scores, AccumulatorTile& gradients,
                                         const PerQuery& delta) {
    const auto blocks = static_cast<unsigned>(scores[0].size());
    AccumulatorTile weights = make_accumulators(w_, 1, blocks, false);
    for (unsigned j = 0; j < blocks; ++j) {
        const Reg element = w_.make_b64("mad.wide.u32", row_elements_, j * 8, weight_);
        const Reg own = dropout_->bits(dropout_->start(element), 0);
        const Reg other = w_.make_b32("shfl.sync.bfly.b32", own, 4, 31, "0xffffffff");
        for (unsigned e = 0; e < 2; ++e) {
            const Reg number = w_.make_b32("selp.b32", e == 0 ? other : own, e == 0 ? own : other, is_odd_);
            const Reg bits = w_.make_b32("shr.u32", number, odd_key_);
            for (unsigned r = 0; r < 2; ++r) {
                const unsigned at = r * 2 + e;
                const Reg kept = dropout_->kept(bits, r * 2);
                w_.op("selp.f32", weights[0][j][at], scores[0][j][at], f32_immediate(0), kept);
                const Reg& gradient = gradients[0][j][at];
                const Reg scale = w_.make_f32("selp.f32", dropout_->scale(), f32_immediate(0), kept);
                w_.op("fma.rn.f32", gradient, gradient, scale, w_.make_f32("neg.f32", delta[j][e]));
            }
        }
    }
    return pack_accumulators(w_, spec_.type, weights);
}

void AttentionGradWeights::next_step() {
    if (!dropout_) return;
    const Reg step = w_.make_b64("mul.wide.u32", row_elements_, spec_.step_queries);
    w_.op("add.s64", weight_, weight_, step);
}

}  // namespace heddle::kernels
